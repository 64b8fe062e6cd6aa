"""``/tokenize`` and ``/detokenize``."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from server.deps import JSON_ONLY, Stages
from server.replies import answer
from server.routes.documented import MODEL_ERRORS
from server.upstream_types import (
    DetokenizeBody,
    DetokenizeResponse,
    TokenizeBody,
    TokenizeResponse,
)

__all__ = ["router"]

router = APIRouter(tags=["tokens"])


@router.post(
    "/tokenize",
    dependencies=[JSON_ONLY],
    responses={200: {"model": TokenizeResponse}, **MODEL_ERRORS},
)
async def tokenize(body: TokenizeBody, request: Request, stages: Stages) -> Response:
    """Turn a text or a conversation into token ids."""
    stage = stages.pick(body.model, "any", request.url.path)
    return await answer(request, stage, stage.tokenize(body, request))


@router.post(
    "/detokenize",
    dependencies=[JSON_ONLY],
    responses={200: {"model": DetokenizeResponse}, **MODEL_ERRORS},
)
async def detokenize(body: DetokenizeBody, request: Request, stages: Stages) -> Response:
    """Turn token ids into text."""
    stage = stages.pick(body.model, "any", request.url.path)
    return await answer(request, stage, stage.detokenize(body, request))

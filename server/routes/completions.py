"""``/v1/completions``."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from server.deps import JSON_ONLY, Stages
from server.replies import answer
from server.routes.documented import GENERATION_ERRORS
from server.upstream_types import CompletionBody, CompletionResponse

__all__ = ["router"]

router = APIRouter(tags=["completions"])


@router.post(
    "/v1/completions",
    dependencies=[JSON_ONLY],
    responses={200: {"model": CompletionResponse}, **GENERATION_ERRORS},
)
async def create_completion(body: CompletionBody, request: Request, stages: Stages) -> Response:
    """Continue a text, whole or as server-sent events."""
    stage = stages.pick(body.model, "generate", request.url.path)
    return await answer(request, stage, stage.complete(body, request))

"""``/v1/chat/completions``."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from server.deps import JSON_ONLY, Stages
from server.replies import answer
from server.routes.documented import GENERATION_ERRORS
from server.upstream_types import ChatBody, ChatCompletionResponse

__all__ = ["router"]

router = APIRouter(tags=["chat"])


@router.post(
    "/v1/chat/completions",
    dependencies=[JSON_ONLY],
    responses={200: {"model": ChatCompletionResponse}, **GENERATION_ERRORS},
)
async def create_chat_completion(body: ChatBody, request: Request, stages: Stages) -> Response:
    """Answer a conversation, whole or as server-sent events."""
    stage = stages.pick(body.model, "generate", request.url.path)
    return await answer(request, stage, stage.chat(body, request))

"""One stage of a frontend, over vLLM's serving classes.

Upstream is a library here: ``init_app_state`` builds the serving objects of a stage on a private
state, and each method below makes the one call of its route family into them. Nothing above this
module sees a vLLM type.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncGenerator, Awaitable, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.datastructures import State
from starlette.requests import Request
from starlette.types import ASGIApp
from vllm.entrypoints.launchers.api_server.app_state import init_app_state
from vllm.entrypoints.serve import instrumentator
from vllm.entrypoints.serve.utils.sse_keep_alive import with_sse_keep_alive
from vllm.renderers import hf as hf_renderer
from vllm.version import __version__ as vllm_version

import server.upstream_modules  # noqa: F401
from server.ports import JsonReply, Reply, StreamReply
from server.tool_style import one_style
from server.upstream_app import build_upstream_app
from server.upstream_errors import api_error, translated
from server.upstream_types import ErrorResponse

__all__ = ["UpstreamStage", "build_stage", "swagger_dir", "vllm_version"]

# Which serving object must be there for which task of the route table.
_TASK_OBJECTS = {
    "generate": "openai_serving_chat",
    "decide": "serving_structured_decisions",
    "embed": "serving_embedding",
    "classify": "serving_classification",
    "score": "serving_scores",
    "pooling": "serving_pooling",
    "transcribe": "openai_serving_transcription",
}


def swagger_dir() -> Path:
    """The folder with the copy of Swagger UI that upstream ships."""
    return Path(instrumentator.__file__).parent / "static"


async def build_stage(
    name: str, served_names: tuple[str, ...], llm: Any, args: Namespace
) -> UpstreamStage:
    """Build the serving objects of one stage.

    Call it in the running loop, after the engine client is attached. Upstream's own application
    for the routes that are passed through is made at its first request.

    Args:
        name: The stage's name in the plan.
        served_names: As in the plan; the first is the canonical one.
        llm: vLLM's ``AsyncLLM`` on the stage's engine.
        args: vLLM's frontend arguments for the stage (``make_arg_parser``); ``served_model_name``
            is set here.
    """
    args = Namespace(**vars(args))
    args.served_model_name = list(served_names)
    tasks = tuple(await llm.get_supported_tasks())
    state = State()
    _skip_processor_lookup(llm)
    await init_app_state(llm, state, args, tasks)
    return UpstreamStage(name, served_names, llm, args, state, tasks)


def _skip_processor_lookup(llm: Any) -> None:
    """Answer upstream's search for a multimodal processor's chat template beforehand.

    A model of text only has none, but the search loads the tokenizer once more to find out: 0.4 s
    and tens of megabytes in every frontend.
    """
    config = llm.model_config
    tokenizer = llm.renderer.tokenizer
    if config.is_multimodal_model or tokenizer is None:
        return
    code_revision = config.code_revision if config.tokenizer == config.model else None
    key = (
        tokenizer.name_or_path,
        config.tokenizer_revision,
        code_revision,
        config.trust_remote_code,
    )
    hf_renderer._PROCESSOR_CHAT_TEMPLATES.setdefault(key, None)


class UpstreamStage:
    """A ``server.ports.Stage`` over an AsyncLLM. Made by ``build_stage``."""

    def __init__(
        self,
        name: str,
        served_names: tuple[str, ...],
        llm: Any,
        args: Namespace,
        state: State,
        upstream_tasks: tuple[str, ...],
    ) -> None:
        self.name = name
        self.llm = llm
        self.tasks = frozenset(
            task
            for task, attribute in _TASK_OBJECTS.items()
            if getattr(state, attribute, None) is not None
        )
        self._served_names = served_names
        self._args = args
        self._state = state
        self._upstream_tasks = upstream_tasks
        self._app: FastAPI | None = None

    @property
    def names(self) -> Sequence[str]:
        """The served names, then those of the adapters loaded at the start."""
        adapters = self._state.openai_serving_models.lora_requests
        return (*self._served_names, *adapters) if adapters else self._served_names

    @property
    def dead(self) -> bool:
        """Whether the engine has died."""
        return bool(self.llm.errored)

    @property
    def keep_alive_s(self) -> float:
        """Upstream's ``--sse-keep-alive-interval``."""
        return float(getattr(self._args, "sse_keep_alive_interval", 0) or 0)

    def enabled(self, option: str) -> bool:
        """Whether an opt-in option of upstream's is set."""
        return bool(getattr(self._args, option, False))

    async def chat(self, request: Any, raw: Request) -> Reply:
        """Chat completions; the one call of this family into the engine."""
        work = self._state.openai_serving_chat.create_chat_completion(request, raw)
        return await self._call(one_style(work) if request.tools else work)

    async def complete(self, request: Any, raw: Request) -> Reply:
        """Completions; the one call of this family into the engine."""
        serving = self._state.openai_serving_completion
        return await self._call(serving.create_completion(request, raw))

    async def tokenize(self, request: Any, raw: Request) -> Reply:
        """Text or messages to token ids."""
        return await self._call(self._state.serving_tokenization.create_tokenize(request, raw))

    async def detokenize(self, request: Any, raw: Request) -> Reply:
        """Token ids to text."""
        return await self._call(self._state.serving_tokenization.create_detokenize(request, raw))

    async def models(self) -> list[dict[str, Any]]:
        """The stage's entries of ``/v1/models``."""
        found = await self._state.openai_serving_models.show_available_models()
        return [card.model_dump() for card in found.data]

    async def check_health(self) -> None:
        """Return if the engine can serve.

        Raises:
            StageDown: It has died.
        """
        with translated(self.name):
            await self.llm.check_health()

    def passthrough(self) -> ASGIApp:
        """Upstream's own application over this stage, made at the first call."""
        return self._upstream_app()

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document of ``passthrough``; takes a moment."""
        app = self._upstream_app()
        return get_openapi(title=self.name, version=vllm_version, routes=app.routes)

    def _upstream_app(self) -> FastAPI:
        if self._app is None:
            self._app = build_upstream_app(
                self.name, self._state, self._args, self._upstream_tasks, self.llm.model_config
            )
        return self._app

    async def _call(self, work: Awaitable[Any]) -> Reply:
        """Make the call, which counts for upstream's ``/load`` where that is switched on."""
        if not self._state.enable_server_load_tracking:
            return await self._reply(work)
        self._state.server_load_metrics += 1
        reply: Reply | None = None
        try:
            reply = await self._reply(work)
        finally:
            if not isinstance(reply, StreamReply):
                self._state.server_load_metrics -= 1
        return StreamReply(self._counted(reply.frames)) if isinstance(reply, StreamReply) else reply

    async def _counted(self, frames: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
        try:
            async for frame in frames:
                yield frame
        finally:
            self._state.server_load_metrics -= 1
            await frames.aclose()

    async def _reply(self, work: Awaitable[Any]) -> Reply:
        with translated(self.name):
            result = await work
        if isinstance(result, ErrorResponse):
            raise api_error(result)
        if isinstance(result, AsyncGenerator):
            return StreamReply(with_sse_keep_alive(result, self.keep_alive_s))
        # Infinite log probabilities become null, where the plain JSON encoder would fail.
        return JsonReply(result.model_dump_json().encode())

"""Upstream's own application over one stage, for the routes that are passed through."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from fastapi import FastAPI, Request
from starlette.datastructures import State
from starlette.responses import Response
from vllm.entrypoints.launchers.api_server.routers import register_api_routers
from vllm.entrypoints.serve.exception_handling.register import init_exception_handler

from server.error_shape import error_body, family_of
from server.errors import ApiError, StageDown
from server.upstream_errors import EngineDeadError, raised_while_validating

__all__ = ["build_upstream_app"]


class _NoServer:
    """Upstream's handlers tell ``app.state.server`` to exit if the engine dies; omni does not."""

    should_exit = False


def build_upstream_app(
    stage: str, state: State, args: Namespace, tasks: tuple[str, ...], model_config: Any
) -> FastAPI:
    """Upstream's routers and error handlers over a state that ``init_app_state`` has filled.

    Left out on purpose: its middleware (the outermost layer of omni does that for all routes), its
    lifespan (one process has one), and the SageMaker bootstrap, which loads code from a folder and
    keeps one handler per process where there may be several stages; ``/ping`` and ``/invocations``
    themselves are upstream's.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    state.server = _NoServer()
    app.state = state
    register_api_routers(args, app, tasks, model_config)
    app.user_middleware.clear()
    init_exception_handler(app)

    async def handle_dead(request: Request, error: Exception) -> Response:
        return _response(request, StageDown(stage))

    async def handle_malformed(request: Request, error: Exception) -> Response:
        if raised_while_validating(error):
            return _response(request, ApiError(400, "A field of the body has a wrong type."))
        raise error

    async def handle_api_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)
        return _response(request, error)

    app.add_exception_handler(EngineDeadError, handle_dead)
    app.add_exception_handler(ApiError, handle_api_error)
    for kind in (AttributeError, KeyError, IndexError, RecursionError):
        app.add_exception_handler(kind, handle_malformed)
    return app


def _response(request: Request, error: ApiError) -> Response:
    family = family_of(request.url.path)
    body = error_body(family, error.status_code, error.detail, type_=error.type_, param=error.param)
    headers = dict(error.headers or {})
    return Response(body, error.status_code, headers, media_type="application/json")

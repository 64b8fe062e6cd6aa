"""Upstream's own application over one stage, for the routes that are passed through."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import HTTPException as FastAPIHTTPException
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.responses import Response
from vllm.entrypoints.launchers.api_server.routers import register_api_routers
from vllm.entrypoints.serve.exception_handling.register import init_exception_handler

from server.errors import SERVER_FAILED, ApiError, StageDown, error_response
from server.upstream_errors import (
    EngineDeadError,
    explain_misfit,
    explain_validation,
    refusal,
)
from server.upstream_logs import leave_out_client_faults

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
    leave_out_client_faults()
    init_exception_handler(app)

    async def handle_dead(request: Request, error: Exception) -> Response:
        return error_response(request.url.path, StageDown(stage))

    app.add_exception_handler(EngineDeadError, handle_dead)
    for known in (ApiError, HTTPException, FastAPIHTTPException):
        app.add_exception_handler(known, _handle_http_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid)
    for kind in (AttributeError, KeyError, IndexError, RecursionError):
        app.add_exception_handler(kind, _handle_malformed)
    app.add_exception_handler(TypeError, _handle_type_error)
    app.add_exception_handler(Exception, _handle_unexpected)
    return app


async def _handle_http_error(request: Request, error: Exception) -> Response:
    """Also a body that the framework cannot read."""
    assert isinstance(error, HTTPException)
    if not isinstance(error, ApiError):
        error = ApiError(error.status_code, str(error.detail), headers=error.headers)
    return error_response(request.url.path, error)


async def _handle_invalid(request: Request, error: Exception) -> Response:
    """As on omni's own routes: bounded, without the client's values, in the family's shape."""
    assert isinstance(error, RequestValidationError)
    message, param = explain_validation(error)
    return error_response(request.url.path, ApiError(400, message, param=param))


async def _handle_malformed(request: Request, error: Exception) -> Response:
    found = explain_misfit(error)
    if found is None:
        raise error
    return error_response(request.url.path, ApiError(400, found[0], param=found[1]))


async def _handle_type_error(request: Request, error: Exception) -> Response:
    """Elsewhere upstream counts it as the client's fault, and its sentence is upstream's."""
    found = explain_misfit(error)
    told = refusal(error) if found is None else ApiError(400, found[0], param=found[1])
    return error_response(request.url.path, told)


async def _handle_unexpected(request: Request, error: Exception) -> Response:
    return error_response(request.url.path, ApiError(500, SERVER_FAILED))

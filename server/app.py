"""The application of one frontend."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import CollectorRegistry
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from server.errors import SERVER_FAILED, ApiError, error_response
from server.gate import Gate
from server.layers import CorsLayer, GateLayer
from server.metrics import HttpMetrics
from server.middleware import Envelope
from server.passthrough import table_routes
from server.ports import Parent, Stage
from server.routes import about, chat, completions, docs, models, probes, tokens
from server.settings import FrontendSettings, HttpPlan
from server.stages import StageSet
from server.upstream_errors import explain_validation

__all__ = ["FrontendApp", "create_app"]

ROUTERS = (
    chat.router,
    completions.router,
    tokens.router,
    models.router,
    probes.router,
    about.router,
)


class FrontendApp(Envelope):
    """An ASGI application.

    Attributes:
        routes: The application inside all layers.
        registry: Its own metrics, for ``server.metrics.snapshot``.
    """

    def __init__(self, routes: FastAPI, settings: FrontendSettings, metrics: HttpMetrics) -> None:
        super().__init__(_guarded(routes, settings.http), settings, metrics)
        self.routes = routes
        self.registry: CollectorRegistry = metrics.registry


def create_app(settings: FrontendSettings, stages: Sequence[Stage], parent: Parent) -> FrontendApp:
    """Build the application of one frontend.

    Args:
        settings: What this frontend is told.
        stages: In the order of the plan, at least one, with disjoint names.
        parent: The control channel to the parent.

    Raises:
        UsageError: If an allowed host is neither a name nor an address.
    """
    inner = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    inner.state.settings = settings
    inner.state.stages = StageSet(stages)
    inner.state.parent = parent
    inner.state.openapi = None
    for router in (*ROUTERS, docs.router) if settings.http.docs else ROUTERS:
        inner.include_router(router)
    inner.router.routes.extend(table_routes(inner.state.stages, docs=settings.http.docs))
    inner.add_exception_handler(HTTPException, _handle_http_error)
    inner.add_exception_handler(RequestValidationError, _handle_invalid)
    inner.add_exception_handler(Exception, _handle_unexpected)
    return FrontendApp(inner, settings, HttpMetrics())


def _guarded(routes: FastAPI, http: HttpPlan) -> ASGIApp:
    """Outside in: the envelope, CORS, the gate, the routes. docs/security.md says why so."""
    gate = Gate(http)
    guarded: ASGIApp = GateLayer(routes, gate, http)
    return guarded if http.cors is None else CorsLayer(guarded, gate, http.cors)


async def _handle_http_error(request: Request, error: Exception) -> Response:
    """ApiError, and what the framework raises by itself: 404, 405, a body that it cannot read."""
    assert isinstance(error, HTTPException)
    if isinstance(error, ApiError):
        return error_response(request.url.path, error)
    path, method = request.url.path[:200], request.method
    settings: FrontendSettings = request.app.state.settings
    listed = "; /docs lists them" if settings.http.docs else ""
    messages = {
        404: f"There is no route {path}{listed}.",
        405: f"{path} does not answer {method}.",
    }
    message = messages.get(error.status_code, str(error.detail))
    return error_response(
        request.url.path, ApiError(error.status_code, message, headers=error.headers)
    )


async def _handle_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    message, param = explain_validation(error)
    return error_response(request.url.path, ApiError(400, message, param=param))


async def _handle_unexpected(request: Request, error: Exception) -> Response:
    """The framework raises the error again after this, and the outermost layer logs it."""
    return error_response(request.url.path, ApiError(500, SERVER_FAILED))

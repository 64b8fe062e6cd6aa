"""``/docs`` and ``/openapi.json``, without anything from another site."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from starlette.responses import FileResponse, JSONResponse, Response

from server.deps import Settings, Stages
from server.errors import ApiError
from server.route_table import rows
from server.stages import StageSet
from server.upstream import swagger_dir

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

TITLE = "omni"
# Names, not a folder, so that a client's path never meets the file system.
ASSETS = frozenset({"swagger-ui-bundle.js", "swagger-ui.css"})


@router.head("/docs")
@router.get("/docs")
async def show_docs(settings: Settings) -> Response:
    """Swagger UI over ``/openapi.json``."""
    prefix = _prefix(settings)
    return get_swagger_ui_html(
        openapi_url=f"{prefix}/openapi.json",
        title=TITLE,
        swagger_js_url=f"{prefix}/docs/swagger-ui-bundle.js",
        swagger_css_url=f"{prefix}/docs/swagger-ui.css",
        swagger_favicon_url="data:,",
    )


@router.get("/docs/{asset}")
async def send_asset(asset: str) -> Response:
    """Swagger UI's own files."""
    if asset not in ASSETS:
        raise ApiError(404, f"There is no /docs/{asset[:100]}.")
    return FileResponse(swagger_dir() / asset)


@router.head("/openapi.json")
@router.get("/openapi.json")
async def show_openapi(request: Request, settings: Settings, stages: Stages) -> Response:
    """The description of every route that is served or passed."""
    state = request.app.state
    if state.openapi is None:
        # Half a second of schema building: not on the loop that serves streams.
        routes = request.app.routes
        state.openapi = await asyncio.to_thread(_describe, routes, settings, stages)
    return JSONResponse(state.openapi)


def _prefix(settings: Settings) -> str:
    """Where a proxy publishes the server: a page in a browser asks the proxy, not the server."""
    prefix = settings.http.root_path.strip("/")
    return f"/{prefix}" if prefix else ""


def _describe(routes: Any, settings: Settings, stages: StageSet) -> dict[str, Any]:
    servers = [{"url": prefix}] if (prefix := _prefix(settings)) else None
    document = get_openapi(title=TITLE, version=settings.version, routes=routes, servers=servers)
    passed = rows(["passed"])
    for stage in stages:
        theirs = stage.openapi()
        for path, item in theirs.get("paths", {}).items():
            methods = {row.method.lower() for row in passed.get(path, ())}
            ours = document["paths"].setdefault(path, {}) if methods else {}
            ours.update({name: op for name, op in item.items() if name in methods})
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in theirs.get("components", {}).get("schemas", {}).items():
            schemas.setdefault(name, schema)
    return document

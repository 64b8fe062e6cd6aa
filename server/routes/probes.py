"""``/health``, ``/livez``, ``/readyz``, ``/startupz``."""

from __future__ import annotations

from fastapi import APIRouter, Response

from server import health
from server.deps import ParentPort, Stages
from server.health import Answer
from server.routes.documented import NOT_READY

__all__ = ["router"]

router = APIRouter(tags=["probes"])


def _response(answer: Answer) -> Response:
    return Response(answer.body, answer.status, dict(answer.headers), media_type="application/json")


@router.head("/health", include_in_schema=False)
@router.get("/health", responses=NOT_READY)
async def check_health(stages: Stages) -> Response:
    """Whether every engine that this frontend talks to can serve; an empty answer."""
    for stage in stages:
        await stage.check_health()
    return Response()


@router.head("/livez", include_in_schema=False)
@router.get("/livez")
async def check_live() -> Response:
    """Whether the server answers at all."""
    return _response(health.livez())


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", responses=NOT_READY)
async def check_ready(parent: ParentPort) -> Response:
    """Whether every stage and every frontend is ready; names those that are not."""
    return _response(health.readyz(parent.status()))


@router.head("/startupz", include_in_schema=False)
@router.get("/startupz", responses=NOT_READY)
async def check_started(parent: ParentPort) -> Response:
    """The phases of the start with their seconds."""
    return _response(health.startupz(parent.status()))

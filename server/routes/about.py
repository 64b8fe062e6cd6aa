"""``/version`` and ``/metrics``."""

from __future__ import annotations

from fastapi import APIRouter, Response

from engine_bridge.errors import ChannelClosed
from server.deps import ParentPort, Settings
from server.errors import ApiError
from server.upstream import vllm_version

__all__ = ["router"]

router = APIRouter(tags=["about"])

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/version")
async def show_version(settings: Settings) -> dict[str, str]:
    """The versions of omni and of the engine."""
    return {"version": settings.version, "vllm_version": vllm_version}


@router.get("/metrics", response_class=Response)
async def show_metrics(parent: ParentPort) -> Response:
    """The metrics of the whole server, the same from every rank, as Prometheus text."""
    try:
        text = await parent.scrape()
    except (ChannelClosed, TimeoutError) as error:
        raise ApiError(503, "The parent process, which owns the metrics, is silent.") from error
    return Response(text, headers={"content-type": METRICS_TYPE})

"""Dependencies of the handlers."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from server.body import refuse_unsendable
from server.media_type import require_json
from server.ports import Parent
from server.settings import FrontendSettings
from server.stages import StageSet

__all__ = ["JSON_ONLY", "ParentPort", "Settings", "Stages"]


async def _json_body(request: Request) -> None:
    require_json(request)
    # Read already: the framework does so before it resolves dependencies.
    refuse_unsendable(await request.body())


JSON_ONLY = Depends(_json_body)


def _stages(request: Request) -> StageSet:
    stages: StageSet = request.app.state.stages
    return stages


def _parent(request: Request) -> Parent:
    parent: Parent = request.app.state.parent
    return parent


def _settings(request: Request) -> FrontendSettings:
    settings: FrontendSettings = request.app.state.settings
    return settings


Stages = Annotated[StageSet, Depends(_stages)]
ParentPort = Annotated[Parent, Depends(_parent)]
Settings = Annotated[FrontendSettings, Depends(_settings)]

"""``/v1/models``."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from server.deps import Stages
from server.errors import UnknownModel
from server.routes.documented import MODEL_ERRORS

__all__ = ["router"]

router = APIRouter(tags=["models"])


@router.get("/v1/models")
async def list_models(stages: Stages) -> dict[str, Any]:
    """Every model that is served."""
    cards = [card for stage in stages for card in await stage.models()]
    return {"object": "list", "data": cards}


@router.get("/v1/models/{model:path}", responses={404: MODEL_ERRORS[404]})
async def retrieve_model(model: str, stages: Stages) -> dict[str, Any]:
    """One model; its name may contain slashes."""
    for stage in stages:
        for card in await stage.models():
            if card["id"] == model:
                return card
    raise UnknownModel(model, stages.names)

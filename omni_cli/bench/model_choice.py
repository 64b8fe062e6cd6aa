"""Which served model is put under load."""

from __future__ import annotations

from contextlib import closing

from engine_bridge.errors import ClientError
from omni_cli.bench.prompts import Endpoint, Prompt
from omni_cli.client.answer import JsonObject
from omni_cli.client.connection import Connection

__all__ = ["choose_model"]

# Models that are tried, should no card tell what its model can do
MAX_TRIED = 8

_HINTS = {
    Endpoint.CHAT: ("generate", "chat"),
    Endpoint.COMPLETIONS: ("generate", "completions", "chat"),
    Endpoint.EMBEDDINGS: ("embed", "embeddings", "embedding"),
}


def choose_model(connection: Connection, endpoint: Endpoint, given: str | None) -> str:
    """The model that was given, or the first one that serves the endpoint: as the cards tell, or as
    one small request to each shows.

    A server that is starting is waited for.

    Raises:
        ClientError: The server is not there, or serves no model.
    """
    cards = connection.models()
    if given is not None:
        return given
    if len(cards) > 1 and not any(_told(card, endpoint) for card in cards):
        for card in cards[:MAX_TRIED]:
            if _serves(connection, str(card["id"]), endpoint):
                return str(card["id"])
    return connection.default_model(lambda card: _told(card, endpoint))


def _told(card: JsonObject, endpoint: Endpoint) -> bool:
    hints = card.get("capabilities")
    hints = hints if isinstance(hints, list | dict) else ()
    return any(hint == card.get("task") or hint in hints for hint in _HINTS[endpoint])


def _serves(connection: Connection, model: str, endpoint: Endpoint) -> bool:
    body = {"model": model, **Prompt("Hello", 1).body(endpoint)}
    try:
        with closing(connection.frames(endpoint.path, body)) as frames:
            return next(frames, None) is not None
    except ClientError:
        return False

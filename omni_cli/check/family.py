"""The names of the families of checks; light, because the command's help shows them."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Family"]


class Family(StrEnum):
    """A group of checks with a verdict of its own, in the order in which they run."""

    MODELS = "models"
    REPLIES = "replies"
    LENGTHS = "lengths"
    SSE = "sse"
    USAGE = "usage"
    STOP = "stop"
    ERRORS = "errors"
    LIMITS = "limits"
    DISCONNECT = "disconnect"
    AUTH = "auth"

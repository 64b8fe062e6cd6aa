"""All checks, in the order in which they run: what is looked at is asked once, and what may upset a
server comes last."""

from __future__ import annotations

from omni_cli.check.families import (
    auth,
    disconnect,
    errors,
    limits,
    models,
    replies,
    sse,
    sse_typed,
    stop,
    usage,
)
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check

__all__ = ["ALL"]

_MODULES = (models, replies, sse, sse_typed, usage, stop, errors, limits, disconnect, auth)
_FOUND = [check for module in _MODULES for check in module.CHECKS]

ALL: tuple[Check, ...] = tuple(
    check for family in Family for check in _FOUND if check.family is family
)

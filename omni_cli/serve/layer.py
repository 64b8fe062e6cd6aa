"""One place that gives values: the command line, the environment or a settings file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omni_cli.flags.parsed import Given
from omni_cli.serve.problems import Origin, Problem

__all__ = ["LINE_ONLY", "TARGET", "Layer"]

TARGET = "target"
"""The destination of the positional argument."""

LINE_ONLY = frozenset({"config", "help", "json", "print_config"})
"""Destinations that say what the command does, and not how it serves; no file or variable has
them, but for ``OMNI_CONFIG``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What one place gives.

    Attributes:
        origin: Which place.
        given: By destination, typed by the kind of the flag.
        problems: What cannot be used; nothing of it is in ``given``.
        warnings: Sentences for the user that keep nothing from starting.
    """

    origin: Origin
    given: Mapping[str, Given] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()

"""What the command line, an environment variable or a file gives, before anything is merged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omni_cli.serve.problems import Problem

__all__ = ["Given", "Parsed"]


@dataclass(frozen=True, slots=True)
class Given:
    """One value as somebody gave it.

    Attributes:
        value: Typed by the flag's kind: bool, int, float, str, dict, or a list of those.
        spelling: How it was written, for messages: ``-tp``, ``OMNI_PORT``, ``omni.yaml:3: port``.
    """

    value: object
    spelling: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """One command line of ``omni serve``, or of a command that takes its flags.

    Attributes:
        leading: The word before TARGET that the catalogue asks for, or None.
        target: The positional argument, or None.
        given: By destination.
        problems: Words that cannot be used; the values they spoil are not in ``given``.
        warnings: Sentences for the user that keep nothing from starting.
        help: None unless help was asked for; then what to search for, or empty for the short page.
        config: The settings file that was named, or None.
        print_config: Whether the merged settings are asked for instead of a run.
        json: Whether as JSON.
    """

    leading: str | None = None
    target: str | None = None
    given: Mapping[str, Given] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    help: str | None = None
    config: str | None = None
    print_config: bool = False
    json: bool = False

"""What the doctor says about one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "Status", "note", "ok", "problem"]

Status = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact, and whether it is in the way.

    Attributes:
        name: What it is about, unique in its section.
        status: ``note`` may matter for some uses, ``problem`` keeps omni from working.
        text: The fact, in one line.
        way_out: What to do about it; no full stop. Empty if nothing.
    """

    name: str
    status: Status
    text: str
    way_out: str = ""


def ok(name: str, text: str) -> Finding:
    """As it should be."""
    return Finding(name, "ok", text)


def note(name: str, text: str, way_out: str = "") -> Finding:
    """Worth knowing."""
    return Finding(name, "note", text, way_out)


def problem(name: str, text: str, way_out: str) -> Finding:
    """In the way."""
    return Finding(name, "problem", text, way_out)

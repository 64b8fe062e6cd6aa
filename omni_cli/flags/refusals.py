"""What is said about a value of a flag that does not simply act, wherever the value comes from."""

from __future__ import annotations

from omni_cli.flags.flag import Flag
from omni_cli.serve.problems import Origin, Problem

__all__ = ["refusal", "remark"]


def refusal(flag: Flag, spelled: str, value: object, origin: Origin) -> Problem | None:
    """The problem that a value of a refused flag is; None if it asks for nothing unusual.

    vLLM's own default is not refused: lines written for vLLM may say it.
    """
    if flag.scope != "refused" or value == flag.default or value in (None, False, []):
        return None
    shown = None if flag.secret or value is True else value
    return Problem(
        subject=spelled, value=shown, origin=origin, reason=flag.reason, way_out=flag.way_out
    )


def remark(flag: Flag, spelled: str, value: object) -> str:
    """A sentence for the user about a value that is taken but does not do what it seems to, or
    soon will not; empty if there is none."""
    if flag.scope == "satisfied" and value != flag.fulfilled:
        return f"{spelled} changes nothing: {flag.reason}"
    if flag.deprecated:
        return f"{spelled} is deprecated and will go with the next vLLM"
    return ""

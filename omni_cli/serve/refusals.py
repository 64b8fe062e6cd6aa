"""Flags that omni does not serve: answered with the flag's own reason, whoever gave them."""

from __future__ import annotations

from omni_cli.flags.flag import Flag
from omni_cli.serve.problems import Origin, Problem

__all__ = ["refusal"]


def refusal(flag: Flag, spelled: str, value: object, origin: Origin) -> Problem | None:
    """The problem that a value of a refused flag is; None if there is none.

    vLLM's own default is no problem, nor is "no": lines and files written for vLLM may say what is
    the case anyway.

    Args:
        flag: The flag.
        spelled: As the user wrote it.
        value: Read by the flag's kind.
        origin: Who gave it.
    """
    # By identity: 0 is a rank, and no "no".
    no = value is None or value is False or value == []
    if flag.scope != "refused" or no or value == flag.default:
        return None
    return Problem(
        subject=spelled,
        value=None if flag.secret or value is True else value,
        origin=origin,
        reason=flag.reason,
        way_out=flag.way_out,
    )

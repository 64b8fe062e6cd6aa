"""A process and all that it has started: who they are, and the memory that they take together.
Read from /proc."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Member", "family_of", "kill", "pss_bytes"]

KILL_TIMEOUT_S = 5.0  # a process that is killed ends as soon as the kernel lets go of it
POLL_S = 0.01
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Member:
    """A process. ``started`` (clock ticks since the boot) tells it from a later one with its
    pid."""

    pid: int
    parent: int
    session: int
    started: int


def family_of(pid: int) -> list[Member]:
    """A process that leads a session, its descendants, and whoever else is in its session."""
    everyone = _everyone()
    family = {pid}
    grown = True
    while grown:
        more = {
            member.pid
            for member in everyone
            if member.pid not in family and (member.parent in family or member.session == pid)
        }
        family |= more
        grown = bool(more)
    return [member for member in everyone if member.pid in family]


def pss_bytes(family: list[Member]) -> int:
    """Proportional set sizes of processes, summed: a page that N processes share counts 1/N in
    each, so that the sum is what they take together. Those that have ended count nothing.

    Source: proc_pid_smaps(5), smaps_rollup.
    """
    total = 0
    for member in family:
        with suppress(OSError, ValueError):
            for line in (_PROC / str(member.pid) / "smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total


def kill(family: list[Member]) -> None:
    """Kill those that still run, and wait until they have ended; a process that has taken over a
    pid is spared."""
    for member in family:
        if _runs(member):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(member.pid, signal.SIGKILL)
    deadline = time.monotonic() + KILL_TIMEOUT_S
    while any(_runs(member) for member in family) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def _runs(member: Member) -> bool:
    now = _member(member.pid)
    return now is not None and now.started == member.started


def _everyone() -> list[Member]:
    found = [_member(int(entry.name)) for entry in _PROC.iterdir() if entry.name.isdigit()]
    return [member for member in found if member is not None]


def _member(pid: int) -> Member | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:  # it has ended
        return None
    # The name in parentheses may hold anything, spaces and parentheses included
    fields = text.rpartition(")")[2].split()
    if fields[0] in "ZX":  # ended, and only its parent has not noticed yet
        return None
    return Member(pid=pid, parent=int(fields[1]), session=int(fields[3]), started=int(fields[19]))

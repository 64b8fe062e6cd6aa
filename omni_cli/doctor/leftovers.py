"""What earlier runs of omni left: run directories and processes, by omni's own names alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine_bridge.run_directory import found_runs
from omni_cli.doctor.finding import Finding, note, ok, problem

__all__ = ["leftovers"]

PROC = Path("/proc")
# Titles that omni gives its children
TITLE = "omni: "
# Process tables beyond that are not searched
MAX_PROCESSES = 16_384
MAX_NAMED = 10


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    title: str


def leftovers(environ: Mapping[str, str], proc: Path = PROC) -> Iterator[Finding]:
    """Run directories and child processes whose run is over.

    Args:
        environ: Says where temporary files go.
        proc: The process table.
    """
    yield _directories({_temporary(environ), Path("/tmp")})
    yield _processes(_own(proc))


def _temporary(environ: Mapping[str, str]) -> Path:
    """As ``tempfile`` chooses, which writes a file to make sure."""
    named = (environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return next((Path(each) for each in named if each and os.access(each, os.W_OK)), Path("/tmp"))


def _directories(bases: set[Path]) -> Finding:
    found = {path: alive for base in sorted(bases) for path, alive in found_runs(base).items()}
    left = [path for path, alive in found.items() if not alive]
    alive = len(found) - len(left)
    if left:
        named = ", ".join(map(str, left[:MAX_NAMED]))
        text = f"{len(left)} left by runs that were killed: {named}"
        return note("run directories", text, "the next `omni serve` removes them")
    return ok("run directories", f"{alive} in use, none left over")


def _own(proc: Path) -> dict[int, _Process]:
    """This user's processes."""
    found = {}
    pids = sorted((name for name in os.listdir(proc) if name.isdigit()), key=int)
    for name in pids[:MAX_PROCESSES]:
        try:
            if (proc / name).stat().st_uid != os.getuid():
                continue
            title = (proc / name / "cmdline").read_text(errors="replace").replace("\0", " ")
            stat = (proc / name / "stat").read_text(errors="replace")
        except OSError:  # it has ended
            continue
        # The name in brackets may hold anything, so what follows is found from the end.
        state, parent = stat.rpartition(")")[2].split()[:2]
        if state != "Z":
            found[int(name)] = _Process(int(name), int(parent), title.strip())
    return found


def _is_adopted(parent: _Process | None) -> bool:
    """Whether a parent is none of omni's but the one that takes in orphans. In a container omni may
    have the number 1 itself."""
    if parent is None:
        return True
    takes_in = parent.pid == 1 or "systemd --user" in parent.title
    return takes_in and "omni" not in parent.title


def _processes(own: dict[int, _Process]) -> Finding:
    """A child of omni lives no longer than its parent; one that does holds memory."""
    children = [process for process in own.values() if process.title.startswith(TITLE)]
    orphans = [child for child in children if _is_adopted(own.get(child.parent))]
    if orphans:
        named = ", ".join(f"{child.title} (pid {child.pid})" for child in orphans[:MAX_NAMED])
        pids = " ".join(str(child.pid) for child in orphans[:MAX_NAMED])
        return problem("processes", f"without their parent: {named}", f"kill {pids}")
    return ok("processes", f"{len(children)} of running servers, none left over")

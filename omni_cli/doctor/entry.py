"""``omni doctor``: every section in order, and the report."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from omni_cli.doctor.cache import cache
from omni_cli.doctor.completion import completion
from omni_cli.doctor.environment import environment
from omni_cli.doctor.finding import Finding, Status, problem
from omni_cli.doctor.leftovers import leftovers
from omni_cli.doctor.machine import limits, machine
from omni_cli.doctor.media import media
from omni_cli.doctor.ports import ports
from omni_cli.doctor.versions import versions
from omni_cli.terminal import Stream, Terminal, one_line

__all__ = ["DEFAULT_PORT", "Sections", "doctor", "examine"]

Sections = dict[str, list[Finding]]

DEFAULT_PORT = 8000
_STYLES: dict[Status, str] = {"ok": "32", "note": "33", "problem": "1;31"}


def doctor(*, port: int | None, as_json: bool) -> int:
    """Look at everything and print the report.

    Args:
        port: To look for; OMNI_PORT or the default one if None.

    Returns:
        1 if there is a problem, else 0.
    """
    sections = examine(os.environ, port)
    out = Terminal().out
    if as_json:
        out.write(f"{json.dumps(_as_json(sections))}\n")
    else:
        out.show(_as_text(sections, out))
    return 1 if _counts(sections)["problem"] else 0


def examine(environ: Mapping[str, str], port: int | None = None) -> Sections:
    """The findings of every section, in order. Changes nothing."""
    wanted: dict[str, Callable[[], Iterable[Finding]]] = {
        "versions": versions,
        "machine": machine,
        "limits": limits,
        "leftovers": lambda: leftovers(environ),
        "ports": lambda: ports(*_port(environ, port)),
        "media": media,
        "cache": lambda: cache(environ),
        "environment": lambda: environment(environ),
        "completion": lambda: completion(environ),
    }
    return {name: _looked(name, look) for name, look in wanted.items()}


def _looked(name: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """A broken installation is what this command is for: it must not break the report."""
    found: list[Finding] = []
    try:
        found.extend(look())
    except Exception as error:  # noqa: BLE001
        text = one_line(f"cannot be looked at: {type(error).__name__}: {error}")
        found.append(problem(name, text, "install omni again"))
    return found


def _port(environ: Mapping[str, str], port: int | None) -> tuple[int, str]:
    if port is not None:
        return port, "--port"
    given = environ.get("OMNI_PORT", "")
    if given.isdigit() and 0 < int(given) < 65536:
        return int(given), "OMNI_PORT"
    return DEFAULT_PORT, "the default"


def _counts(sections: Sections) -> Counter[Status]:
    return Counter(finding.status for findings in sections.values() for finding in findings)


def _as_json(sections: Sections) -> dict[str, object]:
    counts = _counts(sections)
    return {
        "problems": counts["problem"],
        "notes": counts["note"],
        "sections": {
            name: [
                {
                    "name": finding.name,
                    "status": finding.status,
                    "text": finding.text,
                    "way_out": finding.way_out or None,
                }
                for finding in findings
            ]
            for name, findings in sections.items()
        },
    }


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _as_text(sections: Sections, out: Stream) -> str:
    """A form to read, and to paste into a bug report."""
    lines = []
    for name, findings in sections.items():
        lines.append(out.styled(name, "1"))
        for finding in findings:
            mark = out.styled(finding.status.ljust(7), _STYLES[finding.status])
            way_out = f"; {finding.way_out}" if finding.way_out else ""
            lines.append(f"  {mark}  {finding.name}: {finding.text}{way_out}")
        lines.append("")
    counts = _counts(sections)
    lines.append(f"{_count(counts['problem'], 'problem')}, {_count(counts['note'], 'note')}")
    return "".join(f"{line}\n" for line in lines)

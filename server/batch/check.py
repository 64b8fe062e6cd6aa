"""All bad lines of a file, before anything runs.

Memory is 8 bytes for each line (``seen``), and what is shown.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import BinaryIO

import msgspec

from server.batch.lines import MAX_LINE_BYTES, read_lines
from server.batch.requests import Fault, custom_id_of, faults_of
from server.batch.seen import SeenKeys

__all__ = ["MAX_SHOWN", "BadLine", "Report", "check"]

# Faults that are kept to be shown; more would push the first off the screen.
MAX_SHOWN = 20
# Doubled custom_ids whose first use is looked up; above, they are counted only.
MAX_LOOKED_UP = 1000
_ID_CHARS = 64


@dataclass(frozen=True, slots=True)
class BadLine:
    """One fault and where it is."""

    number: int
    custom_id: str | None
    fault: Fault

    def __str__(self) -> str:
        fault = self.fault
        name = "" if self.custom_id is None else f" ({self.custom_id[:_ID_CHARS]})"
        value = "" if fault.value is None else f" {fault.value}"
        subject = f" {fault.field}{value}:" if fault.field else ""
        hint = f"; {fault.way_out}" if fault.way_out else ""
        return f"line {self.number}{name}:{subject} {fault.reason}{hint}"


@dataclass(slots=True)
class Report:
    """What a check has found.

    Attributes:
        lines: Lines that are not blank.
        bad: Lines with at least one fault.
        faults: The first ones, in the order of the file.
        hidden: Faults that are not among them.
    """

    lines: int = 0
    bad: int = 0
    faults: list[BadLine] = field(default_factory=list)
    hidden: int = 0


@dataclass(slots=True)
class _Double:
    number: int
    custom_id: str
    otherwise_bad: bool


def check(
    file: BinaryIO,
    capacity: int,
    models: Collection[str] | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Report:
    """Look at every line.

    Args:
        file: Seekable; read from its start.
        capacity: Most lines that it can have (``Survey.lines``).
        models: Names that requests may give as their model; None if they are not known.
        max_line_bytes: Of one line.
    """
    report = Report()
    seen = SeenKeys(capacity)
    doubles: list[_Double] = []
    for line in read_lines(file, max_line_bytes):
        report.lines += 1
        custom_id: str | None = None
        faults: tuple[Fault, ...] = (_too_long(max_line_bytes),)
        if line.data is not None:
            custom_id, faults = faults_of(line.data, models)
        if custom_id is not None and seen.add(custom_id):
            if len(doubles) < MAX_LOOKED_UP:
                doubles.append(_Double(line.number, custom_id, bool(faults)))
            else:
                faults = (*faults, _doubled(None, custom_id))
        if faults:
            report.bad += 1
            _keep(report, line.number, custom_id, faults)
    if doubles:
        _look_up(file, doubles, report, max_line_bytes)
    return report


def _keep(report: Report, number: int, custom_id: str | None, faults: tuple[Fault, ...]) -> None:
    room = MAX_SHOWN - len(report.faults)
    report.faults += [BadLine(number, custom_id, fault) for fault in faults[:room]]
    report.hidden += len(faults[max(room, 0) :])


def _look_up(file: BinaryIO, doubles: list[_Double], report: Report, max_line_bytes: int) -> None:
    """Tell true doubles from keys that only look alike, and say where each was used first."""
    wanted = {double.custom_id for double in doubles}
    first: dict[str, int] = {}
    for line in read_lines(file, max_line_bytes):
        if len(first) == len(wanted):
            break
        if line.data is None:
            continue
        try:
            parsed = msgspec.json.decode(line.data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            continue
        custom_id = custom_id_of(parsed) if isinstance(parsed, dict) else None
        if custom_id in wanted and custom_id is not None:
            first.setdefault(custom_id, line.number)
    true = [each for each in doubles if first[each.custom_id] < each.number]
    found = [
        BadLine(each.number, each.custom_id, _doubled(first[each.custom_id], each.custom_id))
        for each in true
    ]
    report.bad += sum(not each.otherwise_bad for each in true)
    shown = sorted([*report.faults, *found], key=lambda bad: bad.number)
    report.hidden += len(shown[MAX_SHOWN:])
    report.faults = shown[:MAX_SHOWN]


def _too_long(max_bytes: int) -> Fault:
    return Fault("", None, f"is longer than {max_bytes} bytes", "split its request")


def _doubled(first: int | None, custom_id: str) -> Fault:
    where = "before" if first is None else f"in line {first}"
    return Fault("custom_id", None, f"is used {where} already", "give each line its own")

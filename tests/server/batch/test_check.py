"""All bad lines of a file."""

from __future__ import annotations

import io

import pytest

from server.batch import check as module
from server.batch.check import MAX_SHOWN, Report, check
from server.batch.lines import survey
from server.batch.seen import SeenKeys
from tests.server.batch.world import request


def checked(
    *lines: bytes, models: tuple[str, ...] | None = None, max_bytes: int = 10_000
) -> Report:
    data = b"".join(line + b"\n" for line in lines)
    return check(io.BytesIO(data), survey(io.BytesIO(data)).lines, models, max_bytes)


def told(report: Report) -> list[str]:
    return [str(bad) for bad in report.faults]


def test_good_lines_are_counted() -> None:
    assert checked(request("a"), b"", request("b")) == Report(lines=2)


def test_lines_are_named_with_their_number_and_custom_id() -> None:
    report = checked(request("a"), request("b", method="PUT"), b"{", models=("m",))
    assert told(report) == [
        "line 2 (b): method PUT: must be POST",
        "line 3: is not JSON: Expecting property name enclosed in double quotes (column 2); "
        "write one JSON object on one line",
    ]
    assert (report.lines, report.bad, report.hidden) == (3, 2, 0)


def test_doubled_custom_ids_name_the_first_use() -> None:
    report = checked(request("a"), request("b"), request("a"), request("a", method="GET"))
    assert told(report) == [
        "line 3 (a): custom_id: is used in line 1 already; give each line its own",
        "line 4 (a): method GET: must be POST",
        "line 4 (a): custom_id: is used in line 1 already; give each line its own",
    ]
    assert report.bad == 2


def test_keys_that_only_look_alike_are_no_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    class Suspicious(SeenKeys):
        def add(self, key: str) -> bool:
            super().add(key)
            return True

    monkeypatch.setattr(module, "SeenKeys", Suspicious)
    assert checked(request("a"), request("b")) == Report(lines=2)


def test_more_faults_than_are_shown_are_counted() -> None:
    report = checked(*[b"x"] * (MAX_SHOWN + 5), *[request("same")] * 3)
    assert len(report.faults) == MAX_SHOWN
    assert (report.bad, report.hidden) == (MAX_SHOWN + 7, 7)


def test_very_many_doubles_are_counted() -> None:
    report = checked(*[request("same")] * (module.MAX_LOOKED_UP + 10))
    assert report.bad == module.MAX_LOOKED_UP + 9
    assert len(report.faults) + report.hidden == report.bad
    assert report.faults[0].number == 2


def test_line_beyond_the_bound_is_a_fault() -> None:
    report = checked(b"x" * 101, request("a"), max_bytes=100)
    assert told(report) == ["line 1: is longer than 100 bytes; split its request"]

"""Which lines have a result, read from the results."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from server.batch.done import DoneLines, ForeignLine
from server.batch.results import Answer, Failure, render, result_id

DIGEST = "0123456789abcdef"


def line(number: int, digest: str = DIGEST, size: int = 0) -> bytes:
    body = b'"' + b"x" * size + b'"'
    return render(result_id(digest, number), "a", Answer(200, "", body)).data


def read(tmp_path: Path, data: bytes, lines: int = 100) -> DoneLines:
    path = tmp_path / "out"
    path.write_bytes(data)
    done = DoneLines(lines)
    fd = os.open(path, os.O_RDONLY)
    try:
        assert done.read(fd, DIGEST, "out") == data.count(b"\n")
    finally:
        os.close(fd)
    return done


def test_lines_of_any_length_are_read(tmp_path: Path) -> None:
    short = render(result_id(DIGEST, 8), "", Failure("", "")).data
    done = read(tmp_path, line(3) + line(100, size=3_000_000) + short + line(64))
    assert [number for number in range(120) if number in done] == [3, 8, 64, 100]
    assert done.count == 4


@pytest.mark.parametrize(
    ("data", "number"),
    [
        (line(1) + b"hello\n", 2),
        (line(1) + line(2, "f" * 16), 2),
        (line(1) + line(2) + line(1), 3),
        (line(5000), 1),
        (b"\n", 1),
        (b"\0" * 500 + b"\n", 1),
    ],
)
def test_what_is_no_result_of_this_input(tmp_path: Path, data: bytes, number: int) -> None:
    with pytest.raises(ForeignLine) as raised:
        read(tmp_path, data)
    assert (raised.value.name, raised.value.number) == ("out", number)


def test_a_million_lines_take_an_eighth_of_a_megabyte() -> None:
    done = DoneLines(1_000_000)
    assert len(done._bits) <= 125_001
    done.add(999_999)
    assert 999_999 in done
    assert 999_998 not in done
    assert 10**9 not in done

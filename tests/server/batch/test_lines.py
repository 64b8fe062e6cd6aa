"""Bounded lines, blank ones, and what one pass tells."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.batch.lines import Line, read_lines, survey


def lines_of(data: bytes, max_bytes: int = 100) -> list[Line]:
    return list(read_lines(io.BytesIO(data), max_bytes))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a\nb\n", [Line(1, b"a"), Line(2, b"b")]),
        (b"a\nb", [Line(1, b"a"), Line(2, b"b")]),
        (b"a\r\nb\r\n", [Line(1, b"a"), Line(2, b"b")]),
        (b"\n \na\n\n", [Line(3, b"a")]),
        (b"\xef\xbb\xbfa\n", [Line(1, b"a")]),
    ],
)
def test_lines_of_every_kind_of_file(data: bytes, expected: list[Line]) -> None:
    assert lines_of(data) == expected


def test_line_beyond_the_bound_comes_without_its_data() -> None:
    data = b"a\n" + b"x" * 11 + b"\n" + b"y" * 10 + b"\nlast"
    assert lines_of(data, 10) == [
        Line(1, b"a"),
        Line(2, None),
        Line(3, b"y" * 10),
        Line(4, b"last"),
    ]


def test_endless_line_is_never_held_as_a_whole() -> None:
    class Endless(io.RawIOBase):
        """60 MB without a newline; fails if more than a megabyte is asked for at once."""

        left = 60_000_000

        def readline(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            assert 0 < size <= 1 << 20
            taken = min(size, self.left)
            self.left -= taken
            return b"x" * taken

        def seek(self, offset: int, whence: int = 0, /) -> int:
            return 0

    assert list(read_lines(Endless(), 1000)) == [Line(1, None)]  # type: ignore[arg-type]


@given(st.lists(st.binary(max_size=12).filter(lambda part: b"\n" not in part), max_size=8))
def test_numbers_are_those_of_an_editor(parts: list[bytes]) -> None:
    data = b"\n".join(parts)
    expected = [
        Line(number, part.strip())
        for number, part in enumerate(parts, 1)
        if part.removeprefix(b"\xef\xbb\xbf" if number == 1 else b"").strip()
    ]
    found = lines_of(data)
    assert [line.number for line in found] == [line.number for line in expected]


def test_survey_counts_and_copies() -> None:
    copy = io.BytesIO()
    found = survey(io.BytesIO(b"a\nb\nc"), copy)
    assert (found.lines, found.size, copy.getvalue()) == (3, 5, b"a\nb\nc")
    assert found.digest == survey(io.BytesIO(b"a\nb\nc")).digest
    assert found.digest != survey(io.BytesIO(b"a\nb\nd")).digest

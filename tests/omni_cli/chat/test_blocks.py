"""Markdown cut into blocks while it streams."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omni_cli.chat.blocks import BlockEnd, BlockSplitter


def blocks(*pieces: str) -> list[str]:
    splitter = BlockSplitter()
    events = [event for piece in pieces for event in splitter.feed(piece)] + splitter.finish()
    found = [""]
    for event in events:
        if isinstance(event, BlockEnd):
            found.append("")
        else:
            found[-1] += event.text
    assert found[-1] == ""  # every block ends
    return found[:-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\n\n", []),
        ("one", ["one"]),
        ("one\ntwo\n", ["one\ntwo"]),
        ("one\n\n\ntwo\n\n", ["one", "two"]),
        ("one\n  \ntwo", ["one", "two"]),
        ("- a\n\n- b\n\n  more\n\nend", ["- a\n\n- b\n\n  more", "end"]),
        ("1. a\n\n2. b\n\n10 men", ["1. a\n\n2. b", "10 men"]),
        ("- a\n\n-", ["- a\n\n-"]),
        ("text\n```py\nx\n\ny\n```\n\nend", ["text\n```py\nx\n\ny\n```", "end"]),
        ("~~~\n```\n\n~~~~\n\nend", ["~~~\n```\n\n~~~~", "end"]),
        ("```\nnever\n\nclosed", ["```\nnever\n\nclosed"]),
        ("``` not a `fence`\n\nend", ["``` not a `fence`", "end"]),
    ],
)
def test_blocks_end_at_blank_lines(text: str, expected: list[str]) -> None:
    assert blocks(text) == expected
    assert blocks(*text) == expected


MARKDOWN = st.text(st.sampled_from(list("ab1 \n\n\n-.)`~#|*")), max_size=60)


@example(text="11 ", cuts=[2])
@given(MARKDOWN, st.lists(st.integers(0, 60), max_size=5))
def test_blocks_hold_all_the_text_however_it_comes(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(text)]
    pieces = [text[start:end] for start, end in zip(edges, edges[1:], strict=False)]
    found = blocks(*pieces)
    assert found == blocks(text)
    assert "".join("".join(found).split()) == "".join(text.split())

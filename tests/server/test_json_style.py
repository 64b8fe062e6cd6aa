"""JSON in Python's own style, piece by piece: equal to ``json``, whatever the text and the cuts."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.json_style import JsonStyle, json_styled

SPACES = st.text(" \t\n\r", max_size=3)
LONE = re.compile("[\ud800-\udfff]")
SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "/": "\\/"}
SHORT |= {'"': '\\"', "\\": "\\\\"}

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**30, 10**60)
    | st.floats()
    | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=20,
)


def escaped_units(char: str) -> str:
    """A character as one ``\\u`` escape or a pair of them."""
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


@st.composite
def spelt(draw: st.DrawFn, value: Any) -> str:
    """A JSON text of the value: any white space, any escapes, any form of its numbers."""
    if isinstance(value, str):
        return draw(spelt_string(value))
    if isinstance(value, dict):
        items = [
            f"{draw(spelt_string(k, halves=False))}{draw(SPACES)}:{draw(spelt(v))}"
            for k, v in value.items()
        ]
        text = "{" + ",".join(f"{draw(SPACES)}{item}" for item in items) + draw(SPACES) + "}"
    elif isinstance(value, list):
        text = "[" + ",".join(draw(spelt(item)) for item in value) + draw(SPACES) + "]"
    elif isinstance(value, float):
        forms = [json.dumps(value)]
        if value == value and abs(value) != float("inf"):
            forms += [f"{value:.20e}", f"{value:.17E}"]
        text = draw(st.sampled_from(forms))
    else:
        text = json.dumps(value)
    return f"{draw(SPACES)}{text}{draw(SPACES)}"


@st.composite
def spelt_string(draw: st.DrawFn, value: str, *, halves: bool = True) -> str:
    parts = []
    for char in value:
        forms = [escaped_units(char), escaped_units(char).upper().replace("\\U", "\\u")]
        if char in SHORT:
            forms.append(SHORT[char])
        if char not in '"\\' and char >= " ":
            forms.append(char)
        parts.append(draw(st.sampled_from(forms)))
    # Halves of pairs, which Python reads as lone surrogates or joins. Keys could become equal.
    if halves:
        lone = st.sampled_from(["\\ud83d", "\\uDE00", "\\udbff\\udfff"])
        parts += draw(st.lists(lone, max_size=2))
    return '"' + "".join(parts) + '"'


texts = values.flatmap(spelt)


def expected(text: str) -> str:
    """What ``json`` gives; a lone surrogate as its escape, which no UTF-8 text can hold."""
    written = json.dumps(json.loads(text), ensure_ascii=False)
    return LONE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", written)


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    """The text in pieces; some are empty."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def joined(pieces: list[str]) -> str:
    style = JsonStyle()
    return "".join([style.feed(piece) for piece in pieces] + [style.finish()])


class TestWhole:
    @settings(deadline=None)
    @given(st.data())
    def test_joined_pieces_equal_json_whatever_the_cuts(self, data: st.DataObject) -> None:
        text = data.draw(texts)
        assert joined(data.draw(cut(text))) == expected(text)
        assert joined(list(text)) == expected(text)
        assert json_styled(text) == expected(text)

    @settings(deadline=None)
    @given(values)
    def test_text_in_the_style_stays_as_it_is(self, value: Any) -> None:
        text = json.dumps(value, ensure_ascii=False)
        assert json_styled(text) == text

    def test_deep_nesting_does_not_recurse(self) -> None:
        deep = 50 * sys.getrecursionlimit()
        text = "[ " * deep + "] " * deep
        assert json_styled(text) == "[" * deep + "]" * deep

    def test_key_that_stands_twice_is_given_twice(self) -> None:
        assert json_styled('{"a":1,"a":2}') == '{"a": 1, "a": 2}'


class TestPieces:
    @pytest.mark.parametrize(
        ("pieces", "given_out"),
        [
            (['{\n  "ci', 'ty" ', ': "Par', 'is"', "\n}"], ['{"ci', 'ty"', ': "Par', 'is"', "}"]),
            (["[1", "0 ", ",2]"], ["[", "10", ", 2]"]),
            (["[1", "e2", "]"], ["[", "", "100.0]"]),
            (["[-", "0", "]"], ["[", "", "0]"]),
            (["[tr", "ue", "]"], ["[", "true", "]"]),
            (['"a\\', "u00e", '9b"'], ['"a', "", 'éb"']),
            (['"\\ud83d', "\\ude", '00"'], ['"', "", '😀"']),
            (['"\\ud83d', 'x"'], ['"', '\\ud83dx"']),
            (['"\\ud83d\\', 'n"'], ['"', '\\ud83d\\n"']),
        ],
    )
    def test_piece_gives_out_all_that_is_decided(
        self, pieces: list[str], given_out: list[str]
    ) -> None:
        style = JsonStyle()
        assert [style.feed(piece) for piece in pieces] == given_out
        assert style.finish() == ""
        assert style.complete

    @settings(deadline=None)
    @given(st.data())
    def test_string_is_held_by_an_open_escape_only(self, data: st.DataObject) -> None:
        text = data.draw(st.text(st.characters(blacklist_characters='"\\', min_codepoint=32)))
        style = JsonStyle()
        assert style.feed('"' + text) == '"' + text
        assert not style.held


class TestCut:
    @settings(deadline=None)
    @given(st.data())
    def test_cut_text_loses_nothing(self, data: st.DataObject) -> None:
        """What was given out and the rest of the text are together the same document."""
        text = data.draw(texts)
        place = data.draw(st.integers(0, len(text)))
        rest = text[place:]
        style = JsonStyle()
        start = style.feed(text[:place]) + style.finish()
        if style.complete and rest.strip() and not start.endswith(('"', "]", "}")):
            return  # a bare number that looked whole was written anew; arguments are objects
        # NaN is not equal to itself, its text is.
        assert json.dumps(json.loads(start + rest)) == json.dumps(json.loads(text))

    @pytest.mark.parametrize(
        ("text", "given_out"),
        [
            ('{"a":1', '{"a":1'),
            ('{"a":1.', '{"a":1.'),
            ('{"a":[1,20 ,', '{"a": [1, 20,'),
            ('{"a":"b\\u00', '{"a": "b\\u00'),
            ('{"a":"\\ud83d', '{"a": "\\ud83d'),
            ('{"a":tr', '{"a":tr'),
            ('{"a" :\n', '{"a":\n'),
        ],
    )
    def test_held_text_is_given_as_it_is(self, text: str, given_out: str) -> None:
        assert joined(list(text)) == joined([text]) == given_out
        assert json_styled(text) == text


class TestNotJson:
    @pytest.mark.parametrize(
        ("text", "given_out"),
        [
            ("hello  world", "hello  world"),
            ("city = 'Paris'", "city = 'Paris'"),
            ('{"a":1,\n}  x', '{"a": 1,\n}  x'),
            ('{"a":1}, "id": 5}', '{"a": 1}, "id": 5}'),
            ('{"a" :  01 }', '{"a":  01 }'),
            ("[-01]", "[-01]"),
            ("[1.x]", "[1.x]"),
            ("[1,truex ]", "[1, truex ]"),
            ('["a\\x", 1,2]', '["a\\x", 1,2]'),
            ('["a\tb",1,2]', '["a\tb",1,2]'),
            ("[1 ,]", "[1,]"),
            ("{a:1}", "{a:1}"),
            ('{"a" 1}', '{"a" 1}'),
            ("[1 2]", "[1 2]"),
            ("", ""),
            ("\ufeff{ }", "\ufeff{ }"),
        ],
    )
    def test_rest_passes_as_it_is(self, text: str, given_out: str) -> None:
        assert joined(list(text)) == joined([text]) == given_out
        assert json_styled(text) == text

    def test_number_with_more_digits_than_python_converts_stays(self) -> None:
        number = "1" * (sys.get_int_max_str_digits() + 1)
        assert joined([f"[{number}", " , 2]"]) == f"[{number} , 2]"

    @settings(deadline=None)
    @given(st.data())
    def test_text_is_complete_exactly_if_json_reads_it(self, data: st.DataObject) -> None:
        text = data.draw(texts)
        at = data.draw(st.integers(0, len(text)))
        inserted = data.draw(st.text('{}[]",:\\ue01-.tnI x\n\x01', max_size=2))
        text = text[:at] + inserted + text[at + data.draw(st.integers(0, 2)) :]
        style = JsonStyle()
        out = "".join([style.feed(char) for char in text] + [style.finish()])
        try:
            document = json.loads(text)
        except ValueError:
            assert not style.complete
            assert json_styled(text) == text
        else:
            assert style.complete
            # A key may stand twice now.
            assert json.dumps(json.loads(out)) == json.dumps(document)

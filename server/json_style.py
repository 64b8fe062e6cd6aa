"""JSON text in Python's own style, piece by piece.

A model spaces and escapes JSON as it likes. ``JsonStyle`` rewrites such a text while it arrives and
gives what ``json.dumps(json.loads(text), ensure_ascii=False)`` gives for the whole of it, so that a
streamed text, joined, equals one that was parsed and written anew.

It is a scanner with a stack of open containers. What is decided is given out at once; what is not
yet decided (a number that may go on, half an escape, the first half of a surrogate pair, white
space that matters only if the text turns out not to be JSON) is held. A text that turns out not to
be JSON keeps, from that place on, every character as it is.

Two differences to ``json``: a key that stands twice in an object is given twice (the first is gone
out before the second is seen), and a lone surrogate stays an escape, as UTF-8 cannot carry it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

__all__ = ["JsonStyle", "json_styled"]

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
# The beginning of a number, or a whole one, up to the end of what has arrived.
_OPEN_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:(?<=[0-9])[eE][-+]?[0-9]*)?)?\Z")
_AFTER_NUMBER = " \t\n\r,]}"
# The last three are no JSON, but Python reads and writes them.
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")

_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
# Half an escape, or the first of a pair that may still become one.
_OPEN_ESCAPE = re.compile(
    r"(?:\\(?:u[0-9a-fA-F]{0,3})?"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?)\Z"
)
_LONE = re.compile("[\ud800-\udfff]")


class JsonStyle:
    """One JSON text; feed it in pieces, then finish it.

    The pieces may be cut anywhere. What is held is at most one number, literal or escape with the
    white space before it.
    """

    def __init__(self) -> None:
        self._text = ""  # what is held
        self._out: list[str] = []
        self._open: list[str] = []  # the closing brackets that are due
        self._gap = ""  # the space that is due before the next token
        self._string_then: Callable[[int], int] = self._after
        self._step: Callable[[int], int] = self._value

    @property
    def held(self) -> bool:
        """Whether ``finish`` may have something to give."""
        return bool(self._text)

    @property
    def complete(self) -> bool:
        """Whether the text so far is one whole JSON document."""
        return self._step == self._end

    def feed(self, piece: str) -> str:
        """What can be given out now that ``piece`` has arrived; may be empty."""
        text = self._text = self._text + piece
        at = 0
        while at < len(text):
            reached = self._step(at)
            if reached < 0:
                break
            at = reached
        self._text = text[at:]
        return self._taken()

    def finish(self) -> str:
        """What was held, now that nothing follows.

        A text that was cut keeps what was held as it is.
        """
        rest, self._text = self._text, ""
        if self._step == self._value and not self._open:
            number = rest.strip(" \t\n\r")
            if _NUMBER.fullmatch(number) and self._number(number):
                rest = ""
        elif self.complete:
            rest = ""
        return self._taken() + rest

    def _taken(self) -> str:
        out = "".join(self._out)
        self._out.clear()
        return out

    # Each step looks at the text from a place and returns the place up to which it is done, or -1
    # if more has to arrive. It leaves the next step in ``_step``.

    def _token(self, at: int) -> tuple[int, str]:
        """The place and first character of the next token; no character if there is none yet."""
        found = _SPACE.match(self._text, at)
        assert found is not None
        return found.end(), self._text[found.end() : found.end() + 1]

    def _give(self, token: str, then: Callable[[int], int], gap: str = "") -> None:
        self._out += (self._gap, token)
        self._gap = gap
        self._step = then

    def _raw(self, at: int) -> int:
        """The text is not JSON: all that follows stays as it is."""
        self._step = self._raw
        self._out.append(self._text[at:])
        return len(self._text)

    def _value(self, at: int) -> int:
        start, first = self._token(at)
        if first == "{":
            self._open.append("}")
            self._give(first, self._first_key)
        elif first == "[":
            self._open.append("]")
            self._give(first, self._first_item)
        elif first == '"':
            self._string_then = self._after_value()
            self._give(first, self._string)
        else:
            return self._scalar(at, start) if first else -1
        return start + 1

    def _scalar(self, at: int, start: int) -> int:
        text = self._text
        for literal in _LITERALS:
            if text.startswith(literal, start):
                self._give(literal, self._after_value())
                return start + len(literal)
            if literal.startswith(text[start : start + len(literal)]):
                return -1
        if _OPEN_NUMBER.match(text, start):
            return -1
        found = _NUMBER.match(text, start)
        if found and text[found.end()] in _AFTER_NUMBER and self._number(found[0]):
            return found.end()
        return self._raw(at)

    def _number(self, number: str) -> bool:
        try:
            written = json.dumps(json.loads(number))
        except ValueError:  # more digits than Python converts
            return False
        self._give(written, self._after_value())
        return True

    def _after_value(self) -> Callable[[int], int]:
        return self._after if self._open else self._end

    def _first_item(self, at: int) -> int:
        start, first = self._token(at)
        return self._close(start) if first == "]" else self._value(at)

    def _first_key(self, at: int) -> int:
        start, first = self._token(at)
        return self._close(start) if first == "}" else self._key(at)

    def _key(self, at: int) -> int:
        start, first = self._token(at)
        if first != '"':
            return self._raw(at) if first else -1
        self._string_then = self._colon
        self._give(first, self._string)
        return start + 1

    def _colon(self, at: int) -> int:
        start, first = self._token(at)
        if first != ":":
            return self._raw(at) if first else -1
        self._give(first, self._value, gap=" ")
        return start + 1

    def _after(self, at: int) -> int:
        start, first = self._token(at)
        if first == ",":
            self._give(first, self._key if self._open[-1] == "}" else self._value, gap=" ")
            return start + 1
        if first == self._open[-1]:
            return self._close(start)
        return self._raw(at) if first else -1

    def _close(self, at: int) -> int:
        bracket = self._open.pop()
        self._give(bracket, self._after_value())
        return at + 1

    def _end(self, at: int) -> int:
        return self._raw(at) if self._token(at)[1] else -1

    def _string(self, at: int) -> int:
        text = self._text
        if plain := _PLAIN.match(text, at):
            self._out.append(plain[0])
            return plain.end()
        if text[at] == '"':
            self._give('"', self._string_then)
            return at + 1
        escape = _PAIR.match(text, at)
        if escape is None and _OPEN_ESCAPE.match(text, at):
            return -1
        escape = escape or _ESCAPE.match(text, at)
        if escape is None:  # a control character, or no known escape
            return self._raw(at)
        self._out.append(_escaped(escape[0]))
        return escape.end()


def _escaped(escape: str) -> str:
    """An escape as ``json`` writes its character."""
    written = json.dumps(json.loads(f'"{escape}"'), ensure_ascii=False)[1:-1]
    return _LONE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", written)


def json_styled(text: str) -> str:
    """A whole text in the style; as it is, if it is not JSON."""
    style = JsonStyle()
    written = style.feed(text) + style.finish()
    return written if style.complete else text

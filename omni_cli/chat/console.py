"""The person's side of a session: the prompt, and the terminal's state while an answer streams.

Whatever happens, the terminal is left as it was found: the prompt restores it by itself, and around
an answer it is restored in a ``finally`` that SIGTERM and SIGHUP reach as well.
"""

from __future__ import annotations

import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from omni_cli.terminal import Stream

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

__all__ = ["Prompt", "Reader", "ended_by_signals", "stoppable"]

# A terminal then says where a pasted text begins and ends; the prompt asks for it by itself.
MARK_PASTES, LEAVE_PASTES = "\x1b[?2004h", "\x1b[?2004l"


class Reader(Protocol):
    """Where questions come from."""

    def read(self) -> str | None:
        """The next question, which may have several lines, or None when the person leaves."""


class Prompt:
    """A prompt with line editing and history.

    A pasted text is one message, however many lines it has (bracketed paste); Enter sends,
    Alt-Enter starts a new line. Ctrl-C empties the line, and leaves if it is empty; so does Ctrl-D.
    """

    def __init__(self) -> None:
        from prompt_toolkit import PromptSession  # noqa: PLC0415 - late, with what follows
        from prompt_toolkit.history import InMemoryHistory  # noqa: PLC0415

        self._session: PromptSession[str] = PromptSession(
            "> ",
            history=InMemoryHistory(),
            key_bindings=_bindings(),
            prompt_continuation="  ",
            enable_suspend=True,
            reserve_space_for_menu=0,  # there is no menu; the default scrolls eight lines away
        )

    def read(self) -> str | None:
        try:
            return self._session.prompt()
        except EOFError:
            return None


@contextmanager
def stoppable(out: Stream) -> Iterator[None]:
    """Within, the first Ctrl-C raises KeyboardInterrupt; more of them cannot cut the cleaning up
    short.

    What is typed meanwhile is not echoed into the answer; it stands at the next prompt, and a text
    pasted meanwhile is one message there as well.

    Args:
        out: The terminal.
    """

    def stop(_: int, __: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, stop)
    try:
        with _kept_for_later(out):
            yield
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP raise SystemExit, so that every ``finally`` runs."""

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _kept_for_later(out: Stream) -> Iterator[None]:
    """Within, the terminal keeps what is typed for whoever reads next, and shows none of it."""
    descriptor = sys.stdin.fileno()
    found = termios.tcgetattr(descriptor)
    quiet = [*found]
    # Without ICANON it holds a long paste back when it is full; with it, it would drop the end
    quiet[3] = found[3] & ~(termios.ECHO | termios.ICANON)
    try:
        termios.tcsetattr(descriptor, termios.TCSANOW, quiet)
        if out.moves:
            out.write(MARK_PASTES)
        yield
    finally:
        if out.moves:
            out.write(LEAVE_PASTES)
        termios.tcsetattr(descriptor, termios.TCSANOW, found)


def _bindings() -> Any:
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent  # noqa: PLC0415 - late

    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @bindings.add("c-c")
    def _empty_or_leave(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=EOFError)

    return bindings

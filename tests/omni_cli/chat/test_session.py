"""A session on a real terminal: typed, pasted, stopped, and the terminal left as it was found."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.omni_cli.conftest import COMMAND, DEADLINE_S, Reply, Screen

if TYPE_CHECKING:
    from tests.omni_cli.conftest import ScriptedServer

LEFT = "left with"


class Session:
    """`omni chat` in a shell; stty and tmux are asked about the terminal before and after."""

    def __init__(self, screen: Screen, folder: Path, server: ScriptedServer) -> None:
        self.screen = screen
        self.server = server
        self._folder = folder
        self.before = self._state("before")
        flags = " --url " + server.url
        self.screen.type("clear; " + " ".join(COMMAND) + " chat" + flags + "; echo 'left with' $?")
        self.screen.wait_for("Ctrl-D leaves\n> ")

    def _state(self, name: str) -> tuple[str, dict[str, str]]:
        path = self._folder / name
        self.screen.type(f"stty -a > {path}; echo {name} noted")
        self.screen.wait_for(f"\n{name} noted")
        return path.read_text(), self.screen.flags()

    def left(self, code: int = 0) -> str:
        """Wait for the shell, compare the terminal's state, and give what was on the screen."""
        shown = self.screen.wait_for(f"{LEFT} {code}")
        assert self._state("after") == self.before
        return shown

    def questions(self) -> list[list[str]]:
        return [[m["content"] for m in asked["messages"]] for asked in self.server.asked]


class Held(list[bytes]):
    """Pieces of an answer; those after the first wait for ``go``."""

    def __init__(self, pieces: list[bytes]) -> None:
        super().__init__(pieces)
        self.go = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        for number in range(len(self)):
            if number:
                self.go.wait(DEADLINE_S)
            yield self[number]


@pytest.fixture
def session(screen: Screen, tmp_path: Path, server: ScriptedServer) -> Session:
    return Session(screen, tmp_path, server)


class TestConversation:
    def test_history_is_sent_each_time(self, session: Session) -> None:
        session.server.enqueue(Reply.answer("Hi ", "there"), Reply.answer("Fine"))
        session.screen.type("hello")
        session.screen.wait_for("Hi there\n> ")
        session.screen.type("and you?")
        session.screen.wait_for("Fine\n> ")
        session.screen.press("C-d")
        shown = session.left()
        assert session.questions() == [["hello"], ["hello", "Hi there", "and you?"]]
        body = shown[shown.index("tiny at") :]
        assert body.split("\n")[:6] == [
            f"tiny at {session.server.url}; /help lists the commands, Ctrl-D leaves",
            "> hello",
            "Hi there",
            "> and you?",
            "Fine",
            ">",
        ]

    def test_pasted_lines_are_one_message(self, session: Session) -> None:
        session.server.enqueue(Reply.answer("Read"))
        session.screen.paste("def f():\n    return 1\n\nprint(f())")
        session.screen.wait_for("print(f())")
        session.screen.press("Enter")
        session.screen.wait_for("Read\n> ")
        session.screen.press("C-d")
        session.left()
        assert session.questions() == [["def f():\n    return 1\n\nprint(f())"]]

    def test_commands(self, session: Session) -> None:
        server, screen = session.server, session.screen
        server.enqueue(*(Reply.answer(f"answer {n}") for n in range(5)))
        screen.type("/system Be brief")
        screen.wait_for("system prompt: Be brief\n> ")
        for number, text in enumerate(["one", "/retry", "two"]):
            screen.type(text)
            screen.wait_for(f"answer {number}\n> ")
        screen.type("/clear")
        screen.wait_for("the conversation is forgotten\n> ")
        screen.type("//slash")
        screen.wait_for("answer 3\n> ")
        screen.type("/sytem x")
        screen.wait_for("error: no such command: /sytem; did you mean /system?\n> ")
        screen.type("/system -")
        screen.wait_for("no system prompt\n> ")
        screen.type("/usr/bin is a path")
        screen.wait_for("answer 4\n> ")
        screen.type("/exit")
        session.left()
        assert session.questions() == [
            ["Be brief", "one"],
            ["Be brief", "one"],
            ["Be brief", "one", "answer 1", "two"],
            ["Be brief", "/slash"],
            ["/slash", "answer 3", "/usr/bin is a path"],
        ]

    def test_model_and_stats(self, session: Session) -> None:
        server, screen = session.server, session.screen
        server.models = Reply.json({"data": [{"id": "tiny"}, {"id": "large"}]})
        server.enqueue(Reply.answer("answer"))
        screen.type("/model")
        screen.wait_for("served: tiny (this one), large\n> ")
        screen.type("/model huge")
        screen.wait_for("error: model huge is not served; served: tiny, large\n> ")
        screen.type("/model large")
        screen.wait_for("talking to large from here on\n> ")
        screen.type("/stats")
        screen.wait_for("stats are on\n> ")
        screen.type("hello")
        screen.wait_for("answer\nstats: first token")
        screen.press("C-d")
        session.left()
        assert server.asked[0]["model"] == "large"


class TestStopping:
    def test_ctrl_c_stops_the_answer_and_keeps_the_session(self, session: Session) -> None:
        server, screen = session.server, session.screen
        server.enqueue(Reply.answer("partial", end="hang"), Reply.answer("whole"))
        screen.type("hello")
        screen.wait_for("partial")
        screen.press("C-c")
        assert server.client_left.wait(DEADLINE_S)
        screen.wait_for("partial\nstopped\n> ")
        screen.type("go on")
        screen.wait_for("whole\n> ")
        screen.press("C-c")
        session.left()
        assert session.questions() == [["hello"], ["hello", "partial", "go on"]]

    def test_ctrl_c_before_the_first_word_and_retry(self, session: Session) -> None:
        server, screen = session.server, session.screen
        server.enqueue(Reply.answer(end="hang"), Reply.answer("whole"))
        screen.type("hello")
        while not server.asked:
            screen.text()
        screen.press("C-c")
        screen.wait_for("stopped before the first word\n> ")
        screen.type("/retry")
        screen.wait_for("whole\n> ")
        screen.press("C-d")
        session.left()
        assert session.questions() == [["hello"], ["hello"]]

    def test_ctrl_c_empties_a_line_first(self, session: Session) -> None:
        session.screen.press("h", "a", "l", "f")
        session.screen.wait_for("> half")
        session.screen.press("C-c")
        session.screen.press("C-c")
        session.left()
        assert session.questions() == []

    def test_typing_ahead_does_not_disturb_the_answer(self, session: Session) -> None:
        server, screen = session.server, session.screen
        server.enqueue(Reply.answer("partial", end="hang"))
        screen.type("hello")
        screen.wait_for("partial")
        screen.press("n", "e", "x", "t")
        screen.press("C-c")
        screen.wait_for("partial\nstopped\n> ")
        assert "partialnext" not in screen.text()
        screen.press("C-c", "C-c")
        session.left()

    @pytest.mark.parametrize("words", [2, 1500])
    def test_text_pasted_during_an_answer_is_one_message(
        self, session: Session, words: int
    ) -> None:
        server, screen = session.server, session.screen
        first = Held(Reply.answer("partial", " and whole").pieces)
        server.enqueue(Reply(first), Reply.answer("read"))
        screen.type("hello")
        screen.wait_for("partial")
        # 1500 words are more than the kernel keeps of one line that nobody reads
        pasted = f"{'word ' * words}\nand the end"
        screen.paste(pasted)
        first.go.set()
        screen.wait_for("and the end")
        screen.press("Enter")
        screen.wait_for("read\n> ")
        assert session.questions()[-1][-1] == pasted
        screen.press("C-d")
        session.left()

    @pytest.mark.parametrize("answering", [False, True])
    def test_sigterm_leaves_a_clean_terminal(self, session: Session, answering: bool) -> None:
        if answering:
            session.server.enqueue(Reply.answer("partial", end="hang"))
            session.screen.type("hello")
            session.screen.wait_for("partial")
        os.kill(session.screen.child(), signal.SIGTERM)
        session.left(128 + signal.SIGTERM)

    def test_an_error_keeps_the_session(self, session: Session) -> None:
        server, screen = session.server, session.screen
        server.enqueue(Reply.answer("partial", end="cut"), Reply.answer("whole"))
        screen.type("hello")
        screen.wait_for("partial\nerror: ", "the stream ended early")
        screen.type("/retry")
        screen.wait_for("whole\n> ")
        screen.press("C-d")
        session.left()


class TestScreen:
    def test_markdown_is_rendered_and_nothing_lost(self, session: Session) -> None:
        text = "# Title\n\nSome **bold** and `code`.\n\n1. one\n\n2. two\n\n"
        text += "```py\nx = 1\n\ny = 2\n```\n\nEnd."
        session.server.enqueue(Reply.answer(*text))
        session.screen.type("hello")
        shown = session.screen.wait_for("End.\n> ")
        session.screen.press("C-d")
        session.left()
        assert "**" not in shown
        assert "```" not in shown
        for word in ("Title", "Some bold and code.", "one", "two", "x = 1", "y = 2", "End."):
            assert shown.count(word) == 1, word

    def test_answer_longer_than_the_screen(self, session: Session) -> None:
        lines = [f"row {number:03} " + "x" * (number % 100) for number in range(60)]
        block = "```\n" + "\n".join(lines) + "\n```"
        session.server.enqueue(Reply.answer(*f"Before.\n\n{block}\n\n**After**.".splitlines(True)))
        session.screen.type("hello")
        shown = session.screen.wait_for("After.\n> ")
        session.screen.press("C-d")
        session.left()
        assert [shown.count(f"row {number:03}") for number in range(60)] == [1] * 60
        assert shown.count("Before.") == 1

    def test_model_cannot_command_the_terminal(self, session: Session) -> None:
        session.server.enqueue(Reply.answer("a\x1b[2J\x1b]0;title\x07b", "\x9b31m", "\u202ec"))
        session.screen.type("hello")
        session.screen.wait_for("a\u241b[2J\u241b]0;title\u2407b<U+009B>31m<U+202E>c\n> ")
        session.screen.press("C-d")
        session.left()


class TestOneQuestion:
    """`omni chat MESSAGE` typed at a terminal."""

    def run(self, screen: Screen, server: ScriptedServer) -> None:
        screen.type(
            "clear; " + " ".join(COMMAND) + f" chat hello --url {server.url}; echo '{LEFT}' $?"
        )

    def test_the_answer_is_rendered(self, screen: Screen, server: ScriptedServer) -> None:
        server.enqueue(Reply.answer(*"A **bold** answer."))
        self.run(screen, server)
        assert "A bold answer.\nleft with 0" in screen.wait_for(f"{LEFT} 0")

    def test_ctrl_c_ends_it(self, screen: Screen, server: ScriptedServer) -> None:
        server.enqueue(Reply.answer("partial", end="hang"))
        self.run(screen, server)
        screen.wait_for("partial")
        screen.press("C-c")
        screen.wait_for(f"\n{LEFT} 130")
        assert server.client_left.wait(DEADLINE_S)

    def test_a_server_that_starts_is_waited_for(
        self, screen: Screen, server: ScriptedServer
    ) -> None:
        busy = Reply.json({"error": {"message": "starting"}}, 503, retry_after="1")
        server.before = [busy, busy]
        phase = {"name": "load weights", "state": "running", "elapsed_s": 3.2}
        server.startup = {"phases": [phase]}
        server.enqueue(Reply.answer("Hi"))
        self.run(screen, server)
        screen.wait_for("is not ready yet: load weights, 3 s")
        shown = screen.wait_for(f"Hi\n{LEFT} 0")
        assert "not ready" not in shown

"""A person's session: `omni serve` in one window of a real terminal, `omni chat` in others. Keys
are typed, and what then stands on the screen is compared.

The server is started by being typed, once for the whole file, and stopped by Ctrl-C in its last
test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from omni_cli.chat.repl import HELP
from tests.e2e.panes import PROMPT, Pane, Tmux
from tests.e2e.serving import CHAT_MODEL, READY_TIMEOUT_S, STOP_TIMEOUT_S

ANSWER_TIMEOUT_S = 60.0  # of one answer of at most LONG tokens, on a busy machine
SHORT, LONG = 24, 100  # tokens; the bundled model makes some 20 in a second
STORY = "Tell me a long story about a cat."
# What only a terminal that was written to wrongly shows: escapes as text, control characters.
GARBAGE = re.compile(r"\x1b|\^\[|\[[0-9;]*m|\[\?\d|[\x00-\x08\x0b-\x1f\x7f]")

pytestmark = pytest.mark.engine


@dataclass
class Session:
    """The windows.

    Attributes:
        serve: Where the server runs.
        early: Where `omni chat` was typed before the server was ready.
        url: The server's address.
        seen: Different screens of ``serve`` and ``early``, from the start to ready.
    """

    tmux: Tmux
    serve: Pane
    early: Pane
    url: str
    seen: list[tuple[str, str]]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, bundled_models: None) -> Iterator[Session]:
    tmux = Tmux(tmp_path_factory.mktemp("terminal"))
    serve, early = tmux.pane(), tmux.pane()
    try:
        serve.type("omni serve --port 0 --max-model-len 2048")
        url = re.findall(r"http://\S+", serve.wait_for("http://127.0.0.1:"))[0]
        early.type(f"omni chat --url {url}")
        seen: list[tuple[str, str]] = []

        def ready(screen: str) -> bool:
            if (screens := (screen, early.text())) not in seen:
                seen.append(screens)
            return "Ctrl-C" in screen or "error:" in screen

        serve.wait(ready, "ready", READY_TIMEOUT_S)
        yield Session(tmux, serve, early, url, seen)
    finally:
        tmux.close()  # hangs up whatever still runs


Talk = Callable[..., Pane]


@pytest.fixture
def talk(session: Session) -> Iterator[Talk]:
    """Open a window, type `omni chat` in it, and give it once the prompt is there."""
    opened: list[Pane] = []

    def open_one(tokens: int) -> Pane:
        pane = session.tmux.pane()
        opened.append(pane)
        pane.type(f"omni chat --url {session.url} --max-tokens {tokens} --temperature 0")
        pane.wait_for("Ctrl-D leaves\n>")
        return pane

    yield open_one
    for pane in opened:
        pane.close()


def ask(pane: Pane, question: str) -> list[str]:
    """Type a question, wait for the next prompt, and give what was seen of the answer meanwhile."""
    pane.call("send-keys", "-l", question)
    return answers(pane, "Enter", f"> {question}")


def answers(pane: Pane, key: str, last: str) -> list[str]:
    """Press a key that sends, and give what was seen of the answer until the next prompt.

    Args:
        last: The line that the answer comes below.
    """
    seen = [""]

    def answered(screen: str) -> bool:
        _, found, answer = screen.rpartition(f"{last}\n")
        if found and answer != seen[-1]:
            seen.append(answer)
        return bool(found) and answer.endswith("\n>")

    pane.press(key)
    pane.wait(answered, f"an answer to {last!r}", ANSWER_TIMEOUT_S)
    return [answer for answer in seen if answer.strip()]


def streams(pane: Pane, question: str) -> None:
    """Type a question and wait until some of its answer is there."""

    def begun(screen: str) -> bool:
        _, found, answer = screen.rpartition(f"> {question}\n")
        return bool(found) and len(answer) > 20

    pane.type(question)
    pane.wait(begun, "the first words", ANSWER_TIMEOUT_S)


def lines(screen: str) -> list[str]:
    return [line.rstrip() for line in screen.split("\n")]


def at_prompt(pane: Pane) -> bool:
    return pane.cursor() == (len("> "), ">")


def test_start_says_how_far_it_is_and_what_to_do_next(session: Session) -> None:
    waiting = [serve for serve, _ in session.seen[:-1]]
    told = [line for screen in waiting for line in lines(screen) if line.startswith("loading ")]
    assert len(set(told)) > 2, waiting
    assert all(re.fullmatch(r"loading [a-z].* \d+ s", line) for line in told)
    # Each replaces the one before, and the last leaves nothing behind
    assert all(screen.count("loading") <= 1 for screen in waiting)
    shown = re.sub(r"after [\d.]+ s", "after N s", session.serve.text())
    assert lines(shown) == [
        f"{PROMPT}omni serve --port 0 --max-model-len 2048",
        f"starting {CHAT_MODEL} at {session.url}",
        f"ready after N s at {session.url}",
        f"  model  {CHAT_MODEL}",
        f"  chat   omni chat --url {session.url}   (in another terminal)",
        f"  API    {session.url}/v1   (described at {session.url}/docs)",
        "  stop   Ctrl-C",
    ]


def test_chat_that_is_early_waits_for_the_server(session: Session) -> None:
    told = [line for _, screen in session.seen for line in lines(screen) if "not ready" in line]
    assert told
    assert all(line.startswith(f"{session.url} is not ready yet: ") for line in told)
    assert lines(session.early.wait_for("Ctrl-D leaves\n>")) == [
        f"{PROMPT}omni chat --url {session.url}",
        f"{CHAT_MODEL} at {session.url}; /help lists the commands, Ctrl-D leaves",
        ">",
    ]
    session.early.press("C-d")
    session.early.wait(lambda screen: screen.endswith(f"\n{PROMPT.strip()}"), "the shell")


def test_conversation_from_the_first_question_to_the_shell(talk: Talk) -> None:
    pane = talk(SHORT)
    first = ask(pane, "Write one sentence about the sea.")
    assert len(first) > 2, "the answer came in one piece"
    ask(pane, "/help")
    pane.paste("Here is a list:\n- one\n- two\nRead it to me.")
    pane.wait_for("\n  Read it to me.")
    pasted = answers(pane, "Enter", "  Read it to me.")
    pane.press("Up")
    pane.wait_for("\n  Read it to me.", times=2)
    pane.press("C-c")
    pane.wait(lambda _: at_prompt(pane), "an empty prompt")
    pane.press("C-d")
    shown = pane.wait(lambda screen: screen.endswith(f"\n{PROMPT.strip()}"), "the shell")
    assert GARBAGE.search(shown) is None
    assert lines(shown)[2:] == [
        "> Write one sentence about the sea.",
        *lines(first[-1])[:-1],
        "> /help",
        *HELP.splitlines(),
        "> Here is a list:",
        "  - one",
        "  - two",
        "  Read it to me.",
        *lines(pasted[-1])[:-1],
        ">",
        PROMPT.strip(),
    ]


def test_terminal_is_left_as_it_was_found(talk: Talk, session: Session, tmp_path: Path) -> None:
    pane = session.tmux.pane()
    states = []
    for name in ("before", "after"):
        if name == "after":
            pane.type(f"omni chat --url {session.url} --max-tokens {LONG}")
            pane.wait_for("Ctrl-D leaves\n>")
            streams(pane, STORY)
            pane.press("C-c")
            pane.wait_for("\nstopped\n>")
            pane.press("C-d")
            pane.wait(lambda screen: screen.endswith(f"\n{PROMPT.strip()}"), "the shell")
        pane.type(f"stty -a >{tmp_path / name}; echo {name} $?")
        pane.wait_for(f"\n{name} 0\n")
        states.append((pane.modes(), (tmp_path / name).read_text()))
    pane.close()
    assert states[0] == states[1]


def test_ctrl_c_stops_an_answer_and_the_next_one_comes(talk: Talk) -> None:
    pane = talk(LONG)
    streams(pane, STORY)
    pane.press("C-c")
    stopped = pane.wait_for("\nstopped\n>", timeout_s=ANSWER_TIMEOUT_S)
    assert at_prompt(pane)
    assert "^C" not in stopped
    assert ask(pane, "/stats")[-1] == "stats are on\n>"
    assert re.search(r"stats: first token [\d.]+ s, \d+ tokens", ask(pane, "Say hello.")[-1])


def test_window_may_change_its_size_while_an_answer_comes(talk: Talk) -> None:
    pane = talk(LONG)
    streams(pane, STORY)
    for columns, rows in ((50, 16), (120, 40), (70, 20)):
        grown = len(pane.text()) + 20
        pane.resize(columns, rows)
        pane.wait(
            lambda screen, grown=grown: len(screen) > grown or screen.endswith("\n>"),
            "more of the answer",
            ANSWER_TIMEOUT_S,
        )
    shown = pane.wait(lambda screen: screen.endswith("\n>"), "its end", ANSWER_TIMEOUT_S)
    assert at_prompt(pane)
    assert GARBAGE.search(shown) is None
    answer = " ".join(shown.rpartition(f"> {STORY}\n")[2].split())
    assert answer.count(answer[:40]) == 1  # nothing was drawn a second time
    assert shown.count(STORY) == 1


def test_ctrl_c_ends_the_server_once_the_answers_are_done(session: Session, talk: Talk) -> None:
    pane = talk(2 * SHORT)
    family = session.serve.processes()
    assert len(family) > 2
    streams(pane, STORY)
    session.serve.press("C-c")
    session.serve.wait_for("\nstopping: running requests may finish; Ctrl-C again ends at once")
    answer = pane.wait(lambda screen: screen.endswith("\n>"), "its end", ANSWER_TIMEOUT_S)
    assert "error" not in answer
    session.serve.wait(
        lambda screen: screen.endswith(f"at once\n{PROMPT.strip()}"), "the shell", STOP_TIMEOUT_S
    )
    session.serve.type("echo $?")
    session.serve.wait_for(f"{PROMPT}echo $?\n130\n")
    assert [process for process in family if process.is_running() and alive(process)] == []
    assert ask(pane, "Are you there?")[-1].startswith("error: ")
    assert "no server there (connection refused)" in pane.text()
    pane.press("C-d")
    pane.wait(lambda screen: screen.endswith(f"\n{PROMPT.strip()}"), "the shell")


def alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False

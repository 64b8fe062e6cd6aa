"""The session: questions, answers and the commands that start with a slash."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches

from engine_bridge.errors import ClientError
from omni_cli.chat.client import ChatClient
from omni_cli.chat.console import Reader, stoppable
from omni_cli.chat.conversation import Conversation
from omni_cli.chat.rendering import answer_writer
from omni_cli.chat.turn import run_turn
from omni_cli.client.answer import Answer, Sampling
from omni_cli.client.summary import ending_note, stats_line
from omni_cli.terminal import Terminal, escape

__all__ = ["HELP", "Repl"]

HELP = """\
/system [TEXT]  show the system prompt, or set it (/system - removes it)
/model [NAME]   show the served models, or talk to another one
/retry          take the last answer back and ask again
/clear          forget the conversation; the system prompt stays
/stats          show the speed of each answer, or stop showing it
/exit           leave, as Ctrl-D does
Enter sends, Alt-Enter starts a new line, a pasted text is one message.
Ctrl-C stops an answer, empties a line, and leaves from an empty prompt.
A message that starts with // is sent with one slash.
"""

_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?\s*$", re.DOTALL)


class Repl:
    """Reads questions until the person leaves.

    Args:
        model: Whom to talk to.
        conversation: Carries the system prompt; grows with each turn.
        stats: Whether to start with the stats on.
    """

    def __init__(
        self,
        client: ChatClient,
        model: str,
        conversation: Conversation,
        sampling: Sampling,
        terminal: Terminal,
        reader: Reader,
        *,
        stats: bool = False,
    ) -> None:
        self._client = client
        self._model = model
        self._conversation = conversation
        self._sampling = sampling
        self._terminal = terminal
        self._reader = reader
        self._stats = stats
        self._commands: dict[str, Callable[[str], None]] = {
            "help": lambda _: terminal.err.write(HELP),
            "system": self._system,
            "model": self._switch_model,
            "retry": lambda _: self._retry(),
            "clear": lambda _: self._clear(),
            "stats": lambda _: self._toggle_stats(),
        }

    def run(self) -> None:
        """Talk until the person leaves. Errors are shown, and the session goes on."""
        address = self._client.address.shown
        self._terminal.note(f"{self._model} at {address}; /help lists the commands, Ctrl-D leaves")
        while (text := self._reader.read()) is not None:
            if not text.strip():
                continue
            command = _COMMAND.match(text)
            if command is None or "\n" in text.rstrip("\n") and command[1] != "system":
                self._ask(text[1:] if text.startswith("//") else text)
            elif command[1] in ("exit", "quit"):
                return
            else:
                self._run_command(command[1], (command[2] or "").strip())

    def _run_command(self, name: str, argument: str) -> None:
        action = self._commands.get(name)
        if action is not None:
            action(argument)
            return
        near = get_close_matches(name, [*self._commands, "exit"])
        hint = f"did you mean /{near[0]}?" if near else "/help lists them"
        self._terminal.error(f"no such command: /{name}; {hint}")

    def _ask(self, question: str) -> None:
        answer = Answer(model=self._model)
        messages = self._conversation.messages(question)
        try:
            with stoppable(self._terminal.out):
                writer = answer_writer(self._terminal)
                run_turn(self._client, self._model, messages, self._sampling, answer, writer)
        except KeyboardInterrupt:
            self._terminal.note("stopped" if answer.text else "stopped before the first word")
        except ClientError as error:
            self._terminal.error(str(error))
        else:
            if note := ending_note(answer):
                self._terminal.note(note)
            if self._stats:
                self._terminal.note(stats_line(answer))
        self._conversation.record(question, answer.text)

    def _retry(self) -> None:
        question = self._conversation.take_back()
        if question is None:
            self._terminal.error("nothing to ask again yet")
        else:
            self._ask(question)

    def _clear(self) -> None:
        self._conversation.clear()
        self._terminal.note("the conversation is forgotten")

    def _system(self, text: str) -> None:
        if text:
            self._conversation.system = None if text == "-" else text
        shown = self._conversation.system
        self._terminal.err.write(
            f"{escape(f'system prompt: {shown}' if shown else 'no system prompt')}\n"
        )

    def _switch_model(self, name: str) -> None:
        try:
            with stoppable(self._terminal.out):
                served = [str(card["id"]) for card in self._client.models()]
        except KeyboardInterrupt:
            return
        except ClientError as error:
            self._terminal.error(str(error))
            return
        if name and name not in served:
            self._terminal.error(
                f"model {name} is not served; served: {', '.join(served) or 'none'}"
            )
        elif name:
            self._model = name
            self._terminal.note(f"talking to {name} from here on")
        else:
            marked = [f"{model} (this one)" if model == self._model else model for model in served]
            self._terminal.note(f"served: {', '.join(marked) or 'none'}")

    def _toggle_stats(self) -> None:
        self._stats = not self._stats
        self._terminal.note(f"stats are {'on' if self._stats else 'off'}")

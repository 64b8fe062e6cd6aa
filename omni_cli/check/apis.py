"""The APIs that are checked: how each is asked, and where its answer holds what.

Answers come from servers that may send anything, so everything is read through ``dig``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["APIS", "GENERATE", "SHORT_TOKENS", "TOKENS", "Api", "Usage", "dig"]

# Long enough for some words to stop at, short enough for a small model on a CPU
TOKENS = 12
# OpenAI's own Responses API takes no bound below this
LEAST_RESPONSE_TOKENS = 16
# Where the length itself is the point; more where the API takes no less
SHORT_TOKENS = 4

PROMPT = "Tell me about the moon."
OPENING = "The moon is"
ANTHROPIC_VERSION = {"anthropic-version": "2023-06-01"}

Usage = tuple[int, int, int]  # tokens of the prompt, of the answer, and the total


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API, which is one route that takes a POST.

    Attributes:
        body: A small request, greedy where the API can be; without the model.
        limit: The field that bounds the answer's tokens.
        text: The answer's text in a reply; None if it is not where it belongs.
        finish: Why the answer ended; None if the reply does not say.
        least: The smallest bound that it takes.
        at_limit: What ``finish`` is when the answer ran into its bound.
        usage: The token counts of a reply; None if they are not there.
        required: A field that cannot be left out, and the words by which an error may name it.
        wrong: Fields with a value of the wrong type.
        prompt: The field of the prompt; ``worded`` makes its value of a text.
    """

    name: str
    path: str
    body: Mapping[str, Any]
    prompt: str
    worded: Callable[[str], Any]
    required: str
    wrong: tuple[tuple[str, Any], ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    limit: str = ""
    least: int = 1
    at_limit: str = ""
    text: Callable[[Any], str | None] = lambda reply: None
    finish: Callable[[Any], str | None] = lambda reply: None
    usage: Callable[[Any], Usage | None] = lambda reply: None

    @property
    def is_anthropic(self) -> bool:
        """Whether its errors have Anthropic's shape."""
        return bool(self.headers)


def dig(value: Any, *path: str | int) -> Any:
    """What stands below ``value`` at a path of keys and indexes; None if there is nothing."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def _string(*path: str | int) -> Callable[[Any], str | None]:
    def read(reply: Any) -> str | None:
        found = dig(reply, *path)
        return found if isinstance(found, str) else None

    return read


def _counts(prompt: str, answer: str, total: str) -> Callable[[Any], Usage | None]:
    def read(reply: Any) -> Usage | None:
        usage = dig(reply, "usage")
        first, second = dig(usage, prompt), dig(usage, answer)
        if not isinstance(first, int) or not isinstance(second, int):
            return None
        last = dig(usage, total) if total else first + second
        return (first, second, last) if isinstance(last, int) else None

    return read


def _chat_text(reply: Any) -> str | None:
    message = dig(reply, "choices", 0, "message")
    found = dig(message, "content")
    if found is None and isinstance(message, dict) and "content" in message:
        return ""  # it thought, or called a tool, to the end
    return found if isinstance(found, str) else None


def _parts(parts: Any, kind: str) -> str | None:
    """The joined texts of a list of typed parts."""
    if not isinstance(parts, list):
        return None
    texts = [dig(part, "text") for part in parts if dig(part, "type") == kind]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else None


def _responses_text(reply: Any) -> str | None:
    output = dig(reply, "output")
    if not isinstance(output, list):
        return None
    messages = [item for item in output if dig(item, "type") == "message"]
    texts = [_parts(dig(item, "content"), "output_text") for item in messages]
    return None if None in texts else "".join(text for text in texts if text)


def _responses_finish(reply: Any) -> str | None:
    reason = dig(reply, "incomplete_details", "reason")
    found = reason if reason is not None else dig(reply, "status")
    return found if isinstance(found, str) else None


_OPENAI_COUNTS = _counts("prompt_tokens", "completion_tokens", "total_tokens")
_GREEDY = {"temperature": 0, "seed": 7}

CHAT = Api(
    name="chat",
    path="/v1/chat/completions",
    body={"messages": _said(PROMPT), "max_tokens": TOKENS, **_GREEDY},
    prompt="messages",
    worded=_said,
    required="messages",
    wrong=(
        ("temperature", "hot"),
        ("messages", 5),
        ("max_tokens", "many"),
        ("stop", {"a": 1}),
        ("tools", 5),
    ),
    limit="max_tokens",
    at_limit="length",
    text=_chat_text,
    finish=_string("choices", 0, "finish_reason"),
    usage=_OPENAI_COUNTS,
)
COMPLETIONS = Api(
    name="completions",
    path="/v1/completions",
    body={"prompt": OPENING, "max_tokens": TOKENS, **_GREEDY},
    prompt="prompt",
    worded=str,
    required="prompt",
    wrong=(("temperature", "hot"), ("prompt", {"a": 1}), ("max_tokens", "many"), ("n", [])),
    limit="max_tokens",
    at_limit="length",
    text=_string("choices", 0, "text"),
    finish=_string("choices", 0, "finish_reason"),
    usage=_OPENAI_COUNTS,
)
RESPONSES = Api(
    name="responses",
    path="/v1/responses",
    body={
        "input": PROMPT,
        "max_output_tokens": LEAST_RESPONSE_TOKENS,
        "temperature": 0,
        "store": False,
    },
    prompt="input",
    worded=str,
    required="input",
    wrong=(("temperature", "hot"), ("input", 5), ("max_output_tokens", "many"), ("tools", 5)),
    limit="max_output_tokens",
    least=LEAST_RESPONSE_TOKENS,
    at_limit="max_output_tokens",
    text=_responses_text,
    finish=_responses_finish,
    usage=_counts("input_tokens", "output_tokens", "total_tokens"),
)
MESSAGES = Api(
    name="messages",
    path="/v1/messages",
    headers=ANTHROPIC_VERSION,
    body={"messages": _said(PROMPT), "max_tokens": TOKENS, "temperature": 0},
    prompt="messages",
    worded=_said,
    required="max_tokens",
    wrong=(("temperature", "hot"), ("messages", 5), ("max_tokens", "many"), ("tools", 5)),
    limit="max_tokens",
    at_limit="max_tokens",
    text=lambda reply: _parts(dig(reply, "content"), "text"),
    finish=_string("stop_reason"),
    usage=_counts("input_tokens", "output_tokens", ""),
)
EMBEDDINGS = Api(
    name="embeddings",
    path="/v1/embeddings",
    body={"input": "The moon."},
    prompt="input",
    worded=str,
    required="input",
    wrong=(("input", {"a": 1}), ("encoding_format", 5)),
    usage=lambda reply: None,
)

APIS = (CHAT, COMPLETIONS, RESPONSES, MESSAGES, EMBEDDINGS)
# Those that write text
GENERATE = (CHAT, COMPLETIONS, RESPONSES, MESSAGES)

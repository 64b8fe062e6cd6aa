"""What the requests of a load ask. The same seed gives the same texts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from engine_bridge.errors import UsageError

__all__ = ["Endpoint", "Prompt", "Span", "random_prompts", "read_dataset"]

# Bounds of a dataset, which is held in memory
MAX_DATASET_BYTES = 512 * 1024 * 1024
MAX_LINE_BYTES = 16 * 1024 * 1024

# Short and common: one token each, with the space before it, in the usual English vocabularies. So
# a text of N of them has about N tokens, without asking for the model's tokenizer.
WORDS = """
able acid aged also area army away baby back ball band bank base bath bear beat bill bird blow blue
boat body bomb bond bone book born both bowl busy call calm came camp card care case cash cast cell
chip city club coal coat code cold come cook cool cope copy core cost crew crop dark data date dawn
dead deal dear debt deep door down draw drew drop drug dual duke dust duty each earn ease east easy
edge else even ever exit face fact fail fair fall farm fast fear feed feel feet fell felt file fill
film find fine fire firm fish five flat flow food foot form fort four free from fuel full fund gain
game gate gave gear gift girl give glad goal gold golf gone good gray great grew grow gulf hair half
hall hand hard harm hate have head hear heat held help here hero high hill hold hole holy home hope
host hour huge hung hunt hurt idea inch into iron item join jump just keep kept kick kind king knee
""".split()


class Endpoint(StrEnum):
    """Which route of the OpenAI API is put under load."""

    CHAT = "chat"
    COMPLETIONS = "completions"
    EMBEDDINGS = "embeddings"

    @property
    def path(self) -> str:
        """The route below ``/v1``."""
        return "/chat/completions" if self is Endpoint.CHAT else f"/{self}"

    @property
    def streams(self) -> bool:
        """Whether its answers come piece by piece."""
        return self is not Endpoint.EMBEDDINGS


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question.

    Attributes:
        text: For each route; or the messages of a chat.
        max_tokens: Longest answer, or None to leave it to the server.
    """

    text: str | list[dict[str, Any]]
    max_tokens: int | None

    def body(self, endpoint: Endpoint) -> dict[str, Any]:
        """The fields of a request that are about the question."""
        if endpoint is Endpoint.EMBEDDINGS:
            return {"input": self.text}
        limit = {} if self.max_tokens is None else {"max_tokens": self.max_tokens}
        if endpoint is Endpoint.COMPLETIONS:
            return {"prompt": self.text, **limit}
        chat = self.text if isinstance(self.text, list) else [_user(self.text)]
        return {"messages": chat, **limit}


@dataclass(frozen=True, slots=True)
class Span:
    """A length, or a range of which each length is as likely."""

    low: int
    high: int

    @classmethod
    def parse(cls, flag: str, text: str) -> Span:
        """Read ``128`` or ``64:256``.

        Raises:
            UsageError: It is neither, or holds nothing.
        """
        low, colon, high = text.partition(":")
        try:
            span = cls(int(low), int(high if colon else low))
        except ValueError as error:
            raise UsageError(flag, text, "is no length", "give it like 128 or 64:256") from error
        if not 1 <= span.low <= span.high:
            raise UsageError(flag, text, "must be 1 or more, the smaller one first")
        return span

    def choose(self, source: random.Random) -> int:
        """A length."""
        return source.randint(self.low, self.high)

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}:{self.high}"


def random_prompts(input_len: Span, output_len: Span, seed: int) -> Callable[[int], Prompt]:
    """A function from the number of a request to its prompt: random words, none of which is shared
    with the prompt before but by chance, so that no prefix cache helps.

    Args:
        input_len: Words, about as many tokens.
        output_len: Tokens that the answer may have.
    """

    def prompt(index: int) -> Prompt:
        source = random.Random(f"prompt:{seed}:{index}")
        text = " ".join(source.choices(WORDS, k=input_len.choose(source)))
        return Prompt(text, output_len.choose(source))

    return prompt


def read_dataset(
    path: Path, endpoint: Endpoint, default_max_tokens: int | None, limit: int
) -> list[Prompt]:
    """Read prompts, one JSON value a line: a text, an object with ``prompt``, ``messages`` or
    ``input`` and perhaps ``max_tokens``, or a batch line that has such an object as its ``body``.

    Args:
        default_max_tokens: For a line without.
        limit: Lines that are read at most.

    Raises:
        UsageError: The file cannot be read, has no line, or a line is none of these.
    """
    prompts = []
    try:
        for number, line in _lines(path):
            prompts.append(_prompt(line, f"{path}:{number}", endpoint, default_max_tokens))
            if len(prompts) >= limit:
                break
    except OSError as error:
        raise UsageError("--dataset", path, f"cannot be read: {error.strerror}") from error
    if not prompts:
        raise UsageError("--dataset", path, "has no line")
    return prompts


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    size, number = 0, 0
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            size += len(line)
            if len(line) > MAX_LINE_BYTES or size > MAX_DATASET_BYTES:
                bound = f"{MAX_LINE_BYTES} bytes a line, {MAX_DATASET_BYTES} in all"
                raise UsageError("--dataset", f"{path}:{number}", f"is too large: at most {bound}")
            if line.strip():
                yield number, line


def _prompt(line: bytes, where: str, endpoint: Endpoint, default_max_tokens: int | None) -> Prompt:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise UsageError("--dataset", where, f"is no JSON: {error}") from error
    if isinstance(found, dict) and isinstance(found.get("body"), dict):
        found = found["body"]
    if isinstance(found, str):
        found = {"prompt": found}
    fields = found if isinstance(found, dict) else {}
    text = _text(fields, endpoint)
    if text is None:
        chat = ' or {"messages": [...]}' if endpoint is Endpoint.CHAT else ""
        way_out = f'give {{"prompt": "..."}}{chat}'
        raise UsageError("--dataset", where, f"holds no prompt for {endpoint}", way_out)
    limit = fields.get("max_tokens") or fields.get("max_completion_tokens") or default_max_tokens
    if limit is not None and not (isinstance(limit, int) and limit > 0):
        raise UsageError("--dataset", where, f"max_tokens {limit} is no number above 0")
    return Prompt(text, limit)


def _text(fields: dict[str, Any], endpoint: Endpoint) -> str | list[dict[str, Any]] | None:
    """The prompt of a line, or None if it has none that suits the endpoint."""
    for name in ("prompt", "messages", "input"):
        found = fields.get(name)
        if found and isinstance(found, str):
            return found
        is_chat = endpoint is Endpoint.CHAT and name == "messages"
        if found and is_chat and isinstance(found, list):
            return found if all(isinstance(message, dict) for message in found) else None
    return None


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}

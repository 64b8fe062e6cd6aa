"""Result lines in the shape of OpenAI's output and error files.

Source: the Batch API reference, "The request output object".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from server.error_shape import error_body

__all__ = ["ID_BYTES", "Answer", "Failure", "Result", "line_number_of", "render", "result_id"]

# Of a body that is no JSON, in the message that stands for it.
_SHOWN_CHARS = 500
_ID = re.compile(rb'\{"id":"batch_req_([0-9a-f]{12})_([0-9]{1,18})",')
# The id is at the start of a line, so no more of it has to be read.
ID_BYTES = len('{"id":"batch_req_",') + 12 + 1 + 18
_LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a route has answered.

    Attributes:
        status: HTTP status.
        request_id: The server's ``x-request-id``, or empty.
        body: As it came.
        retry_after: The header of this name, or empty.
    """

    status: int
    request_id: str
    body: bytes
    retry_after: str = ""

    @property
    def ok(self) -> bool:
        """Whether it is a success."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Failure:
    """A line without an answer.

    Attributes:
        code: A word for programs.
        message: A sentence for people.
    """

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Result:
    """The end of one line.

    Attributes:
        data: The result line, newline included.
        failed: Whether it belongs into the error file.
        prompt_tokens: As the answer's usage says, or 0.
        output_tokens: Likewise.
    """

    data: bytes
    failed: bool
    prompt_tokens: int = 0
    output_tokens: int = 0


class _Response(msgspec.Struct):
    status_code: int
    request_id: str
    body: msgspec.Raw


class _Error(msgspec.Struct):
    code: str
    message: str


class _Line(msgspec.Struct):
    id: str
    custom_id: str
    response: _Response | None
    error: _Error | None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def result_id(digest: str, number: int) -> str:
    """The id of a result: which input, and which line of it.

    Args:
        digest: Of the input (``Survey.digest``).
        number: The line's.
    """
    return f"batch_req_{digest[:12]}_{number}"


def line_number_of(data: bytes, digest: str) -> int | None:
    """The number of the input line that a result line, or its first ``ID_BYTES``, is about; None
    if it is no result of this input.
    """
    found = _ID.match(data)
    if found is None or found[1].decode() != digest[:12]:
        return None
    return int(found[2])


def render(id_: str, custom_id: str, outcome: Answer | Failure) -> Result:
    """Make the result line.

    Args:
        id_: From ``result_id``.
        custom_id: From the input line.
        outcome: How it ended.
    """
    if isinstance(outcome, Failure):
        error = _Error(outcome.code, outcome.message)
        return Result(_encode(_Line(id_, custom_id, None, error)) + b"\n", failed=True)
    body = outcome.body.translate(_LINE_ENDS)  # between tokens only: JSON text has none inside
    try:
        parsed = _decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        if outcome.ok:
            failure = Failure("invalid_response", f"The answer is not JSON: {error}.")
            return render(id_, custom_id, failure)
        shown = outcome.body[:_SHOWN_CHARS].decode("utf-8", "replace")
        body, parsed = error_body("openai", outcome.status, shown or "no body"), None
    response = _Response(outcome.status, outcome.request_id, msgspec.Raw(body))
    data = _encode(_Line(id_, custom_id, response, None)) + b"\n"
    prompt, output = _usage(parsed)
    return Result(data, not outcome.ok, prompt, output)


def _usage(body: Any) -> tuple[int, int]:
    """Prompt and output tokens, under the names of either family."""
    usage = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(usage, dict):
        return 0, 0
    prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
    output = usage.get("completion_tokens", usage.get("output_tokens"))
    return (
        prompt if isinstance(prompt, int) else 0,
        output if isinstance(output, int) else 0,
    )

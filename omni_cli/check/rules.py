"""Where each rule is written. A check cites one of these."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Rule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A place in a specification or an API reference.

    Attributes:
        text: Which document and which part of it.
        url: Where to read it.
    """

    text: str
    url: str


def _openai(part: str, page: str) -> Rule:
    return Rule(f"OpenAI API reference, {part}", f"https://platform.openai.com/docs/{page}")


def _anthropic(part: str, page: str) -> Rule:
    return Rule(f"Anthropic API, {part}", f"https://docs.anthropic.com/en/{page}")


def _rfc(number: int, section: str, title: str) -> Rule:
    url = f"https://www.rfc-editor.org/rfc/rfc{number}#section-{section}"
    return Rule(f"RFC {number} section {section}, {title}", url)


def _cwe(number: int, title: str) -> Rule:
    return Rule(f"CWE-{number}, {title}", f"https://cwe.mitre.org/data/definitions/{number}.html")


_SSE = "https://html.spec.whatwg.org/multipage/server-sent-events.html"

MODELS_LIST = _openai("Models, List models", "api-reference/models/list")
MODELS_RETRIEVE = _openai("Models, Retrieve model", "api-reference/models/retrieve")
OPENAI_ERRORS = _openai("Error codes", "guides/error-codes")
ANTHROPIC_ERRORS = _anthropic("Errors", "api/errors")
ANTHROPIC_STREAM = _anthropic("Streaming Messages, Event types", "api/messages-streaming")
ANTHROPIC_AUTH = _anthropic("Authentication, x-api-key", "api/overview")
RESPONSES_STREAM = _openai("Responses, Streaming events", "api-reference/responses-streaming")

# By API: the reply, its length, the stream, its usage, its stop strings.
REPLY = {
    "chat": _openai("Chat, The chat completion object", "api-reference/chat/object"),
    "completions": _openai(
        "Completions, The completion object", "api-reference/completions/object"
    ),
    "responses": _openai("Responses, The response object", "api-reference/responses/object"),
    "messages": _anthropic("Messages, Returns", "api/messages"),
    "embeddings": _openai("Embeddings, The embedding object", "api-reference/embeddings/object"),
}
CREATE = {
    "chat": _openai("Chat, Create chat completion", "api-reference/chat/create"),
    "completions": _openai("Completions, Create completion", "api-reference/completions/create"),
    "responses": _openai("Responses, Create a model response", "api-reference/responses/create"),
    "messages": _anthropic("Messages, Create a message", "api/messages"),
    "embeddings": _openai("Embeddings, Create embeddings", "api-reference/embeddings/create"),
}
CHUNK = {
    "chat": _openai("Chat, The chat completion chunk object", "api-reference/chat/streaming"),
    "completions": _openai("Completions, stream", "api-reference/completions/create"),
    "responses": RESPONSES_STREAM,
    "messages": ANTHROPIC_STREAM,
}
ERRORS = {
    "chat": OPENAI_ERRORS,
    "completions": OPENAI_ERRORS,
    "responses": OPENAI_ERRORS,
    "embeddings": OPENAI_ERRORS,
    "messages": ANTHROPIC_ERRORS,
}

SSE_TYPE = Rule(
    "HTML, 9.2.5 Parsing an event stream (text/event-stream)", f"{_SSE}#parsing-an-event-stream"
)
SSE_FRAMING = Rule(
    "HTML, 9.2.6 Interpreting an event stream", f"{_SSE}#event-stream-interpretation"
)

STATUS_401 = _rfc(9110, "15.5.2", "401 Unauthorized")
CHALLENGE = _rfc(9110, "11.6.1", "WWW-Authenticate")
SCHEME_CASE = _rfc(9110, "11.1", "Authentication Scheme")
STATUS_400 = _rfc(9110, "15.5.1", "400 Bad Request")
STATUS_404 = _rfc(9110, "15.5.5", "404 Not Found")
STATUS_405 = _rfc(9110, "15.5.6", "405 Method Not Allowed")
STATUS_413 = _rfc(9110, "15.5.14", "413 Content Too Large")
STATUS_415 = _rfc(9110, "15.5.16", "415 Unsupported Media Type")
STATUS_431 = _rfc(6585, "5", "431 Request Header Fields Too Large")

INSIDES = _cwe(209, "Generation of Error Message Containing Sensitive Information")
AMPLIFIES = _cwe(405, "Asymmetric Resource Consumption (Amplification)")
WORKS_ON = _cwe(404, "Improper Resource Shutdown or Release")
UNGUARDED = _cwe(306, "Missing Authentication for Critical Function")
PATH_TRICKS = _cwe(647, "Use of Non-Canonical URL Paths for Authorization Decisions")

"""The JSON shapes in which each API family expects an error. Standard library and msgspec only."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["NOT_HTTP", "Family", "error_body", "family_of", "head_too_large", "type_name"]

Family = Literal["openai", "anthropic"]

# What cannot be parsed is not quoted: a key may stand in it.
NOT_HTTP = "This is not a valid HTTP request."

# vLLM's names where vLLM has one, so that clients written for it keep working.
OPENAI_TYPES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    405: "MethodNotAllowedError",
    408: "RequestTimeoutError",
    413: "RequestTooLargeError",
    415: "UnsupportedMediaTypeError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
    431: "HeadersTooLargeError",
    501: "NotImplementedError",
    503: "ServiceUnavailableError",
}
ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "invalid_request_error",
    413: "request_too_large",
    415: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
}


def family_of(path: str) -> Family:
    """The family whose error shape a client of ``path`` reads."""
    return "anthropic" if path == "/v1/messages" or path.startswith("/v1/messages/") else "openai"


def head_too_large(max_bytes: int, max_headers: int) -> str:
    """What is said with a 431."""
    return f"The head of the request has more than {max_bytes} bytes or {max_headers} headers."


def type_name(family: Family, status: int) -> str:
    """The family's name for errors of this HTTP status."""
    if family == "anthropic":
        return ANTHROPIC_TYPES.get(status, "api_error")
    return OPENAI_TYPES.get(status, "InternalServerError")


def error_body(
    family: Family, status: int, message: str, *, type_: str | None = None, param: str | None = None
) -> bytes:
    """Encode one error.

    Args:
        family: Whose shape.
        status: The HTTP status that goes with it.
        message: One sentence for the user.
        type_: Overrides the OpenAI type that the status implies.
        param: The request field at fault, where one is.
    """
    if family == "anthropic":
        inner = {"type": type_name(family, status), "message": message}
        return msgspec.json.encode({"type": "error", "error": inner})
    error = {
        "message": message,
        "type": type_ or type_name(family, status),
        "param": param,
        "code": status,
    }
    return msgspec.json.encode({"error": error})

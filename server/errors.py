"""Errors on their way to a client.

    starlette HTTPException
    └── ApiError              knows its status and its sentence; the app renders it
        ├── UnknownModel      404, names the models that are served
        ├── WrongTask         400, names the models that can
        ├── StageDown         503, with Retry-After
        ├── BodyTooLarge      413, closes the connection
        └── BodyTooSlow       408, closes the connection

They derive from Starlette's exception because FastAPI lets only that one through while it reads a
request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.exceptions import HTTPException
from starlette.responses import Response

from server.error_shape import error_body, family_of
from server.health import RETRY_AFTER_S

__all__ = [
    "SERVER_FAILED",
    "ApiError",
    "BodyTooLarge",
    "BodyTooSlow",
    "StageDown",
    "UnknownModel",
    "WrongTask",
    "error_response",
]

# All that a client is told of an exception that nobody expected; the log has the rest.
SERVER_FAILED = "The server failed on this request."


class ApiError(HTTPException):
    """One refused request.

    Args:
        status: HTTP status.
        message: One sentence for the user.
        type_: Overrides the OpenAI error type that the status implies.
        param: The request field at fault.
        headers: Further response headers.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        type_: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status_code=status, detail=message, headers=headers)
        self.type_ = type_
        self.param = param


class UnknownModel(ApiError):
    """No stage serves this name."""

    def __init__(self, model: str, served: Sequence[str]) -> None:
        shown = model if len(model) <= 200 else model[:200] + "..."
        message = f"The model `{shown}` does not exist. Served models: {', '.join(served)}."
        super().__init__(404, message, param="model")


class WrongTask(ApiError):
    """The chosen stage, or no stage at all, serves this route's task."""

    def __init__(self, path: str, model: str | None, able: Sequence[str]) -> None:
        way_out = f"Models that can: {', '.join(able)}." if able else "No served model can."
        subject = f"The model `{model}`" if model else "This server"
        super().__init__(400, f"{subject} does not support {path}. {way_out}", param="model")


class StageDown(ApiError):
    """The stage's engine has died."""

    def __init__(self, stage: str) -> None:
        super().__init__(
            503,
            f"The engine of stage `{stage}` is not running.",
            headers={"retry-after": str(RETRY_AFTER_S)},
        )


class BodyTooLarge(ApiError):
    """The body exceeds the server's bound."""

    def __init__(self, max_bytes: int) -> None:
        message = f"The request body is larger than {max_bytes} bytes."
        super().__init__(413, message, headers={"connection": "close"})


class BodyTooSlow(ApiError):
    """The body made no progress for too long."""

    def __init__(self, idle_s: float) -> None:
        message = f"No further part of the request body came within {idle_s:g} s."
        super().__init__(408, message, headers={"connection": "close"})


def error_response(path: str, error: ApiError) -> Response:
    """The error as a response, in the shape that clients of this path read."""
    body = error_body(
        family_of(path), error.status_code, error.detail, type_=error.type_, param=error.param
    )
    headers = dict(error.headers or {})
    return Response(body, error.status_code, headers, media_type="application/json")

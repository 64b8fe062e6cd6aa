"""The failures that a handler lists in its decorator."""

from __future__ import annotations

from typing import Any

from server.upstream_types import ErrorResponse

__all__ = ["GENERATION_ERRORS", "MODEL_ERRORS", "NOT_READY"]

MODEL_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorResponse, "description": "A field is wrong, or the model lacks the task"},
    404: {"model": ErrorResponse, "description": "No such model"},
    413: {"model": ErrorResponse, "description": "The body is too large"},
    415: {"model": ErrorResponse, "description": "The body is not JSON"},
    503: {"model": ErrorResponse, "description": "The model's engine is not running"},
}
GENERATION_ERRORS: dict[int | str, dict[str, Any]] = {
    **MODEL_ERRORS,
    500: {"model": ErrorResponse, "description": "The server failed"},
}
NOT_READY: dict[int | str, dict[str, Any]] = {503: {"description": "Not ready; says what is not"}}

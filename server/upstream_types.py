"""Upstream's request types, for the signatures of omni's own routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ValidationError, WrapValidator
from pydantic_core import PydanticCustomError
from vllm.entrypoints.openai.chat_completion.protocol import (
    ChatCompletionRequest,
    ChatCompletionResponse,
)
from vllm.entrypoints.openai.completion.protocol import CompletionRequest, CompletionResponse
from vllm.entrypoints.serve.engine.protocol import ErrorResponse
from vllm.entrypoints.serve.tokenize.protocol import (
    DetokenizeRequest,
    DetokenizeResponse,
    TokenizeRequest,
    TokenizeResponse,
)
from vllm.exceptions import VLLMClientError

from server.upstream_errors import refusal

__all__ = [
    "ChatBody",
    "ChatCompletionResponse",
    "CompletionBody",
    "CompletionResponse",
    "DetokenizeBody",
    "DetokenizeResponse",
    "ErrorResponse",
    "TokenizeBody",
    "TokenizeResponse",
]

# Fields tried when looking for the one at fault; a request has about 80 that mean anything.
MAX_SUSPECTS = 128

# What upstream's checks raise when they meet a type that they did not expect.
_MALFORMED = (AttributeError, TypeError, KeyError, IndexError, RecursionError, NotImplementedError)


def _guard(value: Any, validate: Callable[[Any], BaseModel]) -> BaseModel:
    """Turn an exception inside upstream's checks into one that names the field.

    Upstream's own refusals are no ValueError, so that pydantic lets them through as they are.
    """
    try:
        return validate(value)
    except VLLMClientError as error:
        raise refusal(error) from error
    except _MALFORMED as error:
        raise PydanticCustomError(
            "malformed",
            "{field} has a value of a wrong type",
            {"field": _culprit(value, validate)},
        ) from error


def _culprit(value: Any, validate: Callable[[Any], BaseModel]) -> str:
    """The field without which the checks get further."""
    if isinstance(value, dict):
        for name in list(value)[:MAX_SUSPECTS]:
            try:
                validate({key: item for key, item in value.items() if key != name})
            except (ValidationError, VLLMClientError):
                return f"field `{name}`"
            except _MALFORMED:
                continue
            return f"field `{name}`"
    return "a field"


ChatBody = Annotated[ChatCompletionRequest, WrapValidator(_guard)]
CompletionBody = Annotated[CompletionRequest, WrapValidator(_guard)]
TokenizeBody = Annotated[TokenizeRequest, WrapValidator(_guard)]
DetokenizeBody = Annotated[DetokenizeRequest, WrapValidator(_guard)]

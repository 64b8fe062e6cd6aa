"""Upstream's exceptions and error objects, as omni's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError
from vllm.entrypoints.serve.exception_handling.error_response import create_error_response
from vllm.entrypoints.serve.exception_handling.handlers.validation import (
    clean_loc_for_param,
)
from vllm.entrypoints.serve.exception_handling.utils import sanitize_message
from vllm.exceptions import VLLMError
from vllm.v1.engine.exceptions import EngineDeadError

from server.errors import SERVER_FAILED, ApiError, StageDown

__all__ = [
    "EngineDeadError",
    "api_error",
    "explain_misfit",
    "explain_validation",
    "refusal",
    "translated",
]

# Entries of one validation error that are told, and characters of each: a union over a long list
# makes thousands.
MAX_PROBLEMS = 10
MAX_PROBLEM_CHARS = 300


def api_error(response: Any) -> ApiError:
    """From upstream's ``ErrorResponse``."""
    error = response.error
    message = error.message or SERVER_FAILED
    return ApiError(int(error.code), message, type_=error.type, param=error.param)


def refusal(error: Exception) -> ApiError:
    """From an exception of upstream's."""
    return api_error(create_error_response(error))


@contextmanager
def translated(stage: str) -> Iterator[None]:
    """Around a call into a serving class: its exceptions leave as ApiError.

    Raises:
        StageDown: The engine has died.
        ApiError: Whatever upstream counts as the client's fault or as its own. What it knows
            nothing of goes through.
    """
    try:
        yield
    except EngineDeadError as error:
        raise StageDown(stage) from error
    except (VLLMError, ValueError, TypeError, OverflowError, NotImplementedError) as error:
        raise refusal(error) from error
    except Exception as error:
        # jinja2 is upstream's dependency, not ours; a chat template raises on messages that it
        # does not take.
        if any(cls.__name__ == "TemplateError" for cls in type(error).__mro__):
            raise refusal(error) from error
        raise


def explain_validation(error: RequestValidationError) -> tuple[str, str | None]:
    """What is wrong with a body, without its values, and the path of the first field at fault."""
    # Upstream's own checks raise this error with plain sentences.
    problems = [problem for problem in error.errors() if isinstance(problem, dict)]
    if not problems:
        return "; ".join(map(str, error.errors())) or "The request is not valid.", None
    # Of the told ones alone: there may be tens of thousands, and a path costs upstream time.
    paths = [clean_loc_for_param(tuple(problem["loc"])) for problem in problems[:MAX_PROBLEMS]]
    told = []
    for path, problem in zip(paths, problems, strict=False):
        reason = problem["msg"]
        if problem["type"] == "json_invalid":
            reason = (
                f"the body is not valid JSON: {problem['ctx']['error']} at byte {problem['loc'][1]}"
            )
        line = f"{path}: {reason}"
        if line not in told:
            told.append(line[:MAX_PROBLEM_CHARS])
    more = f" (and {len(problems) - MAX_PROBLEMS} more)" if len(problems) > MAX_PROBLEMS else ""
    return sanitize_message("; ".join(told) + more), _parameter(problems, paths)


def _parameter(problems: Any, paths: list[str]) -> str | None:
    if problems[0]["type"] == "json_invalid":  # its place is a byte of the body, no field
        return None
    for problem in problems:
        named = getattr(problem.get("ctx", {}).get("error"), "parameter", None)
        if named:
            return str(named)
    return paths[0].removeprefix("body.")


def explain_misfit(error: BaseException) -> tuple[str, str | None] | None:
    """What is wrong with a body whose checks raised this, and the first field at fault.

    Upstream looks at some fields before their types are known, and trips over a wrong one. Each
    field is then held against its own type.

    Returns:
        None if the exception does not come from the checks of a body.
    """
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_name != "request_body_to_args":
        trace = trace.tb_next
    if trace is None:
        return None
    found = trace.tb_frame.f_locals
    name = _misfit(found.get("body_fields"), found.get("received_body"))
    return f"{name or 'A field of the body'} has a value of a wrong type.", name


def _misfit(parameters: Any, body: Any) -> str | None:
    model = parameters[0].field_info.annotation if parameters else None
    fields = getattr(model, "model_fields", {})
    for name, value in body.items() if isinstance(body, dict) else ():
        if name in fields:
            try:
                TypeAdapter(fields[name].annotation).validate_python(value)
            except ValidationError:
                return str(name)
    return None

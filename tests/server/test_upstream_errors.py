"""A body that upstream's own checks trip over is refused by the name of its field."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fastapi.dependencies.utils import request_body_to_args
    from fastapi.exceptions import RequestValidationError
    from fastapi.routing import APIRoute
    from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

    from server import upstream_errors
    from server.upstream_errors import MAX_PROBLEMS, explain_misfit, explain_validation


async def tripped_over(body: dict[str, Any]) -> Exception:
    async def endpoint(request: ResponsesRequest) -> None: ...

    endpoint.__annotations__["request"] = ResponsesRequest
    fields = APIRoute("/", endpoint).dependant.body_params
    with pytest.raises(TypeError) as caught:
        await request_body_to_args(fields, body, False)
    return caught.value


async def test_the_field_is_named() -> None:
    error = await tripped_over({"model": "m", "input": "a", "tools": 5})
    assert explain_misfit(error) == ("tools has a value of a wrong type.", "tools")


def test_what_was_raised_elsewhere_is_not_explained() -> None:
    assert explain_misfit(TypeError("unsupported operand")) is None


def test_text_that_is_no_json_names_no_field() -> None:
    found = {"type": "json_invalid", "loc": ("body", 1), "msg": "JSON decode error", "input": {}}
    error = RequestValidationError([{**found, "ctx": {"error": "Expecting value"}}])
    message, param = explain_validation(error)
    assert "the body is not valid JSON: Expecting value at byte 1" in message
    assert param is None


def test_of_very_many_problems_only_the_told_ones_cost_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def path(loc: tuple[object, ...]) -> str:
        asked.append(loc)
        return ".".join(map(str, loc))

    monkeypatch.setattr(upstream_errors, "clean_loc_for_param", path)
    problems = [
        {"type": "missing", "loc": ("body", "input", at), "msg": "Field required"}
        for at in range(5000)
    ]
    message, param = explain_validation(RequestValidationError(problems))
    assert len(asked) == MAX_PROBLEMS
    assert message.endswith(f"(and {5000 - MAX_PROBLEMS} more)")
    assert param == "input.0"

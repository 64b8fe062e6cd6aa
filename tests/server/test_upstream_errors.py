"""A body that upstream's own checks trip over is refused by the name of its field."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fastapi.dependencies.utils import request_body_to_args
    from fastapi.routing import APIRoute
    from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

    from server.upstream_errors import explain_misfit


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

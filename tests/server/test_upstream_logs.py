"""What upstream's routes log of an exception that they answer themselves."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from vllm.entrypoints.anthropic.api_router import logger, router
    from vllm.exceptions import VLLMValidationError

    from server.upstream_logs import leave_out_client_faults

REQUEST = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "a"}]}


class Kept(logging.Handler):
    """The records that reach a log."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def kept() -> Iterator[Kept]:
    handler = Kept()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    leave_out_client_faults()
    yield handler
    logger.setLevel(level)
    logger.removeHandler(handler)


async def status_of(error: Exception, path: str = "/v1/messages") -> int:
    """Of upstream's answer when its serving class raises this."""

    async def fail(*_: Any) -> None:
        raise error

    app = FastAPI()
    app.include_router(router)
    app.state.anthropic_serving_messages = SimpleNamespace(create_messages=fail, count_tokens=fail)
    app.state.enable_server_load_tracking = False
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        return (await client.post(path, json=REQUEST)).status_code


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
async def test_a_clients_mistake_is_not_logged(kept: Kept, path: str) -> None:
    mistake = VLLMValidationError("temperature must be non-negative", parameter="temperature")
    assert await status_of(mistake, path) == 400
    assert await status_of(ValueError("the prompt is too long"), path) == 400
    assert kept.records == []


async def test_a_fault_of_the_server_is(kept: Kept) -> None:
    assert await status_of(RuntimeError("broken")) == 500
    assert [record.exc_info is not None for record in kept.records] == [True]


async def test_at_debug_level_everything_is(kept: Kept) -> None:
    logger.setLevel(logging.DEBUG)
    assert await status_of(ValueError("the prompt is too long")) == 400
    assert any(record.levelno == logging.ERROR for record in kept.records)

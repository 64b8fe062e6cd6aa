"""What a real server holds to on every route: headers, errors, metrics, clients that leave."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

CHAT_MODEL = "smollm2-135m-instruct"
EMBED_MODEL = "minilm-l6"
RANKS = 3
# An abort is one message to the engine and ends with its next step.
STOPPED_WITHIN_S = 10.0
HELLO = [{"role": "user", "content": "Hello"}]
# More tokens than any test waits for.
ENDLESS = {"model": CHAT_MODEL, "max_tokens": 1500, "ignore_eos": True}

pytestmark = pytest.mark.engine


@pytest.fixture
def http(omni_server: Any) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=omni_server.url, timeout=60) as made:
        yield made


def metric(http: httpx.Client, name: str, **labels: str) -> float:
    """The sum of the samples that have these labels."""
    text = http.get("/metrics").raise_for_status().text
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def running(http: httpx.Client) -> float:
    return metric(http, "vllm:num_requests_running") + metric(http, "vllm:num_requests_waiting")


def poll_for(expected: float, http: httpx.Client) -> None:
    deadline = time.monotonic() + STOPPED_WITHIN_S
    while (found := running(http)) != expected:
        assert time.monotonic() < deadline, f"{found} requests, not {expected}"


class TestEveryAnswer:
    @pytest.mark.parametrize(
        ("method", "path", "body", "status"),
        [
            ("GET", "/livez", None, 200),
            ("GET", "/readyz", None, 200),
            ("GET", "/startupz", None, 200),
            ("GET", "/health", None, 200),
            ("GET", "/version", None, 200),
            ("GET", "/metrics", None, 200),
            ("GET", "/docs", None, 200),
            ("GET", "/openapi.json", None, 200),
            ("GET", "/v1/models", None, 200),
            ("GET", "/nothing", None, 404),
            ("GET", "/v1/chat/completions", None, 405),
            ("POST", "/v1/chat/completions", {"messages": 5}, 400),
            ("POST", "/v1/chat/completions", {"model": "x", "messages": HELLO}, 404),
            ("POST", "/v1/embeddings", {"model": EMBED_MODEL, "input": "a"}, 200),
            ("POST", "/v1/embeddings", {"model": EMBED_MODEL, "input": {"a": 1}}, 400),
            ("POST", "/v1/messages", {"model": "x"}, 404),
            ("POST", "/collective_rpc", None, 404),
            ("POST", "/sleep", None, 501),
        ],
    )
    def test_answer_has_its_status_rank_and_id(
        self, http: httpx.Client, method: str, path: str, body: Any, status: int
    ) -> None:
        reply = http.request(method, path, json=body, headers={"x-request-id": "t-1"})
        assert reply.status_code == status, reply.text
        assert int(reply.headers["x-omni-rank"]) in range(RANKS)
        assert reply.headers.get_list("x-request-id") == ["t-1"]
        if status >= 400:
            assert reply.json()["error"]["message"]

    def test_stream_has_them_too(self, http: httpx.Client) -> None:
        body = {"model": CHAT_MODEL, "messages": HELLO, "max_tokens": 2, "stream": True}
        reply = http.post("/v1/chat/completions", json=body)
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.headers["x-omni-rank"]
        assert len(reply.headers["x-request-id"]) == 32

    def test_invalid_json_is_400(self, http: httpx.Client) -> None:
        for path in ("/v1/chat/completions", "/v1/embeddings", "/v1/responses"):
            headers = {"content-type": "application/json"}
            reply = http.post(path, content=b'{"model": ', headers=headers)
            assert reply.status_code == 400, path

    def test_body_above_the_bound_is_413(self, http: httpx.Client) -> None:
        def pieces() -> Iterator[bytes]:
            for _ in range(70):
                yield b" " * 1024 * 1024

        headers = {"content-type": "application/json"}
        try:
            reply = http.post("/v1/chat/completions", content=pieces(), headers=headers)
        except httpx.WriteError:
            pytest.fail("the connection was cut before the answer")
        assert reply.status_code == 413


class TestRanks:
    def test_new_connections_reach_every_rank(self, omni_server: Any) -> None:
        seen = [httpx.get(f"{omni_server.url}/livez").headers["x-omni-rank"] for _ in range(30)]
        assert set(seen) == {str(rank) for rank in range(RANKS)}
        assert max(seen.count(rank) for rank in set(seen)) <= 20

    def test_same_id_at_the_same_time_does_not_collide(self, omni_server: Any) -> None:
        async def ask() -> list[httpx.Response]:
            body = {"model": CHAT_MODEL, "prompt": "One, two,", "max_tokens": 24, "temperature": 0}
            headers = {"x-request-id": "same"}
            # One connection each would spread them over ranks; six are enough for two on one rank.
            async with httpx.AsyncClient(base_url=omni_server.url, timeout=60) as http:
                calls = (http.post("/v1/completions", json=body, headers=headers) for _ in range(6))
                return await asyncio.gather(*calls)

        replies = asyncio.run(ask())
        assert [reply.status_code for reply in replies] == [200] * 6
        assert {reply.json()["usage"]["completion_tokens"] for reply in replies} == {24}


class TestMetrics:
    def test_each_request_is_counted_once_whatever_its_rank(self, omni_server: Any) -> None:
        with httpx.Client(base_url=omni_server.url, timeout=60) as http:
            route: dict[str, str] = {"route": "/v1/completions", "method": "POST", "code": "200"}
            before = metric(http, "omni_http_requests_total", **route)
            finished = metric(http, "vllm:request_success_total", model_name=CHAT_MODEL)
            for _ in range(7):
                body = {"model": CHAT_MODEL, "prompt": "A", "max_tokens": 2}
                httpx.post(f"{omni_server.url}/v1/completions", json=body).raise_for_status()
            assert metric(http, "omni_http_requests_total", **route) == before + 7
            success = metric(http, "vllm:request_success_total", model_name=CHAT_MODEL)
            assert success == finished + 7

    def test_every_stage_has_its_series_and_no_process_has(self, http: httpx.Client) -> None:
        text = http.get("/metrics").text
        for model in (CHAT_MODEL, EMBED_MODEL):
            assert f'model_name="{model}"' in text
        for name in ("pid=", "rank=", "process_", "python_", "_created"):
            assert name not in text


class TestClientThatLeaves:
    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("/v1/chat/completions", {**ENDLESS, "messages": HELLO}),
            ("/v1/completions", {**ENDLESS, "prompt": "A"}),
            ("/v1/messages", {**ENDLESS, "messages": HELLO, "max_tokens": 1500}),
        ],
    )
    @pytest.mark.parametrize("stream", [False, True])
    def test_work_in_the_engine_stops(
        self, http: httpx.Client, omni_server: Any, path: str, body: Any, stream: bool
    ) -> None:
        poll_for(0, http)

        async def ask_and_leave() -> None:
            async with httpx.AsyncClient(base_url=omni_server.url, timeout=60) as leaver:
                asking = asyncio.ensure_future(_read(leaver, path, {**body, "stream": stream}))
                await asyncio.to_thread(poll_for, 1, http)
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)

        asyncio.run(ask_and_leave())
        poll_for(0, http)


async def _read(http: httpx.AsyncClient, path: str, body: Any) -> None:
    async with http.stream("POST", path, json=body) as reply:
        async for _ in reply.aiter_lines():
            pass


def test_openapi_describes_own_and_passed_routes(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    for path in ("/v1/chat/completions", "/v1/embeddings", "/v1/responses", "/v1/messages"):
        assert "post" in document["paths"][path], path
    missing = {
        name for name in _references(document) if name not in document["components"]["schemas"]
    }
    assert missing == set()


def _references(document: Any) -> set[str]:
    text = json.dumps(document)
    marker = "#/components/schemas/"
    return {part.split('"', 1)[0] for part in text.split(marker)[1:]}

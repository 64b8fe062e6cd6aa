from __future__ import annotations

import asyncio
import json
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from engine_bridge.status import Phase, RuntimeStatus
from server import early, tls_watch
from server.early import EarlyResponder
from server.settings import MAX_HEAD_BYTES, MAX_HEADER_COUNT, HttpPlan
from tests.certificates import Pair, make_pair, serial_of

STATUS = RuntimeStatus(
    started_at=time.monotonic(),
    phases=(Phase(name="zygote", started_at=time.monotonic()),),
    stages={"chat": "starting"},
    frontends=("starting",),
)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    yield sock
    sock.close()


@pytest.fixture
def plan() -> HttpPlan:
    return HttpPlan()


@pytest.fixture
async def responder(listener: socket.socket, plan: HttpPlan) -> AsyncIterator[EarlyResponder]:
    made = EarlyResponder(listener, lambda: STATUS, plan)
    await made.start()
    yield made
    await made.stop()
    listener.close()


@pytest.fixture
async def client(
    listener: socket.socket, responder: EarlyResponder
) -> AsyncIterator[httpx.AsyncClient]:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with httpx.AsyncClient(base_url=url, timeout=5) as made:
        yield made


async def exchange(listener: socket.socket, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(data)
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    return answer


async def accepted_one(responder: EarlyResponder) -> None:
    for _ in range(1000):
        if responder._connections:
            return
        await asyncio.sleep(0.005)
    raise AssertionError("nothing was accepted within 5 s")


class TestAnswers:
    async def test_livez_is_200(self, client: httpx.AsyncClient) -> None:
        assert (await client.get("/livez")).status_code == 200

    async def test_startupz_tells_the_phases(self, client: httpx.AsyncClient) -> None:
        reply = await client.get("/startupz?verbose=1")
        assert reply.status_code == 503
        assert reply.json()["status"] == "starting"
        assert reply.json()["phases"][0]["name"] == "zygote"

    async def test_readyz_names_the_culprits(self, client: httpx.AsyncClient) -> None:
        reply = await client.get("/readyz")
        assert reply.status_code == 503
        assert reply.json()["waiting_for"] == ["stage chat", "frontend 0"]

    async def test_other_path_is_503_in_the_openai_shape(self, client: httpx.AsyncClient) -> None:
        reply = await client.post("/v1/chat/completions", json={"model": "x"})
        assert reply.status_code == 503
        assert reply.headers["retry-after"].isdigit()
        assert "stage chat" in reply.json()["error"]["message"]

    async def test_probe_with_another_method_is_405(self, client: httpx.AsyncClient) -> None:
        reply = await client.delete("/livez")
        assert (reply.status_code, reply.headers["allow"]) == (405, "GET, HEAD")

    async def test_head_has_no_body(self, client: httpx.AsyncClient) -> None:
        reply = await client.head("/livez")
        assert (reply.status_code, reply.content) == (200, b"")

    async def test_every_answer_carries_rank_id_and_close(self, client: httpx.AsyncClient) -> None:
        for path in ("/livez", "/startupz", "/v1/models"):
            reply = await client.get(path, headers={"x-request-id": "mine-1"})
            assert reply.headers["x-omni-rank"] == "parent"
            assert reply.headers["x-request-id"] == "mine-1"
            assert reply.headers["connection"] == "close"

    async def test_invalid_request_id_is_replaced(self, client: httpx.AsyncClient) -> None:
        reply = await client.get("/livez", headers={"x-request-id": "x" * 500})
        assert 0 < len(reply.headers["x-request-id"]) <= 128

    async def test_body_of_a_megabyte_does_not_cut_the_answer(
        self, client: httpx.AsyncClient
    ) -> None:
        reply = await client.post("/v1/completions", content=b"x" * 1_000_000)
        assert reply.status_code == 503


class TestBounds:
    async def test_what_is_not_http_gets_400(
        self, listener: socket.socket, responder: EarlyResponder
    ) -> None:
        answer = await exchange(listener, b"hello\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 400")
        assert b"x-omni-rank: parent" in answer

    @pytest.mark.parametrize("header", [b"authorization : bearer sk-key", b"x-api-key: sk-key\x00"])
    async def test_what_cannot_be_parsed_is_not_quoted(
        self, listener: socket.socket, responder: EarlyResponder, header: bytes
    ) -> None:
        head = b"GET /readyz HTTP/1.1\r\nhost: a\r\n"
        answer = await exchange(listener, head + header + b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"sk-key" not in answer

    async def test_too_many_headers_are_refused_in_the_shape_of_the_api(
        self, listener: socket.socket, responder: EarlyResponder
    ) -> None:
        head = b"POST /v1/messages HTTP/1.1\r\nhost: a\r\n" + b"a: b\r\n" * MAX_HEADER_COUNT
        answer = await exchange(listener, head + b"\r\n")
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert b'{"type":"error","error":{' in answer

    async def test_endless_header_is_refused(
        self, listener: socket.socket, responder: EarlyResponder
    ) -> None:
        head = b"GET / HTTP/1.1\r\nx: " + b"y" * (MAX_HEAD_BYTES + 1)
        assert (await exchange(listener, head)).startswith(b"HTTP/1.1 431")

    async def test_silent_client_is_dropped_in_time(
        self,
        listener: socket.socket,
        responder: EarlyResponder,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(early, "CONNECTION_TIMEOUT_S", 0.05)
        assert await exchange(listener, b"GET / HTTP/1.1\r\n") == b""

    async def test_connections_beyond_the_bound_wait_for_their_turn(
        self, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(early, "MAX_CONNECTIONS", 2)
        responder = EarlyResponder(listener, lambda: STATUS)
        await responder.start()
        request = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n"
        answers = await asyncio.gather(*(exchange(listener, request) for _ in range(12)))
        assert [answer[:15] for answer in answers] == [b"HTTP/1.1 200 OK"] * 12
        await responder.stop()


class TestStop:
    async def test_socket_stays_open_and_its_backlog_is_left_alone(
        self, listener: socket.socket
    ) -> None:
        responder = EarlyResponder(listener, lambda: STATUS)
        await responder.start()
        await responder.stop()
        await responder.stop()
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        loop = asyncio.get_running_loop()
        accepted, _ = await loop.sock_accept(listener)  # the frontend's turn
        await loop.sock_sendall(accepted, b"taken over")
        accepted.close()
        assert await reader.read() == b"taken over"
        writer.close()

    async def test_answer_that_is_open_is_finished(
        self, listener: socket.socket, responder: EarlyResponder
    ) -> None:
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(b"GET /livez HTTP/1.1\r\nhost: x\r\n")
        await writer.drain()
        await accepted_one(responder)
        stopping = asyncio.ensure_future(responder.stop())
        writer.write(b"\r\n")
        writer.write_eof()
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        await stopping
        writer.close()

    async def test_silent_connection_does_not_hold_it_up(
        self, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(early, "STOP_TIMEOUT_S", 0.05)
        responder = EarlyResponder(listener, lambda: STATUS)
        await responder.start()
        _, writer = await asyncio.open_connection(*listener.getsockname())
        await accepted_one(responder)
        async with asyncio.timeout(5):
            await responder.stop()
        assert not responder._connections
        writer.close()


KEY = "sk-early"
LOCKED = HttpPlan(key_hashes=(sha256(KEY.encode()).hexdigest(),), allowed_hosts=("127.0.0.1",))


class TestGate:
    """As the frontends would answer."""

    @pytest.fixture
    def plan(self) -> HttpPlan:
        return LOCKED

    async def test_only_liveness_is_open(self, client: httpx.AsyncClient) -> None:
        assert (await client.get("/livez")).status_code == 200
        for path in ("/startupz", "/readyz", "/v1/models", "//livez"):
            reply = await client.get(path)
            assert reply.status_code == 401
            assert reply.headers["www-authenticate"] == "Bearer"
            assert reply.headers["x-omni-rank"] == "parent"
            assert reply.json()["error"]["type"] == "AuthenticationError"
        assert (await client.post("/v1/messages", json={})).json()["type"] == "error"

    async def test_key_is_told_about_the_start(self, client: httpx.AsyncClient) -> None:
        headers = {"authorization": f"Bearer {KEY}"}
        reply = await client.get("/startupz", headers=headers)
        assert (reply.status_code, reply.json()["status"]) == (503, "starting")

    async def test_wrong_host_is_400(self, client: httpx.AsyncClient) -> None:
        reply = await client.get("/livez", headers={"host": "evil.example"})
        assert reply.status_code == 400
        assert "--allowed-hosts evil.example" in reply.json()["error"]["message"]

    async def test_target_overrules_the_host_header(
        self, listener: socket.socket, responder: EarlyResponder
    ) -> None:
        head = b"GET http://evil.example/livez HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
        assert (await exchange(listener, head)).startswith(b"HTTP/1.1 400")


async def test_prefix_and_bounds_come_from_the_plan(listener: socket.socket) -> None:
    plan = HttpPlan(root_path="/api", max_header_count=3, max_head_bytes=500)
    responder = EarlyResponder(listener, lambda: STATUS, plan)
    await responder.start()
    line = b"GET /api/livez HTTP/1.1\r\nhost: a\r\n"
    assert (await exchange(listener, line + b"\r\n")).startswith(b"HTTP/1.1 200")
    many = line + b"x: y\r\n" * 3
    assert (await exchange(listener, many + b"\r\n")).startswith(b"HTTP/1.1 431")
    assert (await exchange(listener, line + b"x: " + b"y" * 500)).startswith(b"HTTP/1.1 431")
    await responder.stop()


class TestTls:
    @pytest.fixture
    def pair(self) -> Pair:
        return make_pair()

    @pytest.fixture
    def plan(self, tmp_path: Path, pair: Pair) -> HttpPlan:
        return HttpPlan(tls=pair.write(tmp_path))

    @pytest.fixture
    def trust(self, pair: Pair) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=pair.certificate.decode())

    async def test_answers_and_bodies(
        self, listener: socket.socket, responder: EarlyResponder, trust: ssl.SSLContext
    ) -> None:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        async with httpx.AsyncClient(base_url=url, verify=trust, timeout=5) as client:
            assert (await client.get("/livez")).json() == {"status": "alive"}
            reply = await client.post("/v1/completions", content=b"x" * 500_000)
            assert reply.status_code == 503

    async def test_silent_and_broken_handshakes_end_in_time(
        self,
        listener: socket.socket,
        responder: EarlyResponder,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(early, "CONNECTION_TIMEOUT_S", 0.1)
        assert await exchange(listener, b"") == b""
        assert b"HTTP" not in await exchange(listener, b"GET /livez HTTP/1.1\r\n\r\n")
        await responder.stop()
        assert not responder._connections

    async def test_end_is_said_to_a_client_that_reads_on(
        self, listener: socket.socket, responder: EarlyResponder, trust: ssl.SSLContext
    ) -> None:
        address = listener.getsockname()
        reader, writer = await asyncio.open_connection(*address, ssl=trust)
        writer.write(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n")
        async with asyncio.timeout(5):
            assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()

    async def test_changed_certificate_is_served(
        self,
        listener: socket.socket,
        tmp_path: Path,
        plan: HttpPlan,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(tls_watch, "RELOAD_INTERVAL_S", 0.01)
        responder = EarlyResponder(listener, lambda: STATUS, plan)
        await responder.start()
        new = make_pair()
        new.write(tmp_path)
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        serial = None
        async with asyncio.timeout(5):
            while serial != new.serial:
                _, writer = await asyncio.open_connection(*listener.getsockname(), ssl=trust)
                serial = serial_of(writer.get_extra_info("ssl_object").getpeercert(True))
                writer.close()
        await responder.stop()


def test_early_imports_nothing_heavy() -> None:
    heavy = "fastapi starlette uvicorn pydantic torch vllm httpx"
    code = (
        f"import sys, json, server.early; "
        f"print(json.dumps([m for m in '{heavy}'.split() if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []

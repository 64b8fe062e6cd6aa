"""The application with keys, hosts, CORS and a prefix, as a client meets it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import httpx
import pytest
from starlette.types import Message, Scope

from server.layers import POLICY_VIOLATION
from server.metrics import snapshot
from server.route_table import ROUTES
from server.settings import Cors, FrontendSettings, HttpPlan

KEY = "sk-very-secret"
BEARER = {"authorization": f"Bearer {KEY}"}
LOCKED = HttpPlan(key_hashes=(sha256(KEY.encode()).hexdigest(),), allowed_hosts=("omni",))
CHAT = {"model": "talker", "messages": [{"role": "user", "content": "Hello"}]}
OPEN = {("GET", "/livez"), ("HEAD", "/livez")}

Make = Callable[[HttpPlan], Any]


@pytest.fixture
def make(make_app: Any, chat: Any, embed: Any, parent: Any) -> Make:
    def made(http: HttpPlan) -> Any:
        settings = FrontendSettings(rank=2, api_server_count=3, version="9.9", http=http)
        return make_app(settings, [chat, embed], parent)

    return made


def client_of(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://omni")


def counted(app: Any) -> Counter[tuple[str, str]]:
    families = {family.name: family for family in snapshot([app.registry]).families}
    samples = families["omni_http_requests"].samples
    found: Counter[tuple[str, str]] = Counter()
    for sample in samples:
        found[sample.labels["route"], sample.labels["code"]] += int(sample.value)
    return found


class TestKeys:
    async def test_every_route_but_liveness_is_401_in_its_familys_shape(self, make: Make) -> None:
        app = make(LOCKED)
        async with client_of(app) as client:
            for row in ROUTES:
                reply = await client.request(row.method, row.path.replace("{model:path}", "m"))
                if (row.method, row.path) in OPEN:
                    assert reply.status_code == 200
                    continue
                assert reply.status_code == 401, row
                assert reply.headers["www-authenticate"] == "Bearer"
                assert reply.headers["x-omni-rank"] == "2"
                assert reply.headers["x-request-id"]
                shape = "type" if row.path.startswith("/v1/messages") else "error"
                assert row.method == "HEAD" or list(reply.json())[0] == shape, row
        refused = len(ROUTES) - len(OPEN)
        assert counted(app) == {("unmatched", "401"): refused, ("/livez", "200"): len(OPEN)}

    @pytest.mark.parametrize("method", ["OPTIONS", "BREW", "PUT", "TRACE"])
    async def test_other_methods_and_unknown_paths_are_401(self, make: Make, method: str) -> None:
        async with client_of(make(LOCKED)) as client:
            for path in ("/nothing", "/v1/models", "/livez", "/livez/", "/%6civez"):
                assert (await client.request(method, path)).status_code == 401
                assert (await client.request(method, path, headers=BEARER)).status_code != 401

    @pytest.mark.parametrize("headers", [BEARER, {"x-api-key": KEY}])
    async def test_key_opens_every_family_and_reaches_nobody(
        self, make: Make, chat: Any, headers: dict[str, str], caplog: pytest.LogCaptureFixture
    ) -> None:
        chat.error = RuntimeError("broken")
        caplog.set_level(logging.DEBUG)
        seen: list[Scope] = []
        app = make(LOCKED)
        inner = app.routes.router

        async def spy(scope: Scope, receive: Any, send: Any) -> None:
            seen.append(scope)
            await inner(scope, receive, send)

        app.routes.router = spy
        async with client_of(app) as client:
            body = {**CHAT, "model": "org/embedder", "input": "a"}
            assert (await client.post("/v1/embeddings", json=body, headers=headers)).is_success
            reply = await client.post("/v1/chat/completions", json=CHAT, headers=headers)
            assert reply.status_code == 500
        assert "broken" in caplog.text
        assert all(KEY.encode() not in value for _, value in seen[0]["headers"])
        assert KEY not in caplog.text

    async def test_refused_request_is_not_read(self, make: Make) -> None:
        async def never() -> Message:
            raise AssertionError("the body was read")

        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        scope = scope_of("http", "POST", "/v1/chat/completions", (b"host", b"omni"))
        scope["headers"].append((b"content-length", b"999999999999"))
        await make(LOCKED)(scope, never, send)
        assert sent[0]["status"] == 401
        assert (b"connection", b"close") in sent[0]["headers"]

    async def test_small_unread_body_keeps_the_connection(self, make: Make) -> None:
        async with client_of(make(LOCKED)) as client:
            reply = await client.post("/v1/completions", json={"prompt": "a"})
            assert "connection" not in reply.headers
            reply = await client.post("/v1/completions", headers={"expect": "100-continue"})
            assert reply.headers["connection"] == "close"

    async def test_without_keys_nothing_changes(self, make: Make) -> None:
        async with client_of(make(HttpPlan())) as client:
            assert (await client.get("/v1/models", headers=BEARER)).is_success


class TestHosts:
    async def test_wrong_host_is_400_on_all_routes_with_the_way_out(self, make: Make) -> None:
        app = make(LOCKED)
        async with client_of(app) as client:
            for path in ("/livez", "/nothing", "/v1/models", "/v1/messages"):
                headers = {**BEARER, "host": "evil.example"}
                reply = await client.get(path, headers=headers)
                assert reply.status_code == 400
                assert "--allowed-hosts evil.example" in reply.json()["error"]["message"]
            assert reply.json()["type"] == "error"
        assert counted(app) == {("unmatched", "400"): 4}


CORS = Cors(origins=("https://page.example",), headers=("authorization", "x-api-key"))
ORIGIN = {"origin": "https://page.example"}
PREFLIGHT = {
    **ORIGIN,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type",
}


class TestCors:
    @pytest.fixture
    def app(self, make: Make) -> Any:
        return make(
            HttpPlan(key_hashes=LOCKED.key_hashes, allowed_hosts=LOCKED.allowed_hosts, cors=CORS)
        )

    async def test_preflight_needs_no_key_and_carries_rank_and_id(self, app: Any) -> None:
        async with client_of(app) as client:
            reply = await client.options("/v1/chat/completions", headers=PREFLIGHT)
        assert reply.status_code == 200
        assert reply.headers["access-control-allow-origin"] == ORIGIN["origin"]
        assert reply.headers["x-omni-rank"] == "2"

    async def test_preflight_of_another_origin_or_host_is_refused(self, app: Any) -> None:
        async with client_of(app) as client:
            for name, value in (("origin", "https://evil.example"), ("host", "evil.example")):
                reply = await client.options("/v1/models", headers={**PREFLIGHT, name: value})
                assert reply.status_code == 400
                assert "access-control-allow-origin" not in reply.headers

    async def test_options_that_is_no_preflight_needs_a_key(self, app: Any) -> None:
        async with client_of(app) as client:
            assert (await client.options("/v1/models", headers=ORIGIN)).status_code == 401

    @pytest.mark.parametrize(
        ("method", "more", "status"),
        [
            ("GET", {}, 401),
            ("GET", {"host": "evil.example"}, 400),
            ("GET", BEARER, 200),
            ("POST", {**BEARER, "content-length": "99999999999"}, 413),
        ],
    )
    async def test_every_answer_can_be_read_by_the_page(
        self, app: Any, method: str, more: dict[str, str], status: int
    ) -> None:
        async with client_of(app) as client:
            reply = await client.request(method, "/v1/models", headers={**ORIGIN, **more})
        assert reply.status_code == status
        assert reply.headers["access-control-allow-origin"] == ORIGIN["origin"]
        assert "x-request-id" in reply.headers["access-control-expose-headers"]
        assert reply.headers["vary"] == "Origin"

    async def test_without_cors_a_preflight_is_401(self, make: Make) -> None:
        async with client_of(make(LOCKED)) as client:
            assert (await client.options("/v1/models", headers=PREFLIGHT)).status_code == 401


class TestPrefix:
    async def test_requests_with_and_without_it_are_the_same(self, make: Make) -> None:
        app = make(HttpPlan(root_path="/api"))
        async with client_of(app) as client:
            for prefix in ("/api", ""):
                assert (await client.get(f"{prefix}/v1/models")).is_success
                page = (await client.get(f"{prefix}/docs")).text
                assert '"/api/openapi.json"' in page.replace("'", '"')
                assert "/api/docs/swagger-ui-bundle.js" in page
                document = (await client.get(f"{prefix}/openapi.json")).json()
                assert document["servers"] == [{"url": "/api"}]
                reply = await client.post(f"{prefix}/v1/messages", json={**CHAT, "model": "no"})
                assert reply.json()["type"] == "error"
            assert (await client.get("/api/api/v1/models")).status_code == 404
        assert ("/v1/models", "200") in counted(app)

    async def test_liveness_under_it_needs_no_key(self, make: Make) -> None:
        async with client_of(make(HttpPlan(root_path="/api", key_hashes=LOCKED.key_hashes))) as c:
            assert (await c.get("/api/livez")).is_success
            assert (await c.get("/api/readyz")).status_code == 401


async def test_docs_can_be_left_out(make: Make) -> None:
    async with client_of(make(HttpPlan(docs=False))) as client:
        for path in ("/docs", "/openapi.json", "/docs/swagger-ui.css", "/redoc"):
            reply = await client.get(path)
            assert reply.status_code == 404
            assert f"There is no route {path}." in reply.text


def scope_of(kind: str, method: str, path: str, *headers: tuple[bytes, bytes]) -> Scope:
    scope: Scope = {
        "type": kind, "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1",
        "method": method, "scheme": kind, "path": path, "raw_path": path.encode(),
        "query_string": b"", "root_path": "", "headers": list(headers),
        "client": None, "server": None, "subprotocols": [],
        "extensions": {"websocket.http.response": {}},
    }  # fmt: skip
    if kind == "websocket":
        del scope["method"]
    return scope


class TestWebSocket:
    async def handshake(self, app: Any, scope: Scope) -> list[Message]:
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        async def send(message: Message) -> None:
            sent.append(message)

        await app(scope, receive, send)
        return sent

    @pytest.mark.parametrize("path", ["/v1/realtime", "/livez"])
    @pytest.mark.parametrize(("host", "status"), [(b"omni", 401), (b"evil", 400)])
    async def test_handshake_is_denied_before_it_is_accepted(
        self, make: Make, path: str, host: bytes, status: int
    ) -> None:
        scope = scope_of("websocket", "", path, (b"host", host))
        start, body = await self.handshake(make(LOCKED), scope)
        assert (start["type"], start["status"]) == ("websocket.http.response.start", status)
        headers = dict(start["headers"])
        assert headers[b"x-omni-rank"] == b"2"
        assert headers[b"x-request-id"]
        assert b'"error"' in body["body"]

    async def test_handshake_is_closed_where_it_cannot_be_answered(self, make: Make) -> None:
        scope = scope_of("websocket", "", "/v1/realtime", (b"host", b"omni"))
        scope["extensions"] = {}
        assert await self.handshake(make(LOCKED), scope) == [
            {"type": "websocket.close", "code": POLICY_VIOLATION}
        ]

    async def test_handshake_with_a_key_meets_no_route(self, make: Make) -> None:
        key = (b"x-api-key", KEY.encode())
        scope = scope_of("websocket", "", "/v1/realtime", (b"host", b"omni"), key)
        sent = await self.handshake(make(LOCKED), scope)
        assert [message["type"] for message in sent] == ["websocket.close"]

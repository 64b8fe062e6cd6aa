"""One server with everything on, two frontends: keys, host names and TLS."""

from __future__ import annotations

import os
import resource
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest

from server.route_table import ROUTES, RouteRow
from tests.certificates import Pair, make_pair, serial_of
from tests.e2e.serving import OMNI, Server, poll_until, start_server
from tests.e2e.tiny_model import write_tiny_model

KEY = "sk-correct-horse"
BEARER = {"authorization": f"Bearer {KEY}"}
EVIL = {"host": "evil.example"}
MODEL = "tiny"
RANKS = 2
# Connections go round robin; a few more than ranks find them all.
MAX_CONNECTIONS = 10
# The longest answer that the model has room for.
LONG = 2000
# A look each second, a handshake, and a machine that is busy.
RELOADED_WITHIN_S = 20.0
FEW_FILES = 1024
OPEN = {("GET", "/livez"), ("HEAD", "/livez")}

pytestmark = pytest.mark.engine


@dataclass
class House:
    """The server, its files, and what it answered before it was ready."""

    server: Server
    folder: Path
    pair: Pair
    early: dict[str, httpx.Response] = field(default_factory=dict)

    @property
    def trust(self) -> ssl.SSLContext:
        assert self.server.trust is not None
        return self.server.trust

    def client(self, **headers: str) -> httpx.Client:
        return httpx.Client(
            base_url=self.server.url, verify=self.trust, headers=headers, timeout=60
        )


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, bundled_models: None) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("secure")
    pair = make_pair()
    tls = pair.write(folder)
    (folder / "keys").write_text(f"# for the test\n{KEY}\n")
    arguments = [
        str(write_tiny_model(folder / MODEL)),
        *("--load-format", "dummy", "--api-server-count", str(RANKS)),
        *("--api-key", "sk-other", "--api-key-file", str(folder / "keys")),
        *("--allowed-hosts", "127.0.0.1", "--allowed-hosts", "localhost"),
        *("--ssl-certfile", tls.certfile, "--ssl-keyfile", tls.keyfile),
    ]
    env = {"HF_HUB_OFFLINE": "1", "NO_COLOR": "1", "COLUMNS": "100"}
    with few_open_files():
        server = start_server(folder, *arguments, env=env)
    server.headers = BEARER
    server.trust = ssl.create_default_context(cadata=pair.certificate.decode())
    made = House(server, folder, pair)
    try:
        assert server.port, server.text()
        with made.client() as client:
            made.early = {
                "live": client.get("/livez"),
                "locked": client.get("/startupz"),
                "messages": client.post("/v1/messages", json={}),
                "key": client.get("/startupz", headers=BEARER),
                "host": client.get("/livez", headers=EVIL),
            }
        server.wait_ready()
        yield made
    finally:
        assert server.stop() == 0


@pytest.fixture
def ranks(house: House) -> Iterator[list[httpx.Client]]:
    """One kept connection to each frontend."""
    with ExitStack() as stack:
        found: dict[str, httpx.Client] = {}
        for _ in range(MAX_CONNECTIONS):
            client = stack.enter_context(house.client())
            found.setdefault(client.get("/livez").headers["x-omni-rank"], client)
        assert sorted(found) == [str(rank) for rank in range(RANKS)]
        yield list(found.values())


@contextmanager
def few_open_files() -> Iterator[None]:
    """What is started inside may open no more files at first than on most systems."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_FILES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def ask(client: httpx.Client, row: RouteRow, **headers: str) -> httpx.Response:
    path = row.path.replace(":path}", "}").replace("{", "").replace("}", "")
    body = {"model": MODEL, "messages": []} if row.method == "POST" else None
    return client.request(row.method, path, json=body, headers=headers)


def test_parent_answers_with_the_same_rules_before_the_first_frontend(house: House) -> None:
    assert {reply.headers["x-omni-rank"] for reply in house.early.values()} == {"parent"}
    status = {name: reply.status_code for name, reply in house.early.items()}
    assert status == {"live": 200, "locked": 401, "messages": 401, "key": 503, "host": 400}
    assert house.early["messages"].json()["error"]["type"] == "authentication_error"


def test_every_route_without_a_key_is_401_in_its_own_shape(
    house: House, ranks: list[httpx.Client]
) -> None:
    for client in ranks:
        for row in ROUTES:
            reply = ask(client, row)
            if (row.method, row.path) in OPEN:
                assert reply.status_code == 200
                continue
            assert reply.status_code == 401, row
            assert reply.headers["www-authenticate"] == "Bearer"
            assert reply.headers["x-request-id"]
            if row.method == "HEAD":
                continue
            body = reply.json()
            if row.path.startswith("/v1/messages"):
                assert body["type"] == "error", row
                assert body["error"]["type"] == "authentication_error"
            else:
                assert body["error"]["code"] == 401, row
                assert body["error"]["type"] == "AuthenticationError"
        for method, path in (("GET", "/nothing"), ("OPTIONS", "/v1/models"), ("GET", "//livez")):
            assert client.request(method, path).status_code == 401


def test_every_route_with_another_host_is_400(house: House, ranks: list[httpx.Client]) -> None:
    for row in ROUTES:
        reply = ask(ranks[0], row, **BEARER, **EVIL)
        assert reply.status_code == 400, row
        assert row.method == "HEAD" or "--allowed-hosts" in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (BEARER, 200),
        ({"authorization": "bearer sk-other"}, 200),
        ({"x-api-key": KEY}, 200),
        ({"x-api-key": KEY[:-1]}, 401),
        ({"authorization": KEY}, 401),
        ({"authorization": "Bearer no", "x-api-key": ""}, 401),
    ],
)
def test_key_is_taken_from_both_headers(
    house: House, ranks: list[httpx.Client], headers: dict[str, str], status: int
) -> None:
    for client in ranks:
        assert client.get("/v1/models", headers=headers).status_code == status


def test_websocket_handshake_without_a_key_is_401(ranks: list[httpx.Client]) -> None:
    handshake = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    for client in ranks:
        assert client.get("/v1/realtime", headers=handshake).status_code == 401
        assert client.get("/v1/realtime", headers={**handshake, **BEARER}).status_code == 501


def test_official_openai_client_works_with_the_key(house: House) -> None:
    base = f"{house.server.url}/v1"
    with openai.DefaultHttpxClient(verify=house.trust) as http:
        client = openai.OpenAI(api_key=KEY, base_url=base, http_client=http, max_retries=0)
        reply = client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": "Hello"}], max_tokens=4
        )
        assert reply.usage is not None
        assert reply.usage.completion_tokens > 0
        with pytest.raises(openai.AuthenticationError, match="not one of this server's"):
            client.with_options(api_key="sk-wrong").models.list()


def test_official_anthropic_client_works_with_the_key(house: House) -> None:
    message: Any = {"role": "user", "content": "Hello"}
    url = house.server.url
    with anthropic.DefaultHttpxClient(verify=house.trust) as http:
        keys: list[dict[str, Any]]
        keys = [{"api_key": KEY}, {"auth_token": KEY}, {"api_key": "sk-wrong"}]
        for key in keys:
            client: Any = anthropic.Anthropic(base_url=url, http_client=http, max_retries=0, **key)
            if "sk-wrong" in key.values():
                with pytest.raises(anthropic.AuthenticationError, match="authentication_error"):
                    client.messages.create(model=MODEL, max_tokens=4, messages=[message])
                continue
            reply = client.messages.create(model=MODEL, max_tokens=4, messages=[message])
            assert reply.usage.output_tokens > 0


def test_omni_check_finds_no_way_around_the_key(house: House) -> None:
    trust = house.folder / "trust.pem"
    trust.write_bytes(house.pair.certificate)
    run = subprocess.run(
        [OMNI, "check", "--url", house.server.url, "--ca-file", str(trust), "--family", "auth"],
        env={**os.environ, "OMNI_API_KEY": KEY, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "\nauth: passed (8 passed)\n" in run.stdout


class Stream(threading.Thread):
    """Reads a long streamed answer, and notes when its pieces came."""

    def __init__(self, house: House) -> None:
        super().__init__(daemon=True)
        self._house = house
        self.begun = threading.Event()
        self.lines: list[str] = []
        self.last_at = 0.0
        self.error: Exception | None = None

    def run(self) -> None:
        body = {"model": MODEL, "prompt": "a", "max_tokens": LONG, "ignore_eos": True}
        try:
            with (
                self._house.client(**BEARER) as client,
                client.stream("POST", "/v1/completions", json={**body, "stream": True}) as reply,
            ):
                for line in reply.iter_lines():
                    if line:
                        self.lines.append(line)
                        self.last_at = time.monotonic()
                        self.begun.set()
        except httpx.HTTPError as error:
            self.error = error


def served_serial(house: House, ranks_seen: set[str]) -> int:
    """The certificate of a new connection; its rank is added to ``ranks_seen``."""
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    with (
        httpx.Client(verify=trust, timeout=60) as client,
        client.stream("GET", f"{house.server.url}/livez") as reply,
    ):
        ranks_seen.add(reply.headers["x-omni-rank"])
        tls = reply.extensions["network_stream"].get_extra_info("ssl_object")
        return serial_of(tls.getpeercert(True))


def test_changed_certificate_is_served_and_no_stream_is_cut(house: House) -> None:
    streams = [Stream(house) for _ in range(RANKS * 2)]
    for stream in streams:
        stream.start()
    assert all(stream.begun.wait(60) for stream in streams)

    old, new = house.pair, make_pair()
    (house.folder / "server.crt").write_bytes(new.certificate)  # the key comes a moment later
    assert served_serial(house, set()) == old.serial
    (house.folder / "server.key").write_bytes(new.key)

    renewed: set[str] = set()

    def all_renewed() -> bool:
        seen: set[str] = set()
        if served_serial(house, seen) == new.serial:
            renewed.update(seen)
        return len(renewed) == RANKS

    poll_until(all_renewed, RELOADED_WITHIN_S, "the new certificate from every frontend")
    renewed_at = time.monotonic()
    house.server.trust = ssl.create_default_context(cadata=new.certificate.decode())
    with house.client(**BEARER) as client:
        assert client.get("/v1/models").status_code == 200

    for stream in streams:
        stream.join(120)
        assert stream.error is None
        assert stream.lines[-1] == "data: [DONE]"
        assert stream.last_at > renewed_at, "the stream was over too early to show anything"


def test_clients_that_say_nothing_do_not_use_up_the_descriptors(house: House) -> None:
    for frontend in house.server.family()["frontend"]:
        soft, hard = frontend.rlimit(resource.RLIMIT_NOFILE)
        assert soft > FEW_FILES or soft == hard


def test_no_key_stands_in_the_log_or_the_process_list(house: House) -> None:
    assert KEY not in house.server.text()
    commands = [
        " ".join(child.cmdline()) for kind in house.server.family().values() for child in kind
    ]
    assert not any(KEY in command or "sk-other" in command for command in commands)

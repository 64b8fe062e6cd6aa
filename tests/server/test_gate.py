from __future__ import annotations

import json
from hashlib import sha256
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.gate import Gate, split_target
from server.settings import HttpPlan

PLAN = HttpPlan(key_hashes=(sha256(b"sk").hexdigest(),), allowed_hosts=("ok",), root_path="/api/")
GATE = Gate(PLAN)
HOST = (b"host", b"ok")
KEY = (b"x-api-key", b"sk")


def status(method: str, path: bytes, *headers: tuple[bytes, bytes]) -> int:
    answer = GATE.refusal(method, GATE.inner_path(path), headers)
    return answer.status if answer else 200


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", [b"/livez", b"/api/livez"])
def test_liveness_needs_no_key_but_a_right_host(method: str, path: bytes) -> None:
    assert status(method, path, HOST) == 200
    assert status(method, path, (b"host", b"evil")) == 400


BYPASSES = [
    b"/livez/",
    b"//livez",
    b"/livez//",
    b"/LIVEZ",
    b"/%6civez",
    b"/livez%00",
    b"/livez%2f..%2fv1/models",
    b"/livez/../v1/models",
    b"/v1/models/../../livez",
    b"/v1/models;/livez",
    b"/livez;x",
    b"/livez\\",
    b"livez",
    b"",
    b"*",
    b"/api",
    b"/api/api/livez",
    b"/api//livez",
    b"//api/livez",
    b"/%61pi/livez",
    b"/apilivez",
    b"/nothing",
]


@pytest.mark.parametrize("path", BYPASSES)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", ""])
def test_every_other_spelling_needs_a_key(method: str, path: bytes) -> None:
    assert status(method, path, HOST) == 401
    assert status(method, path, HOST, KEY) == 200


@pytest.mark.parametrize("method", ["OPTIONS", "POST", "get", "GET ", "", "WEBSOCKET"])
def test_other_method_on_liveness_needs_a_key(method: str) -> None:
    assert status(method, b"/livez", HOST) == 401


def test_host_comes_before_the_key() -> None:
    assert status("GET", b"/v1/models") == 400
    assert status("GET", b"/v1/models", (b"host", b"evil"), KEY) == 400


@pytest.mark.parametrize("path", [b"/v1/messages", b"/api/v1/messages/count_tokens"])
def test_refusals_have_the_shape_of_the_path(path: bytes) -> None:
    for headers, kind in (((), "invalid_request_error"), ((HOST,), "authentication_error")):
        answer = GATE.refusal("POST", GATE.inner_path(path), headers)
        assert answer is not None
        body = json.loads(answer.body)
        assert (body["type"], body["error"]["type"]) == ("error", kind)
    answer = GATE.refusal("POST", b"/v1/responses", [HOST])
    assert answer is not None
    assert answer.headers == (("www-authenticate", "Bearer"),)
    assert json.loads(answer.body)["error"]["code"] == 401


def test_prefix_is_taken_off_once_and_only_whole() -> None:
    assert GATE.inner_path(b"/api/v1/models") == b"/v1/models"
    assert GATE.inner_path(b"/api/api/x") == b"/api/x"
    for other in (b"/api", b"/apiv1", b"/v1/api/models", b"/API/v1"):
        assert GATE.inner_path(other) == other
    assert Gate(HttpPlan()).inner_path(b"/v1") == b"/v1"


@pytest.mark.parametrize(
    ("target", "path", "authority"),
    [
        (b"/a?b=http://c/", b"/a", None),
        (b"http://evil:80/livez?x", b"/livez", b"evil:80"),
        (b"http://evil", b"", b"evil"),
        (b"http://evil?/livez", b"", b"evil"),
        (b"//evil/livez", b"//evil/livez", None),
        (b"*", b"*", None),
        (b"/http://evil/", b"/http://evil/", None),
    ],
)
def test_target_is_split(target: bytes, path: bytes, authority: bytes | None) -> None:
    assert split_target(target) == (path, authority)


pieces = st.sampled_from([b"/", b"livez", b"api", b".", b"%2e", b"%2f", b";", b"%", b"\\", b"v1"])


@given(st.lists(pieces | st.binary(max_size=3), max_size=6).map(b"".join), st.text(max_size=5))
def test_what_gets_in_without_a_key_is_routed_to_liveness(path: bytes, method: str) -> None:
    answer = GATE.refusal(method, GATE.inner_path(path), [HOST])
    if answer is None:
        # What a router would make of it by decoding is the same.
        assert unquote_to_bytes(GATE.inner_path(path)) == b"/livez"
        assert method in ("GET", "HEAD")

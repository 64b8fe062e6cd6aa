"""What frontends are told about HTTP."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import pytest

from omni_cli.serve.http_plan import default_hosts, exposures, http_plan, is_loopback
from server.settings import Cors, HttpPlan, Tls
from tests.omni_cli.serve.wishes import wanted

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def plan(bound: str = "127.0.0.1", **given: object) -> HttpPlan:
    found, problems = http_plan(wanted(None, **given)[0], bound)
    assert problems == []
    return found


def test_defaults_are_those_of_the_frontends() -> None:
    assert plan() == HttpPlan(allowed_hosts=LOOPBACK)
    assert plan("0.0.0.0") == HttpPlan()


def test_settings_reach_the_plan() -> None:
    found = plan(
        ssl_certfile="/c", ssl_keyfile="/k", ssl_ca_certs="/a", ssl_cert_reqs=2, ssl_ciphers="X",
        allowed_origins=["https://a"], allowed_methods=["GET"], allowed_headers=["x"],
        allow_credentials=True, root_path="/llm", disable_fastapi_docs=True,
        max_body_bytes="1M", h11_max_incomplete_event_size=2048, h11_max_header_count=9,
        allowed_hosts=["A.example", "::1"],
    )  # fmt: skip
    assert found == HttpPlan(
        allowed_hosts=("a.example", "[::1]"),
        tls=Tls(certfile="/c", keyfile="/k", ca_certs="/a", cert_reqs=2, ciphers="X"),
        cors=Cors(origins=("https://a",), methods=("GET",), headers=("x",), credentials=True),
        root_path="/llm",
        docs=False,
        max_body_bytes=2**20,
        max_head_bytes=2048,
        max_header_count=9,
    )
    assert msgspec.json.decode(msgspec.json.encode(found), type=HttpPlan) == found


def test_keys_of_flags_and_files_are_added_up() -> None:
    Path("a").write_text("one\ntwo\n")
    Path("b").write_text("three\n")
    sealed = hashlib.sha256(b"one").hexdigest()
    found = plan(api_key=[sealed], api_key_file=["a", "b"])
    hashes = [hashlib.sha256(key).hexdigest() for key in (b"one", b"two", b"three")]
    assert found.key_hashes == tuple(hashes)


def test_every_bad_file_of_keys_is_told() -> None:
    Path("empty").write_text("")
    settings, _ = wanted(api_key_file=["empty", "missing"])
    _, problems = http_plan(settings, "127.0.0.1")
    assert [str(problem) for problem in problems] == [
        "--api-key-file empty: holds no key",
        "--api-key-file missing: cannot be read: No such file or directory",
    ]


@pytest.mark.parametrize(
    ("host", "bound", "names"),
    [
        ("127.0.0.1", "127.0.0.1", LOOPBACK),
        ("::1", "::1", LOOPBACK),
        ("[::1]", "::1", LOOPBACK),
        ("localhost", "127.0.0.1", LOOPBACK),
        ("My-Machine", "127.0.1.1", (*LOOPBACK, "my-machine", "127.0.1.1")),
        ("0.0.0.0", "0.0.0.0", ()),
        ("::", "::", ()),
        ("192.168.1.2", "192.168.1.2", ()),
    ],
)
def test_default_hosts(host: str, bound: str, names: tuple[str, ...]) -> None:
    assert default_hosts(host, bound) == names


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["*"], ()),
        (["a.example", "*"], ()),
        (["a.example", "*.B.example", "a.example"], ("a.example", "*.b.example")),
    ],
)
def test_given_hosts_take_the_place_of_the_defaults(
    given: list[str], names: tuple[str, ...]
) -> None:
    assert plan(allowed_hosts=given).allowed_hosts == names
    assert plan("0.0.0.0", allowed_hosts=given).allowed_hosts == names


def test_every_host_that_is_none_is_told() -> None:
    settings, _ = wanted(allowed_hosts=["http://a", "b:80", "c"])
    assert [str(problem) for problem in http_plan(settings, "::")[1]] == [
        f"--allowed-hosts {name}: is neither a name nor an address; leave scheme, port and path out"
        for name in ("http://a", "b:80")
    ]


@pytest.mark.parametrize(
    ("address", "answer"),
    [("127.0.0.1", True), ("127.3.2.1", True), ("::1", True), ("10.0.0.1", False), ("::", False),
     ("fe80::1%eth0", False), ("localhost", False), ("", False)],
)  # fmt: skip
def test_loopback(address: str, answer: bool) -> None:
    assert is_loopback(address) is answer


OPEN = (
    "--host 0.0.0.0: other machines may call the server, and no key is asked for; "
    "give one with --api-key-file"
)


@pytest.mark.parametrize(
    ("bound", "given", "told"),
    [
        ("0.0.0.0", {"host": "0.0.0.0"}, [OPEN]),
        ("127.0.0.1", {}, []),
        ("0.0.0.0", {"host": "0.0.0.0", "api_key": ["0" * 64]}, []),
        ("0.0.0.0", {"host": "0.0.0.0", "ssl_certfile": "/c", "ssl_keyfile": "/k",
                     "ssl_ca_certs": "/a", "ssl_cert_reqs": 2}, []),
        ("0.0.0.0", {"host": "0.0.0.0", "ssl_certfile": "/c", "ssl_keyfile": "/k",
                     "ssl_ca_certs": "/a", "ssl_cert_reqs": 1}, [OPEN]),
    ],
)  # fmt: skip
def test_open_server_is_warned_of(bound: str, given: dict[str, object], told: list[str]) -> None:
    settings, _ = wanted(None, **given)
    assert [*exposures(settings, http_plan(settings, bound)[0], bound)] == told


@pytest.mark.parametrize(("mode", "told"), [(0o600, False), (0o640, False), (0o644, True)])
def test_key_file_that_others_read_is_warned_of(mode: int, told: bool) -> None:
    Path("keys").write_text("one\n")
    Path("keys").chmod(mode)
    settings, _ = wanted(None, api_key_file=["keys"])
    line = "--api-key-file keys: can be read by every user of this machine; chmod 600 keys"
    found = exposures(settings, http_plan(settings, "127.0.0.1")[0], "127.0.0.1")
    assert [*found] == ([line] if told else [])

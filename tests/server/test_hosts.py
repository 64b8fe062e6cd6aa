from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_bridge.errors import UsageError
from server.hosts import MALFORMED, MISSING, REPEATED, HostList, canonical_host

HOSTS = HostList(["localhost", "127.0.0.1", "::1", "Models.Example.org", "*.internal", "a_b"])


def problem(*hosts: bytes) -> str | None:
    return HOSTS.problem([(b"accept", b"*/*"), *((b"host", host) for host in hosts)])


@pytest.mark.parametrize(
    "host",
    [
        b"localhost",
        b"localhost:8000",
        b"LOCALHOST.:8000",
        b"127.0.0.1:1",
        b"[::1]",
        b"[::1]:8000",
        b"[0:0:0:0:0:0:0:1]:8000",
        b"models.example.org",
        b"a.internal",
        b"b.a.INTERNAL.",
        b"a_b:80",
        b"localhost:",
    ],
)
def test_allowed_name_is_let_in_with_any_port(host: bytes) -> None:
    assert problem(host) is None


@pytest.mark.parametrize(
    "host",
    [
        b"evil.example",
        b"localhost.evil.example",
        b"evillocalhost",
        b"example.org",
        b"internal",
        b"127.0.0.2",
        b"[::2]",
    ],
)
def test_other_name_is_refused_with_the_way_out(host: bytes) -> None:
    told = problem(host)
    assert told is not None
    assert f"--allowed-hosts {host.decode()}" in told


@pytest.mark.parametrize(
    "host",
    [
        b"localhost/v1",
        b"localhost@evil.example",
        b"evil.example#localhost",
        b"localhost, localhost",
        b"localhost:80:80",
        b"localhost:1234567",
        b"localhost..",
        b".internal",
        b"*.internal",
        b"*",
        b"::1",
        b"[::1",
        b"[localhost]",
        b"[::1%25lo]",
        b"\xc5\x82ocalhost",
        b"localhost\x00",
        b"http://localhost",
        b"%6cocalhost",
        b"a" * 300,
    ],
)
def test_what_is_no_name_is_refused_without_repeating_it(host: bytes) -> None:
    assert problem(host) == MALFORMED


def test_no_host_and_two_hosts_are_refused() -> None:
    assert problem() == problem(b"") == MISSING
    assert problem(b"localhost", b"localhost") == REPEATED


@pytest.mark.parametrize("patterns", [[], ["*"], ["localhost", "*"]])
def test_open_list_lets_everything_in(patterns: list[str]) -> None:
    assert HostList(patterns).problem([]) is None
    assert HostList(patterns).problem([(b"host", b"what/ever")]) is None


@pytest.mark.parametrize(
    "pattern", ["", "http://a", "a:80", "a/b", "*a", "a.*", "*.*.a", "[a]", "a b", "[::1]:80", "."]
)
def test_pattern_that_is_no_name_is_a_mistake_of_the_user(pattern: str) -> None:
    with pytest.raises(UsageError, match="neither a name nor an address"):
        canonical_host(pattern)


@given(st.binary(max_size=30))
def test_only_the_allowed_names_get_in(host: bytes) -> None:
    told = HostList(["ok"]).problem([(b"host", host)])
    name = host.lower().partition(b":")[0].removesuffix(b".")
    assert (told is None) <= (name == b"ok")

"""`omni check` as a command: exit codes, both forms of the report, usage errors."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from tests.omni_cli.check.conforming import KEY, Conforming
from tests.omni_cli.check.faults import FAULTS
from tests.omni_cli.conftest import RunOmni


@pytest.fixture
def conforming() -> Iterator[Conforming]:
    made = Conforming(KEY)
    yield made
    made.close()


def test_a_good_server_is_0(omni: RunOmni, conforming: Conforming) -> None:
    run = omni("check", "--url", f"{conforming.url}/v1", "--api-key", KEY)
    assert (run.code, run.err) == (0, "")
    first, *_, last = run.out.splitlines()
    assert first == f"{conforming.url}, model tiny"
    assert last.startswith("passed: ")
    assert "  fail  " not in run.out


def test_a_fault_is_1_and_json_tells_it(omni: RunOmni, conforming: Conforming) -> None:
    conforming.twist = FAULTS["sse.chat.done"]
    arguments = ["--url", conforming.url, "--family", "sse", "--family", "models", "--json"]
    run = omni("check", *arguments, OMNI_API_KEY=KEY)
    assert (run.code, run.err) == (1, "")
    found = json.loads(run.out)
    assert list(found["families"]) == ["models", "sse"]
    assert [c["id"] for c in found["checks"] if c["outcome"] == "fail"] == ["sse.chat.done"]
    assert KEY not in run.out


def test_no_server_is_3(omni: RunOmni) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    run = omni("check", "--url", url)
    assert (run.code, run.out) == (3, "")
    assert run.err.startswith(f"error: {url}: cannot be reached: Connection refused; ")


def test_a_server_without_tls_is_3(omni: RunOmni, conforming: Conforming) -> None:
    run = omni("check", "--url", conforming.url.replace("http:", "https:"))
    assert (run.code, run.out) == (3, "")
    assert "cannot be reached: no TLS connection (" in run.err
    assert "--ca-file" in run.err


def test_a_server_that_never_gets_ready_is_3(omni: RunOmni, conforming: Conforming) -> None:
    def starting(asked: object, reply: object) -> None:
        reply.status, reply.headers = 503, {"retry-after": "1"}  # type: ignore[attr-defined]

    conforming.twist = starting
    run = omni("check", "--url", conforming.url, "--timeout", "0.1")
    assert (run.code, run.out) == (3, "")
    assert "is still not ready after 0.1 s" in run.err


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--model", "gpt"], "--model gpt: is not served at"),
        (["--family", "nope"], "'nope' is not one of 'models', 'replies'"),
        (["--timeout", "0"], "0.1"),
        (["--url", "ftp://x"], "--url ftp://x: cannot speak ftp"),
        (["--api-key", "a\nb"], "--api-key: a header cannot carry this key"),
        (["stray"], "stray"),
    ],
)
def test_usage_is_2(
    omni: RunOmni, conforming: Conforming, arguments: list[str], error: str
) -> None:
    url = [] if "--url" in arguments else ["--url", conforming.url]
    run = omni("check", *url, *arguments, OMNI_API_KEY="" if "--api-key" in arguments else KEY)
    assert (run.code, run.out) == (2, "")
    assert error in run.err
    assert len(run.err.splitlines()) == 1

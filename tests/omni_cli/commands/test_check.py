"""`omni check` as a command: exit codes, both forms of the report, usage errors."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest

from tests.omni_cli.check.conforming import KEY, Asked, Conforming, Reply
from tests.omni_cli.check.faults import FAULTS
from tests.omni_cli.conftest import COMMAND, DEADLINE_S, RunOmni, omni_env


@pytest.fixture
def conforming() -> Iterator[Conforming]:
    made = Conforming(KEY)
    yield made
    made.close()


def test_a_good_server_is_0(omni: RunOmni, conforming: Conforming) -> None:
    run = omni("check", "--url", f"{conforming.url}/v1", "--api-key", KEY)
    assert (run.code, run.err.count("\n")) == (0, 1)
    told = f"[0-9]+ checks of {conforming.url}, at most 30 s each and 15 min in all\n"
    assert re.fullmatch(told, run.err)
    first, *_, last = run.out.splitlines()
    assert first == f"{conforming.url}, model tiny"
    assert last.startswith("passed: ")
    assert "  fail  " not in run.out


def test_a_fault_is_1_and_json_tells_it(omni: RunOmni, conforming: Conforming) -> None:
    conforming.twist = FAULTS["sse.chat.done"]
    arguments = ["--url", conforming.url, "--family", "sse", "--family", "models", "--json"]
    run = omni("check", *arguments, OMNI_API_KEY=KEY)
    assert run.code == 1
    assert " checks of " in run.err
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


def test_what_does_not_speak_http_is_3(omni: RunOmni) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:

        def hang_up() -> None:
            connection, _ = mute.accept()
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        run = omni("check", "--url", url)
        thread.join()
    assert (run.code, run.out) == (3, "")
    reason = "something listens there, and sends no HTTP answer; is it https://?"
    assert run.err == f"error: {url}: {reason}\n"


@pytest.mark.parametrize(
    ("key", "reason"),
    [("", "the server asks for an API key"), ("other", "the server refused the API key")],
)
def test_without_the_servers_key_it_is_1(
    omni: RunOmni, conforming: Conforming, key: str, reason: str
) -> None:
    run = omni("check", "--url", conforming.url, OMNI_API_KEY=key)
    assert (run.code, run.out) == (1, "")
    line = f"error: {conforming.url}: {reason}; give it with --api-key or OMNI_API_KEY\n"
    assert run.err == line


def test_a_model_that_is_not_served_is_1_as_for_chat(omni: RunOmni, conforming: Conforming) -> None:
    run = omni("check", "--url", conforming.url, "--model", "gpt", OMNI_API_KEY=KEY)
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith(f"error: {conforming.url}: model gpt is not served there; served: ")


def test_a_ctrl_c_is_130_and_shows_what_was_found(conforming: Conforming) -> None:
    started = threading.Event()

    def interrupt(asked: Asked, reply: Reply) -> None:
        if asked.target.endswith("/no-such-model"):
            assert started.wait(DEADLINE_S)
            process.send_signal(signal.SIGINT)

    command = [*COMMAND, "check", "--url", conforming.url, "--api-key", KEY, "--json"]
    conforming.twist = interrupt
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=omni_env(), text=True) as process:
        started.set()
        out, _ = process.communicate(timeout=DEADLINE_S)
    found = json.loads(out)
    assert (process.returncode, found["interrupted"]) == (130, True)
    assert 0 < found["passed"] < 10


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
        (["--family", "nope"], "--family nope: must be models, replies, "),
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

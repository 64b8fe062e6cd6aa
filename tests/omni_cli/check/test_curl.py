"""The curl lines send what the check sent: tried with curl itself."""

from __future__ import annotations

import shutil
import subprocess
import time

import pytest

from omni_cli.check.apis import CHAT, MESSAGES
from omni_cli.check.catalogue import ALL
from omni_cli.check.curl import KEY_VARIABLE, curl_line
from omni_cli.check.runner import run_checks
from omni_cli.check.session import Session
from omni_cli.check.wire import Request, Wire
from tests.omni_cli.check.conforming import KEY, Conforming
from tests.omni_cli.check.faults import FAULTS

TIMEOUT_S = 20.0
# What curl adds by itself, and what differs without a meaning
IGNORED = {"user-agent", "accept", "connection"}

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


def run_line(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", line],
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", KEY_VARIABLE: KEY},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


@needs_curl
@pytest.mark.parametrize(
    "name",
    [
        "sse.chat.done",
        "errors.chat.long",
        "errors.embeddings.size",
        "errors.messages.json",
        "errors.chat.content",
        "errors.responses.method",
        "auth.tricks",
        "auth.wrong",
        "auth.key",
        "auth.x-api-key",
    ],
)
def test_a_line_sends_the_request_of_the_failure(name: str, conforming: Conforming) -> None:
    conforming.twist = FAULTS[name]
    session = Session(Wire(conforming.url, KEY))
    checks = [check for check in ALL if check.id == name]
    (result,) = run_checks(session, checks, timeout_s=TIMEOUT_S, shown_base=conforming.url)
    assert result.outcome == "fail"
    wanted = [(a.method, a.target, a.raw, a.headers) for a in conforming.asked]
    conforming.asked.clear()
    done = run_line(result.curl)
    assert done.returncode == 0, done.stderr
    (asked,) = conforming.asked
    sent = {key: value for key, value in asked.headers.items() if key not in IGNORED}
    assert (asked.method, asked.target, asked.raw, sent) in [
        (method, target, raw, {key: value for key, value in head.items() if key not in IGNORED})
        for method, target, raw, head in wanted
    ]


@needs_curl
def test_a_head_that_curl_refuses_is_sent_as_it_is(conforming: Conforming) -> None:
    conforming.twist = FAULTS["limits.header"]
    session = Session(Wire(conforming.url, KEY))
    checks = [check for check in ALL if check.id == "limits.header"]
    (result,) = run_checks(session, checks, timeout_s=TIMEOUT_S, shown_base=conforming.url)
    (wanted,) = conforming.asked
    conforming.asked.clear()
    run_line(result.curl)
    (asked,) = conforming.asked
    assert asked.headers["x-filler"] == wanted.headers["x-filler"]


def test_the_key_never_stands_in_a_line() -> None:
    for api in (CHAT, MESSAGES):
        line = curl_line("http://h", Request("POST", api.path, api.headers, {}), has_key=True)
        assert f'"authorization: Bearer ${KEY_VARIABLE}"' in line
    assert f'"x-api-key: ${KEY_VARIABLE}"' in line


def test_a_line_without_a_key_has_no_header_for_one() -> None:
    line = curl_line("http://h", Request("GET", "/v1/models"), has_key=False)
    assert line == "curl -sSiN --path-as-is http://h/v1/models"


def test_quotes_in_a_body_survive() -> None:
    began = time.monotonic()
    line = curl_line("http://h", Request("POST", "/x", body={"a": "it's $HOME"}), has_key=False)
    line = line.replace("curl", "printf '%s\\n'", 1)
    assert '{"a": "it\'s $HOME"}' in run_line(line).stdout.splitlines()
    assert time.monotonic() - began < TIMEOUT_S

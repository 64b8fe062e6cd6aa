"""All that `omni serve` says while it runs."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import pytest

from engine_bridge.plan import RuntimePlan, StagePlan
from engine_bridge.status import Phase, RuntimeStatus
from omni_cli.serve.announce import Announcer
from omni_cli.terminal import Terminal
from server.settings import HttpPlan, Tls
from tests.certificates import make_pair

PLAN = RuntimePlan(
    stages=(
        StagePlan(name="chat", model="m", model_path="/m", served_names=("smol", "gpt-x")),
        StagePlan(name="embed", model="n", model_path="/n", served_names=("minilm",)),
    )
)
LOOPBACK = ("127.0.0.1", 8000)
STOPPING = "stopping: running requests may finish; Ctrl-C again ends at once\n"


@pytest.fixture(autouse=True)
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program called by its name, and a clock that stands still."""
    monkeypatch.setattr(sys, "argv", ["/opt/x/bin/omni"])
    monkeypatch.setattr(shutil, "which", lambda _: "/opt/x/bin/omni")
    monkeypatch.setattr(time, "monotonic", lambda: 112.3)


def made(
    address: tuple[object, ...] = LOOPBACK,
    log_level: str | None = None,
    verbosity: int = 0,
    http: HttpPlan | None = None,
) -> Announcer:
    return Announcer(Terminal(verbosity), PLAN, address, log_level, http or HttpPlan())


def status(*, ready: bool) -> RuntimeStatus:
    return RuntimeStatus(
        started_at=100.0,
        phases=(
            Phase(name="import", started_at=100.0, ended_at=105.0),
            Phase(name="stage chat", started_at=105.0),
            Phase(name="stage embed", started_at=105.0),
        ),
        stages={"chat": "ready" if ready else "starting", "embed": "ready"},
        frontends=("ready",),
    )


def ready_block(url: str, flag: str = "") -> str:
    return (
        f"ready after 12.3 s at {url}\n"
        "  model  smol, gpt-x\n"
        "  model  minilm\n"
        f"  chat   omni chat{flag}   (in another terminal)\n"
        f"  API    {url}/v1   (described at {url}/docs)\n"
        "  stop   Ctrl-C\n"
    )


async def test_whole_life_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with made() as announcer:
        announcer.show(status(ready=False))
        announcer.show(status(ready=True))
        announcer.show(status(ready=True))
        announcer.line("[stage chat] WARNING something")
        announcer.stopping()
        announcer.stopping()
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "starting smol, minilm at http://127.0.0.1:8000\n"
        + ready_block("http://127.0.0.1:8000")
        + "[stage chat] WARNING something\n"
        + STOPPING
        + "ending at once\n"
    )


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (("127.0.0.1", 8001), "http://127.0.0.1:8001"),
        (("0.0.0.0", 9000), "http://127.0.0.1:9000"),
        (("::", 9000, 0, 0), "http://[::1]:9000"),
        (("::1", 8000, 0, 0), "http://[::1]:8000"),
        (("192.168.1.5", 8000), "http://192.168.1.5:8000"),
    ],
)
def test_address_can_be_typed_again(
    capsys: pytest.CaptureFixture[str], address: tuple[object, ...], url: str
) -> None:
    made(address).show(status(ready=True))
    assert capsys.readouterr().err == ready_block(url, f" --url {url}")


def test_keys_and_certificate_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    http = HttpPlan(key_hashes=("0" * 64,), tls=Tls(certfile="/c", keyfile="/k"), docs=False)
    made(http=http).show(status(ready=True))
    url = "https://127.0.0.1:8000"
    assert capsys.readouterr().err == (
        f"ready after 12.3 s at {url}\n"
        "  model  smol, gpt-x\n"
        "  model  minilm\n"
        f"  chat   omni chat --url {url}   (in another terminal)\n"
        f"  API    {url}/v1\n"
        "  key    asked for on every route but liveness; omni chat takes it from OMNI_API_KEY\n"
        "  stop   Ctrl-C\n"
    )


@pytest.mark.parametrize(
    ("address", "allowed", "url"),
    [
        (("0.0.0.0", 9000), ("localhost",), "http://localhost:9000"),
        (("0.0.0.0", 9000), ("*.example.org", "a.example", "b.example"), "http://a.example:9000"),
        (("0.0.0.0", 9000), ("127.0.0.1", "a.example"), "http://127.0.0.1:9000"),
        (("0.0.0.0", 9000), ("*.example.org",), "http://127.0.0.1:9000"),
        (("192.168.1.5", 8000), ("a.example",), "http://a.example:8000"),
        (("::", 9000, 0, 0), ("[::1]",), "http://[::1]:9000"),
    ],
)
def test_address_has_a_name_that_the_server_answers_to(
    capsys: pytest.CaptureFixture[str],
    address: tuple[object, ...],
    allowed: tuple[str, ...],
    url: str,
) -> None:
    made(address, http=HttpPlan(allowed_hosts=allowed)).show(status(ready=True))
    assert capsys.readouterr().err == ready_block(url, f" --url {url}")


@pytest.mark.parametrize("folder", ["", "my keys"])
def test_certificate_that_nobody_knows_is_named_to_the_client(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    Path(folder).mkdir(exist_ok=True)
    tls = make_pair().write(Path(folder).absolute())
    url = "https://127.0.0.1:8000"
    shown = f"'{folder}/server.crt'" if folder else "server.crt"
    made(http=HttpPlan(tls=tls)).show(status(ready=True))
    assert f"omni chat --url {url} --ca-file {shown}   (" in capsys.readouterr().err
    monkeypatch.setenv("SSL_CERT_FILE", tls.certfile)
    made(http=HttpPlan(tls=tls)).show(status(ready=True))
    assert f"omni chat --url {url}   (" in capsys.readouterr().err


def test_lines_before_ready_are_shown_only_if_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made().line("[stage chat] WARNING early")
    assert capsys.readouterr().err == ""
    made(log_level="warning").line("[stage chat] WARNING early")
    assert capsys.readouterr().err == "[stage chat] WARNING early\n"


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    announcer = made(verbosity=-1)
    announcer.show(status(ready=True))
    announcer.stopping()
    assert capsys.readouterr().err == ""


def test_ready_after_a_stop_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    announcer = made()
    announcer.stopping()
    announcer.show(status(ready=True))
    assert capsys.readouterr().err == STOPPING


async def test_phases_that_run_are_told_while_they_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    announcer = made()
    announcer.show(status(ready=False))
    ticking = announcer._tick()
    ticking.send(None)
    ticking.close()
    assert capsys.readouterr().err == "loading stage chat, stage embed 12 s\n"


@pytest.mark.parametrize(
    ("called", "found", "shown"),
    [
        ("/opt/x/bin/omni", "/opt/x/bin/omni", "omni"),
        ("/opt/x/bin/omni", None, "/opt/x/bin/omni"),
        ("/opt/x/bin/omni", "/usr/bin/omni", "/opt/x/bin/omni"),
        (".venv/bin/omni", None, ".venv/bin/omni"),
    ],
)
def test_command_is_shown_as_it_can_be_typed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    called: str,
    found: str | None,
    shown: str,
) -> None:
    monkeypatch.setattr(sys, "argv", [called])
    monkeypatch.setattr(shutil, "which", lambda _: found)
    made().show(status(ready=True))
    assert f"  chat   {shown} chat   (in" in capsys.readouterr().err

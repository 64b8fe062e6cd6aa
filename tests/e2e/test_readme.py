"""The README's commands that need a server, as they stand but for the address."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import httpx
import pytest

from tests.readme import ROOT, SERVED, blocks

pytestmark = pytest.mark.engine

DEFAULT_URL = "http://127.0.0.1:8000"
ANSWER_TIMEOUT_S = 120
READY_TIMEOUT_S = 180  # a cold start of two stages on two busy cores
STOP_TIMEOUT_S = 60
POLL_S = 0.2

# By which test below each command is run.
CLIENT = {
    '.venv/bin/omni chat "Who wrote Hamlet?"',
    'echo "Say hello in French." | .venv/bin/omni chat',
    "make chat",
    'make chat ARGS="--url http://127.0.0.1:9000"',
}
CURL = {command for command in SERVED if command.startswith("curl ")}
SERVERS = {
    "make serve",
    'make serve ARGS="--port 9000"',
    ".venv/bin/omni serve assistant.yaml",
    ".venv/bin/omni serve --api-server-count 2",
}


class Server(Protocol):
    url: str
    port: int
    pid: int


def in_clone(command: str, *, url: str) -> str:
    """The command with this interpreter's folder for .venv, and another server's address."""
    for default in (DEFAULT_URL, "http://127.0.0.1:9000"):
        command = command.replace(default, url)
    return command.replace(".venv/bin/omni", str(Path(sys.executable).parent / "omni"))


def shell(command: str, *, url: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", in_clone(command, url=url)],
        cwd=ROOT,
        # A small model may go on and on; what it says does not matter here.
        env=os.environ | {"OMNI_URL": url, "OMNI_MAX_TOKENS": "64"},
        input=typed,
        capture_output=True,
        text=True,
        timeout=ANSWER_TIMEOUT_S,
    )


def test_every_served_command_has_a_test() -> None:
    assert CLIENT | CURL | SERVERS == SERVED


class TestClients:
    @pytest.mark.parametrize("command", sorted(CLIENT))
    def test_chat_answers(self, omni_server: Server, command: str) -> None:
        run = shell(command, url=omni_server.url, typed="Who wrote Hamlet?\n")
        assert run.returncode == 0, run.stderr
        assert len(run.stdout.split()) >= 1

    def test_curl_of_chat_answers(self, omni_server: Server) -> None:
        (command,) = [line for line in CURL if "/chat/completions" in line]
        run = shell(command, url=omni_server.url)
        assert run.returncode == 0, run.stderr
        assert '"content":' in run.stdout

    def test_python_example_prints_an_answer(self, omni_server: Server) -> None:
        (example,) = [block.text for block in blocks() if block.language == "python"]
        code = example.replace(DEFAULT_URL, omni_server.url)
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=ANSWER_TIMEOUT_S
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout.strip()


class Foreground:
    """A server started as a person starts it: from a shell, with a process group of its own."""

    def __init__(self, command: list[str], folder: Path, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "server.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, stdout=log, stderr=log, start_new_session=True
            )

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log.read_text()
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass  # the socket is not bound yet
            time.sleep(POLL_S)
        pytest.fail(f"not ready after {READY_TIMEOUT_S} s: {self.log.read_text()}")

    def interrupt(self) -> int:
        """Ctrl-C: the terminal sends SIGINT to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(STOP_TIMEOUT_S)

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(STOP_TIMEOUT_S)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Foreground]:
    """`make serve` with everything that the README adds to it: a pipeline, a port, a count."""
    folder = tmp_path_factory.mktemp("readme")
    (example,) = [block.text for block in blocks() if block.language == "yaml"]
    (folder / "assistant.yaml").write_text(example)
    port = free_port()
    args = f"{folder / 'assistant.yaml'} --port {port} --api-server-count 2"
    command = ["make", "--no-print-directory", "-C", str(ROOT), "serve", f"ARGS={args}"]
    server = Foreground(command, folder, port)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.kill()


@pytest.mark.slow
class TestServers:
    def test_make_serve_says_where_it_is_and_what_to_do(self, pipeline: Foreground) -> None:
        said = pipeline.log.read_text()
        assert pipeline.url in said
        assert "omni chat" in said or "make chat" in said

    def test_question_is_answered(self, pipeline: Foreground) -> None:
        run = shell(f"make chat ARGS='--url {pipeline.url} Hello'", url=pipeline.url)
        assert run.returncode == 0, run.stderr
        assert run.stdout.strip()

    def test_curl_of_embeddings_answers(self, pipeline: Foreground) -> None:
        (command,) = [line for line in CURL if "/embeddings" in line]
        run = shell(command, url=pipeline.url)
        assert run.returncode == 0, run.stderr
        assert '"embedding":' in run.stdout

    def test_interrupt_ends_it(self, pipeline: Foreground) -> None:
        # make's own code: 2 where it saw omni's 130 first, else the signal that it got as well.
        assert pipeline.interrupt() in {2, -signal.SIGINT}
        said = pipeline.log.read_text()
        assert "stopping: " in said
        assert "Traceback" not in said
        with pytest.raises(httpx.ConnectError):
            httpx.get(pipeline.url)


def test_served_commands_are_spelt_for_a_shell() -> None:
    for command in SERVED:
        assert shlex.split(command)

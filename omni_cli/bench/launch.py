"""One start of a server: run its command, wait until it is ready, weigh it, stop it."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine_bridge.errors import StartError, UsageError
from omni_cli.bench.family import family_of, kill, pss_bytes

__all__ = ["Running", "Start", "answers", "free_port", "measure_start", "running"]

STOP_TIMEOUT_S = 60.0  # after SIGTERM, before SIGKILL; a drain takes as long as its last answer
POLL_S = 0.02  # between two looks whether it is ready; so exact the time is
PROBE_TIMEOUT_S = 60.0  # of one look: a server that is starting may hold a connection
MAX_LAST_WORDS = 500  # characters of the log of a server that did not start

REFUSAL = "error: "  # begins each line of a refusal of `omni serve`


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from the command to ready, and the memory (PSS, bytes) of all its processes then."""

    ready_s: float
    pss_bytes: int


@dataclass(frozen=True, slots=True)
class Running:
    """A server that was launched, ready or not.

    Attributes:
        begun_s: The monotonic clock when it was launched.
        log: What it writes to stdout and stderr.
    """

    name: str
    process: subprocess.Popen[bytes]
    begun_s: float
    log: Path

    def wait_until(self, is_ready: Callable[[], bool], timeout_s: float) -> float:
        """Wait and return the seconds since the launch.

        Raises:
            UsageError: It refused its words, as omni does.
            StartError: It ended, or was not ready in time.
        """
        while not is_ready():
            code = self.process.poll()
            if code is not None:
                self._pass_on_refusal(code)
                raise StartError(self.name, f"it ended with {code}: {self.last_words()}")
            if time.monotonic() - self.begun_s > timeout_s:
                raise StartError(self.name, f"not ready after {timeout_s:g} s{self._hint()}")
            time.sleep(POLL_S)
        return time.monotonic() - self.begun_s

    def pss_bytes(self) -> int:
        """Memory of all its processes now."""
        return pss_bytes(family_of(self.process.pid))

    def last_words(self) -> str:
        """The last line of its log."""
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1].strip()[-MAX_LAST_WORDS:] if lines else "it said nothing"

    def _pass_on_refusal(self, code: int) -> None:
        """Raise the first line of omni's own refusal, as it is."""
        lines = self.log.read_text(errors="replace").splitlines()
        said = next((line for line in lines if line.startswith(REFUSAL)), "")
        if code == UsageError.exit_code and said:
            subject, _, reason = said.removeprefix(REFUSAL).partition(": ")
            raise UsageError(subject, None, reason)

    def _hint(self) -> str:
        return f"; its last line: {self.last_words()}"


@contextmanager
def running(name: str, command: Sequence[str], env: Mapping[str, str]) -> Iterator[Running]:
    """Launch a server in a session of its own; at the end of the context nothing of it is left.

    It gets a SIGTERM, and SIGKILL if it has not ended after STOP_TIMEOUT_S; whatever it leaves
    behind is killed.

    Raises:
        StartError: There is no such command.
    """
    with tempfile.TemporaryDirectory(prefix="omni-bench-") as folder:
        log = Path(folder) / "log"
        begun = time.monotonic()
        try:
            with log.open("wb") as output:
                process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=dict(env),
                    start_new_session=True,
                )
        except OSError as error:
            raise StartError(name, f"{error.strerror}: {command[0]}") from error
        try:
            yield Running(name, process, begun, log)
        finally:
            _stop(process)


def measure_start(
    name: str,
    command: Sequence[str],
    is_ready: Callable[[], bool],
    *,
    env: Mapping[str, str] = os.environ,
    timeout_s: float,
) -> Start:
    """Start a server, measure, and stop it.

    Raises:
        UsageError: It refused its words, as omni does.
        StartError: It did not become ready within ``timeout_s``.
    """
    with running(name, command, env) as server:
        ready_s = server.wait_until(is_ready, timeout_s)
        return Start(ready_s, server.pss_bytes())


def answers(url: str, body: bytes | None = None, *, api_key: str | None = None) -> bool:
    """Whether a server answers 200 now; any certificate will do, as the server is our own.

    Args:
        body: JSON to post, or None to get.
    """
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    if api_key:
        request.add_header("authorization", f"Bearer {api_key}")
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if url.startswith("https:"):
        handlers.append(urllib.request.HTTPSHandler(context=ssl._create_unverified_context()))
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=PROBE_TIMEOUT_S) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError, http.client.HTTPException):
        return False


def free_port() -> int:
    """A port that nothing listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _stop(process: subprocess.Popen[bytes]) -> None:
    family = family_of(process.pid)
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        pass
    finally:  # also when a second Ctrl-C ends the wait
        kill(family)
        process.wait()

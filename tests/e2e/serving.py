"""`omni serve` as a process under test."""

from __future__ import annotations

import os
import re
import signal
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

OMNI = str(Path(sys.executable).parent / "omni")
# A start takes 10 to 15 s on a quiet machine with two cores; these bounds catch hangs.
READY_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 60.0
POLL_S = 0.05
CHAT_MODEL = "smollm2-135m-instruct"
EMBED_MODEL = "minilm-l6"


def poll_until(condition: object, timeout_s: float, what: str) -> None:
    """Call `condition` until it is true.

    Raises:
        AssertionError: If it is not within `timeout_s`.
    """
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {timeout_s} s"
        time.sleep(POLL_S)


@dataclass
class Server:
    """One `omni serve` process.

    Attributes:
        url: Its address, without a path.
        log: What it has written.
        headers: What a request needs, such as a key.
        trust: For a server that speaks TLS.
    """

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    headers: dict[str, str] = field(default_factory=dict)
    trust: ssl.SSLContext | None = None
    seen: dict[int, psutil.Process] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"{'https' if self.trust else 'http'}://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Wait until `/readyz` answers 200; the process's death ends the wait."""
        poll_until(self._is_ready, timeout_s, "ready")

    def _is_ready(self) -> bool:
        self.note_family()
        assert self.process.poll() is None, (
            f"it ended with {self.process.returncode}:\n{self.text()}"
        )
        try:
            verify = self.trust or True
            reply = httpx.get(
                f"{self.url}/readyz", headers=self.headers, verify=verify, timeout=5.0
            )
            return reply.status_code == 200
        except httpx.TransportError:
            return False

    def text(self) -> str:
        """All that it has written."""
        return self.log.read_text(errors="replace")

    def family(self) -> dict[str, list[psutil.Process]]:
        """Its live descendants by kind: zygote, frontend, engine, worker, other."""
        kinds: dict[str, list[psutil.Process]] = {}
        for child in psutil.Process(self.pid).children(recursive=True):
            try:
                title = " ".join(child.cmdline())
                if child.status() == psutil.STATUS_ZOMBIE:
                    continue
            except psutil.NoSuchProcess:
                continue
            names = {"omni: zygote": "zygote", "omni: frontend": "frontend"}
            names |= {"EngineCore": "engine", "Worker": "worker"}
            kind = next((kind for mark, kind in names.items() if mark in title), "other")
            kinds.setdefault(kind, []).append(child)
        return kinds

    def note_family(self) -> None:
        """Remember every process that is there now, for `survivors`."""
        try:
            family = psutil.Process(self.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return
        self.seen |= {child.pid: child for child in family}

    def survivors(self) -> list[str]:
        """Processes noted before that still run, as their command lines."""
        alive = []
        for child in self.seen.values():
            try:
                # psutil compares the creation time, so another process with this pid is not ours.
                if child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
                    alive.append(f"{child.pid} {' '.join(child.cmdline())}")
            except psutil.NoSuchProcess:
                continue
        return alive

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it and return its exit code; it is killed if it hangs."""
        self.note_family()
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def start_server(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> Server:
    """Start `omni serve` on a free port, without waiting for more than its first line."""
    log = folder / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [OMNI, "serve", "--port", "0", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
    server = Server(process, 0, log)
    poll_until(lambda: _address(server) or process.poll() is not None, 60.0, "first line")
    server.port = _address(server)
    return server


def _address(server: Server) -> int:
    """The port that it says it is on, or 0."""
    found = re.search(r"https?://\S+:([0-9]+)\b", server.text())
    return int(found[1]) if found else 0

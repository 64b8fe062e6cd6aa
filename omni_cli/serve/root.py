"""The composition root: the one place where the parts of a server are built and wired."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from importlib.metadata import version
from pathlib import Path

import msgspec

from engine_bridge.errors import ChildDied, StartError
from engine_bridge.plan import RuntimePlan
from engine_bridge.process import become_subreaper
from engine_bridge.run_directory import RunDirectory
from engine_bridge.runtime import FrontDoor, StageRuntime
from engine_bridge.status import RuntimeStatus
from omni_cli.serve.announce import Announcer
from omni_cli.serve.launching import (
    DEFAULT_LOG_LEVEL,
    DISTRIBUTION,
    FRONTEND,
    keep_log,
    make_launcher,
    stopping,
)
from omni_cli.terminal import Terminal
from server.accept import AcceptLedger
from server.early import EarlyResponder
from server.settings import HttpPlan

__all__ = ["DRAIN_TIMEOUT_S", "run"]

FRONTEND_TARGET = "server.frontend:main"
FRONTEND_MODULES = ("server.frontend",)
# Longest that running requests may take once the end was asked for.
DRAIN_TIMEOUT_S = 30.0
EXIT_DONE = 0
EXIT_INTERRUPTED = 130


def run(
    plan: RuntimePlan,
    http: HttpPlan,
    sock: socket.socket,
    terminal: Terminal,
    *,
    on_cpu: bool,
    log_level: str | None,
    log_folder: Path,
) -> int:
    """Serve until a signal ends it.

    Args:
        plan: What to run; validated.
        http: What frontends are told.
        sock: Listening; closed at the end.
        terminal: For messages, on standard error.
        on_cpu: Whether vLLM's platform is the CPU.
        log_level: Lowest level of the children's own lines that is shown; None for the default.
        log_folder: Where the lines of a child that failed are kept.

    Returns:
        0 after SIGTERM, 130 after SIGINT; both after a drain.

    Raises:
        StartError: If a child never became ready.
        ChildDied: If one died after that.
    """
    become_subreaper()
    directory = RunDirectory()
    try:
        return asyncio.run(
            _House(plan, http, sock, terminal, directory, log_folder, log_level).serve(on_cpu)
        )
    finally:
        directory.remove()
        sock.close()


class _House:
    """The parts of one run, wired."""

    def __init__(
        self,
        plan: RuntimePlan,
        http: HttpPlan,
        sock: socket.socket,
        terminal: Terminal,
        directory: RunDirectory,
        log_folder: Path,
        log_level: str | None,
    ) -> None:
        self._plan = plan
        self._http = http
        self._sock = sock
        self._terminal = terminal
        self._directory = directory
        self._log_folder = log_folder
        self._log_level = log_level or DEFAULT_LOG_LEVEL
        self._announcer = Announcer(terminal, plan, sock.getsockname(), log_level, http)
        self._runtime: StageRuntime | None = None
        self._interrupted = False

    async def serve(self, on_cpu: bool) -> int:
        early = EarlyResponder(self._sock, self._status, self._http)
        ledger = AcceptLedger.create(self._plan.api_server_count)
        door = FrontDoor(
            target=FRONTEND_TARGET,
            preload=FRONTEND,
            fds=(self._sock.fileno(), ledger),
            hand_over=early.stop,
            drain_timeout_s=DRAIN_TIMEOUT_S,
            version=version(DISTRIBUTION),
            settings=msgspec.json.encode(self._http),
        )
        launcher = make_launcher(
            self._plan,
            self._directory,
            on_cpu=on_cpu,
            log_level=self._log_level,
            frontend_modules=FRONTEND_MODULES,
            write=self._announcer.line,
            on_preloaded=self._preloaded,
        )
        runtime = StageRuntime(self._plan, launcher, self._directory, door, self._announcer.show)
        self._runtime = runtime
        await early.start()
        try:
            with stopping(self._stop), self._announcer:
                await runtime.run()
        except (StartError, ChildDied) as error:
            lines = runtime.last_lines(error.child)
            keep_log(self._terminal, self._log_folder, error.child, lines)
            raise
        finally:
            await early.stop()
            os.close(ledger)
        return EXIT_INTERRUPTED if self._interrupted else EXIT_DONE

    def _status(self) -> RuntimeStatus:
        assert self._runtime is not None
        return self._runtime.status()

    def _preloaded(self, group: str, seconds: float) -> None:
        assert self._runtime is not None
        self._runtime.preloaded(group, seconds)

    def _stop(self, number: signal.Signals) -> None:
        assert self._runtime is not None
        self._interrupted = self._interrupted or number == signal.SIGINT
        self._announcer.stopping()
        self._runtime.request_stop()

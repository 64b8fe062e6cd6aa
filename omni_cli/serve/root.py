"""The composition root: the one place where the parts of a server are built and wired."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import msgspec

from engine_bridge import preload
from engine_bridge.errors import ChildDied, StartError
from engine_bridge.launcher import Launcher, SpawnLauncher, ZygoteLauncher
from engine_bridge.plan import RuntimePlan
from engine_bridge.process import become_subreaper
from engine_bridge.run_directory import RunDirectory
from engine_bridge.runtime import FrontDoor, StageRuntime
from engine_bridge.status import RuntimeStatus
from engine_bridge.vllm_env import environment
from omni_cli.serve.announce import Announcer
from omni_cli.terminal import Terminal
from server.accept import AcceptLedger
from server.early import EarlyResponder
from server.settings import HttpPlan

__all__ = ["DRAIN_TIMEOUT_S", "run"]

DISTRIBUTION = "omni-serve"
FRONTEND = "frontend"
FRONTEND_TARGET = "server.frontend:main"
FRONTEND_MODULES = ("server.frontend",)
# Longest that running requests may take once the end was asked for.
DRAIN_TIMEOUT_S = 30.0
# The children are told the hashes of the keys; the keys themselves are nobody's business.
KEY_VARIABLE = "OMNI_API_KEY"
DEFAULT_LOG_LEVEL = "warning"
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
        launcher = self._launcher(on_cpu)
        runtime = StageRuntime(self._plan, launcher, self._directory, door, self._announcer.show)
        self._runtime = runtime
        await early.start()
        try:
            with self._signals(runtime), self._announcer:
                await runtime.run()
        except (StartError, ChildDied) as error:
            self._announcer.keep_log(self._log_folder, error.child, runtime.last_lines(error.child))
            raise
        finally:
            await early.stop()
            os.close(ledger)
        return EXIT_INTERRUPTED if self._interrupted else EXIT_DONE

    def _status(self) -> RuntimeStatus:
        assert self._runtime is not None
        return self._runtime.status()

    def _launcher(self, on_cpu: bool) -> Launcher:
        offline = all(Path(stage.model_path).is_dir() for stage in self._plan.stages)
        env = environment(
            {name: value for name, value in os.environ.items() if name != KEY_VARIABLE},
            temporary=self._directory.temporary,
            offline=offline,
            on_cpu=on_cpu,
            eager=all(stage.vllm_args.get("enforce_eager") for stage in self._plan.stages),
            log_level="debug" if self._log_level == "debug" else "info",
        )
        if self._plan.start_method == "spawn":
            return SpawnLauncher(env, self._log_level, self._announcer.line)
        engine = preload.ENGINE_MODULES + (preload.ENGINE_CPU_MODULES if on_cpu else ())
        groups = {preload.ENGINE: engine, FRONTEND: FRONTEND_MODULES}
        return ZygoteLauncher(env, groups, self._log_level, self._announcer.line, self._preloaded)

    def _preloaded(self, group: str, seconds: float) -> None:
        assert self._runtime is not None
        self._runtime.preloaded(group, seconds)

    @contextlib.contextmanager
    def _signals(self, runtime: StageRuntime) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def stop(number: signal.Signals) -> None:
            self._interrupted = self._interrupted or number == signal.SIGINT
            self._announcer.stopping()
            runtime.request_stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop, number)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
                # All is stopped: one more signal must not cut short what is still to be removed,
                # nor change the exit code.
                signal.signal(number, signal.SIG_IGN)

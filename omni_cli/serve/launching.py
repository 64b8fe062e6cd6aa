"""What every composition root needs: a launcher for its children, the signals that end a run, what
is said while it loads, and the last lines of a child that failed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from engine_bridge import preload
from engine_bridge.launcher import Launcher, SpawnLauncher, ZygoteLauncher
from engine_bridge.plan import RuntimePlan
from engine_bridge.run_directory import RunDirectory
from engine_bridge.status import RuntimeStatus
from engine_bridge.vllm_env import environment
from omni_cli.serve.hub import is_offline
from omni_cli.terminal import Terminal

__all__ = [
    "DEFAULT_LOG_LEVEL",
    "DISTRIBUTION",
    "FRONTEND",
    "compiles_nothing",
    "keep_log",
    "loading_text",
    "make_launcher",
    "stopping",
    "without_keys",
]

DISTRIBUTION = "omni-serve"
FRONTEND = "frontend"
# The children are told the hashes of the keys; the keys themselves are nobody's business. vLLM's
# variable is not read, but holds a key as well.
KEY_VARIABLES = ("OMNI_API_KEY", "VLLM_API_KEY")
DEFAULT_LOG_LEVEL = "warning"


def make_launcher(
    plan: RuntimePlan,
    directory: RunDirectory,
    *,
    on_cpu: bool,
    log_level: str,
    frontend_modules: tuple[str, ...],
    write: Callable[[str], None],
    on_preloaded: Callable[[str, float], None],
) -> Launcher:
    """The launcher that a plan asks for.

    Args:
        plan: What will be run.
        directory: Of the run.
        on_cpu: Whether vLLM's platform is the CPU.
        log_level: Lowest level of the children's lines that is passed on.
        frontend_modules: What the preload group of the frontends holds.
        write: Takes those lines.
        on_preloaded: Told each preload group that is in, and its seconds.
    """
    env = environment(
        without_keys(os.environ),
        temporary=directory.temporary,
        offline=is_offline(plan.stages),
        on_cpu=on_cpu,
        eager=all(compiles_nothing(stage.vllm_args) for stage in plan.stages),
        log_level="debug" if log_level == "debug" else "info",
    )
    if plan.start_method == "spawn":
        return SpawnLauncher(env, log_level, write)
    engine = preload.ENGINE_MODULES + (preload.ENGINE_CPU_MODULES if on_cpu else ())
    groups = {preload.ENGINE: engine, FRONTEND: frontend_modules}
    return ZygoteLauncher(env, groups, log_level, write, on_preloaded)


def without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that the children are given."""
    return {name: value for name, value in environ.items() if name not in KEY_VARIABLES}


def compiles_nothing(vllm_args: Mapping[str, object]) -> bool:
    """Whether a stage with these arguments runs without compilation: eagerly, or by ``-O0``, where
    nothing more exact says otherwise."""
    exact = vllm_args.get("compilation_config")
    return bool(vllm_args.get("enforce_eager")) or (
        not exact and str(vllm_args.get("optimization_level")) == "0"
    )


@contextlib.contextmanager
def stopping(stop: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Have SIGTERM and SIGINT call `stop` inside the running loop; after the block they do nothing.

    All is stopped by then: one more signal must not cut short what is still to be removed, nor
    change the exit code.
    """
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)


def loading_text(status: RuntimeStatus) -> str:
    """What a run that is not ready is waiting for, and since when, for a terminal."""
    running = ", ".join(phase.name for phase in status.phases if phase.ended_at is None)
    return f"loading {running} {time.monotonic() - status.started_at:.0f} s"


def keep_log(terminal: Terminal, folder: Path, child: str, lines: list[str]) -> None:
    """Keep what a failed child wrote, and say where; nothing is said if nothing can be kept."""
    if not lines:
        return
    path = folder / f"{child.replace(' ', '-')}.{os.getpid()}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    except OSError:
        return
    terminal.note(f"the last lines of {child} are in {path}")

"""The way into a run: the sources are read here, and nothing is imported for a line that cannot be
read; ``setup`` does the rest, and the composition root what follows.
"""

from __future__ import annotations

import contextlib
import gc
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine_bridge.errors import UsageError
from omni_cli.flags.catalogue import Catalogue
from omni_cli.flags.parsed import Parsed
from omni_cli.serve.layer import Layer
from omni_cli.serve.problems import show_problems
from omni_cli.serve.sources import read_sources
from omni_cli.terminal import Terminal

if TYPE_CHECKING:
    from engine_bridge.plan import RuntimePlan
    from omni_cli.serve.settings import ServeSettings
    from server.settings import HttpPlan

__all__ = ["Prepared", "Ready", "prepare", "prepare_stages", "serve"]

DONE = 0
USAGE = 2
# vLLM's arguments that make it write lines, all of them at the level of info.
LOGGING = ("enable_log_requests", "enable_log_outputs", "enable_logging_iteration_details")
PLUGINS_VARIABLE = "PYDANTIC_DISABLE_PLUGINS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Stages that can start.

    Attributes:
        settings: Checked settings.
        plan: What to run.
        terminal: With the verbosity that the settings ask for.
        on_cpu: Whether vLLM's platform is the CPU.
        log_folder: Where the log of a child that failed is kept.
    """

    settings: ServeSettings
    plan: RuntimePlan
    terminal: Terminal
    on_cpu: bool
    log_folder: Path

    @property
    def log_level(self) -> str | None:
        """What was asked for; ``--verbose`` alone asks for the children's lines as well, and so
        does a flag of vLLM's whose only use is such lines."""
        runtime = self.settings.runtime
        wordy = runtime.verbose or any(
            stage.vllm_args.get(dest) for stage in self.plan.stages for dest in LOGGING
        )
        return runtime.log_level or ("info" if wordy else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A server that can start. Whoever gets it owns the socket.

    Attributes:
        ready: Its stages.
        http: What frontends are told.
        listener: The bound, listening socket.
    """

    ready: Ready
    http: HttpPlan
    listener: socket.socket


def serve(parsed: Parsed, flags: Catalogue) -> int:
    """Serve until interrupted, or show the settings if that is what the command line asks for.

    Args:
        parsed: The command line; it does not ask for help.
        flags: The catalogue.

    Returns:
        The exit code. Problems found by validation have been shown, all of them.

    Raises:
        ModelError: If a bundled model is not in the cache and cannot be fetched.
        UsageError: If the settings are wanted as JSON but not to be shown.
        SystemExit: If a SIGTERM came while one was fetched; the code is 0.
    """
    if parsed.print_config:
        return _show(parsed, flags)
    if parsed.json:
        raise UsageError("--json", None, "says how settings are shown", "add --print-config")
    prepared = prepare(parsed, flags)
    if prepared is None:
        return USAGE
    from omni_cli.serve.root import run  # noqa: PLC0415 - what it imports, a refusal does not pay

    ready = prepared.ready
    return run(
        ready.plan,
        prepared.http,
        prepared.listener,
        ready.terminal,
        on_cpu=ready.on_cpu,
        log_level=ready.log_level,
        log_folder=ready.log_folder,
    )


def prepare(parsed: Parsed, flags: Catalogue) -> Prepared | None:
    """Do everything that precedes the start of the first process; None if there are problems,
    which are then shown.

    Raises:
        ModelError: If a bundled model is not in the cache and cannot be fetched.
    """
    layers = _layers(parsed, flags)
    if layers is None:
        return None
    with _quick_imports():
        from omni_cli.serve import setup  # noqa: PLC0415 - late: 0.15 s

    return setup.prepare(layers, flags)


def prepare_stages(parsed: Parsed, flags: Catalogue, *, fetch: bool = True) -> Ready | None:
    """The same for a command that runs stages without HTTP: no socket is bound, and what is said
    about one is not looked at.

    Args:
        parsed: The command line.
        flags: The catalogue.
        fetch: Whether bundled models that are not in the cache are fetched; without them the plan
            can be read but not run.

    Raises:
        ModelError: If a bundled model is not in the cache and cannot be fetched.
    """
    layers = _layers(parsed, flags)
    if layers is None:
        return None
    with _quick_imports():
        from omni_cli.serve import setup  # noqa: PLC0415 - late: 0.15 s

    return setup.prepare_stages(layers, flags, fetch=fetch)


@contextlib.contextmanager
def _quick_imports() -> Iterator[None]:
    """Import without what takes a seventh of the time and does nothing for us: the collector, which
    finds no garbage among new classes, and a search of all installed packages for plugins that
    have a say in pydantic's models.
    """
    before, collects = os.environ.get(PLUGINS_VARIABLE), gc.isenabled()
    os.environ[PLUGINS_VARIABLE] = "__all__"
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
        if before is None:
            del os.environ[PLUGINS_VARIABLE]  # the children's plugins are no matter of ours
        else:
            os.environ[PLUGINS_VARIABLE] = before


def _show(parsed: Parsed, flags: Catalogue) -> int:
    layers = _layers(parsed, flags)
    if layers is None:
        return USAGE
    with _quick_imports():
        from omni_cli.serve import setup  # noqa: PLC0415 - late: 0.15 s

    return DONE if setup.show(layers, flags, json=parsed.json) else USAGE


def _layers(parsed: Parsed, flags: Catalogue) -> tuple[Layer, ...] | None:
    """Read all sources; None, with every problem shown, if the command line holds a flag that does
    not exist: what stands around it may mean anything, so it is not checked further."""
    layers = read_sources(parsed, flags, os.environ)
    terminal = Terminal()
    for warning in dict.fromkeys(text for layer in layers for text in layer.warnings):
        terminal.note(f"warning: {warning}")
    # A problem of a known flag is one of its value; the rest of the line can be relied on.
    if all(flags.find(problem.subject.partition(".")[0]) for problem in parsed.problems):
        return layers
    show_problems([problem for layer in layers for problem in layer.problems], terminal)
    return None

"""Setup of a run, in order: sources, settings, pipeline, socket, facts, validation, models, plan;
then the composition root.

Everything that the user can correct is found here, before any heavy import, and reported in one go.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine_bridge.errors import UsageError
from engine_bridge.models.store import ModelStore, cache_root
from engine_bridge.pipelines import Pipeline, read_pipeline
from engine_bridge.plan import RuntimePlan
from omni_cli.flags.catalogue import Catalogue
from omni_cli.flags.parsed import Parsed
from omni_cli.serve.facts import collect_facts
from omni_cli.serve.fetch import Stopped, fetch_missing
from omni_cli.serve.layer import TARGET
from omni_cli.serve.listen import bind_listener, resolve
from omni_cli.serve.plan import build_plan
from omni_cli.serve.problems import Problem
from omni_cli.serve.sources import read_sources
from omni_cli.serve.stage_args import read_stage_args
from omni_cli.serve.stages import StageWish, is_pipeline_file, stage_wishes
from omni_cli.serve.validate import validate
from omni_cli.terminal import Terminal

if TYPE_CHECKING:
    from omni_cli.serve.settings import ServeSettings
    from server.settings import HttpPlan

__all__ = ["Prepared", "Ready", "prepare", "prepare_stages", "serve"]

DONE = 0
USAGE = 2


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
        """What was asked for; ``--verbose`` alone asks for the children's lines as well."""
        return self.settings.runtime.log_level or (
            "info" if self.settings.runtime.verbose else None
        )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What all sources together ask for, whether or not it can be run.

    Attributes:
        problems: What is wrong with it so far, before machine and models were looked at.
    """

    settings: ServeSettings
    stages: tuple[StageWish, ...]
    problems: list[Problem]


def serve(parsed: Parsed, flags: Catalogue) -> int:
    """Serve until interrupted, or show the settings if that is what the command line asks for.

    Args:
        parsed: The command line; it does not ask for help.
        flags: The catalogue.

    Returns:
        The exit code. Problems found by validation have been shown, all of them.

    Raises:
        ModelError: If a bundled model is not in the cache and cannot be fetched.
    """
    if parsed.print_config:
        return _show(parsed, flags)
    try:
        prepared = prepare(parsed, flags)
    except Stopped:
        return DONE
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
    wanted = _wanted(parsed, flags)
    if wanted is None:
        return None
    from omni_cli.serve.http_plan import http_plan  # noqa: PLC0415 - late, as the settings are

    with ExitStack() as until_sure:
        listener, error = _bound(wanted.settings, wanted.problems)
        if listener is not None:
            until_sure.enter_context(listener)
        bound = listener.getsockname()[0] if listener else ""
        http, faults = http_plan(wanted.settings, bound)
        ready = _planned(wanted, faults, error, listener, http)
        if ready is None or listener is None:
            return None
        until_sure.pop_all()
        return Prepared(ready=ready, http=http, listener=listener)


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
    wanted = _wanted(parsed, flags)
    return None if wanted is None else _planned(wanted, [], None, None, None, fetch=fetch)


def _planned(
    wanted: _Wanted,
    faults: Sequence[Problem],
    error: UsageError | None,
    listener: socket.socket | None,
    http: HttpPlan | None,
    *,
    fetch: bool = True,
) -> Ready | None:
    """Collect facts, validate, fetch and plan; None if there are problems, which are then shown."""
    settings, stages = wanted.settings, wanted.stages
    terminal = Terminal(_verbosity(settings))
    store = ModelStore(cache_root(os.environ))
    facts = collect_facts(stages, store, os.environ, error, settings)
    problems = [*wanted.problems, *faults]
    problems += _new(problems, validate(settings, stages, facts))
    if problems:
        _refuse(problems, terminal)
        return None
    if fetch:
        facts = replace(facts, models=fetch_missing(facts.models, store, terminal, listener, http))
    return Ready(
        settings=settings,
        plan=build_plan(settings, stages, facts),
        terminal=terminal,
        on_cpu=facts.platform == "cpu",
        log_folder=store.root / "logs",
    )


def _show(parsed: Parsed, flags: Catalogue) -> int:
    """Print the settings; nothing is bound, fetched or started. What keeps them from being served
    is told as well, and is the exit code."""
    wanted = _wanted(parsed, flags)
    if wanted is None:
        return USAGE
    from omni_cli.serve.http_plan import http_plan  # noqa: PLC0415 - late, as the settings are
    from omni_cli.serve.print_config import as_json, as_yaml  # noqa: PLC0415

    settings, stages = wanted.settings, wanted.stages
    terminal = Terminal(_verbosity(settings))
    facts = collect_facts(stages, ModelStore(cache_root(os.environ)), os.environ, settings=settings)
    http, faults = http_plan(settings, _address(settings))
    problems = wanted.problems + faults
    problems += _new(problems, validate(settings, stages, facts))
    plan = None if problems else build_plan(settings, stages, facts)
    show = as_json if parsed.json else as_yaml
    terminal.out.write(show(settings, http, plan, stages, facts))
    if problems:
        _refuse(problems, terminal)
        return USAGE
    return DONE


def _wanted(parsed: Parsed, flags: Catalogue) -> _Wanted | None:
    """Read and merge all sources; None, with every problem shown, if the command line holds a flag
    that does not exist: what stands around it may mean anything."""
    layers = read_sources(parsed, flags, os.environ)
    terminal = Terminal()
    for warning in dict.fromkeys(text for layer in layers for text in layer.warnings):
        terminal.note(f"warning: {warning}")
    if not _readable(parsed, flags):
        _refuse([problem for layer in layers for problem in layer.problems], terminal)
        return None
    from omni_cli.serve.settings import read_settings  # noqa: PLC0415 - late: 0.17 s

    settings, problems = read_settings(layers, flags)
    pipeline, faults = _pipeline(settings, flags)
    # A pipeline that cannot be read says nothing about its stages; what can be checked without
    # them still is.
    stages = () if pipeline is None and faults else stage_wishes(settings, pipeline)
    return _Wanted(settings=settings, stages=stages, problems=problems + faults)


def _readable(parsed: Parsed, flags: Catalogue) -> bool:
    """Whether every problem of the command line is one of a known flag's value."""
    return all(flags.find(problem.subject.partition(".")[0]) for problem in parsed.problems)


def _pipeline(settings: ServeSettings, flags: Catalogue) -> tuple[Pipeline | None, list[Problem]]:
    target = settings.runtime.target
    if not is_pipeline_file(target):
        return None, []
    path = Path(target).expanduser()
    pipeline, faults = read_pipeline(path)
    if pipeline is not None:
        return read_stage_args(pipeline, flags)
    from omni_cli.serve.sources_file import is_settings_file  # noqa: PLC0415 - it is read already

    if is_settings_file(path, flags):
        problem = Problem(
            subject=settings.subject(TARGET),
            value=target,
            origin=settings.origin(TARGET),
            reason="holds settings, not a pipeline",
            way_out=f"give it as --config {target}",
        )
        return None, [problem]
    return None, [Problem.of(fault, "pipeline") for fault in faults]


def _bound(
    settings: ServeSettings, problems: Sequence[Problem]
) -> tuple[socket.socket | None, UsageError | None]:
    host, port = settings.subject("host"), settings.subject("port")
    if {host, port} & {problem.subject for problem in problems}:
        return None, None
    try:
        return bind_listener(
            settings.http.host, settings.http.port, host_subject=host, port_subject=port
        ), None
    except UsageError as error:
        return None, error


def _address(settings: ServeSettings) -> str:
    """The address that the host stands for, or the host itself if that is not known."""
    try:
        return str(resolve(settings.http.host, settings.subject("host"))[1][0])
    except UsageError:
        return settings.http.host


def _refuse(problems: Sequence[Problem], terminal: Terminal) -> None:
    for problem in problems:
        terminal.error(str(problem))


def _new(known: Sequence[Problem], found: Sequence[Problem]) -> list[Problem]:
    """Problems whose subject is not already at fault: they were computed with a stand-in value."""
    subjects = {problem.subject for problem in known}
    return [problem for problem in found if problem.subject not in subjects]


def _verbosity(settings: ServeSettings) -> int:
    return int(settings.runtime.verbose) - int(settings.runtime.quiet)

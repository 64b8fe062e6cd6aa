"""Setup of a run, in order: settings, pipeline, socket, facts, validation, models, plan; then the
composition root.

Everything that the user can correct is found here, before any heavy import, and reported in one go.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from engine_bridge.errors import UsageError
from engine_bridge.models.store import ModelStore, cache_root
from engine_bridge.pipelines import Pipeline, read_pipeline
from engine_bridge.plan import RuntimePlan
from omni_cli.serve.facts import Facts, collect_facts
from omni_cli.serve.fetch import Stopped, fetch_missing
from omni_cli.serve.listen import bind_listener
from omni_cli.serve.plan import build_plan
from omni_cli.serve.problems import Problem
from omni_cli.serve.settings import ServeSettings, read_settings
from omni_cli.serve.stages import StageWish, is_pipeline_file, stage_wishes
from omni_cli.serve.validate import validate
from omni_cli.terminal import Terminal

__all__ = ["Prepared", "prepare", "serve"]

DONE = 0
USAGE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A run that can start. Whoever gets it owns the socket.

    Attributes:
        settings: Checked settings.
        plan: What to run.
        listener: The bound, listening socket.
        terminal: With the verbosity that the settings ask for.
        on_cpu: Whether vLLM's platform is the CPU.
        log_folder: Where the log of a child that failed is kept.
    """

    settings: ServeSettings
    plan: RuntimePlan
    listener: socket.socket
    terminal: Terminal
    on_cpu: bool
    log_folder: Path


def serve(given: Mapping[str, object]) -> int:
    """Serve until interrupted.

    Args:
        given: Flag values by settings field; None stands for a flag that was not given.

    Returns:
        The exit code. Problems found by validation have been shown, all of them.

    Raises:
        ModelError: If a bundled model is not in the cache and cannot be fetched.
    """
    try:
        prepared = prepare(given)
    except Stopped:
        return DONE
    if prepared is None:
        return USAGE
    from omni_cli.serve.root import run  # noqa: PLC0415 - what it imports, a refusal does not pay

    return run(
        prepared.plan,
        prepared.listener,
        prepared.terminal,
        on_cpu=prepared.on_cpu,
        log_level=_log_level(prepared.settings),
        log_folder=prepared.log_folder,
    )


def prepare(given: Mapping[str, object]) -> Prepared | None:
    """Do everything that precedes the start of the first process; None if there are problems,
    which are then shown.

    Raises:
        ModelError: If a bundled model is not in the cache and cannot be fetched.
    """
    settings, problems = read_settings(given)
    terminal = Terminal(_verbosity(settings))
    pipeline, faults = _pipeline(settings)
    problems += [Problem.of(fault, "pipeline") for fault in faults]
    # A pipeline that cannot be read says nothing about its stages; what can be checked without
    # them still is.
    stages = () if faults else stage_wishes(settings, pipeline)
    with ExitStack() as until_sure:
        listener, facts, store = _facts(settings, stages, {each.subject for each in problems})
        if listener is not None:
            until_sure.enter_context(listener)
        problems += _new(problems, validate(settings, stages, facts))
        if problems or listener is None:
            for problem in problems:
                terminal.error(str(problem))
            return None
        models = fetch_missing(facts.models, store, terminal, listener)
        facts = replace(facts, models=models)
        plan = build_plan(settings, stages, facts)
        until_sure.pop_all()
        return Prepared(
            settings=settings,
            plan=plan,
            listener=listener,
            terminal=terminal,
            on_cpu=facts.platform == "cpu",
            log_folder=store.root / "logs",
        )


def _pipeline(settings: ServeSettings) -> tuple[Pipeline | None, list[UsageError]]:
    target = settings.runtime.target
    return read_pipeline(Path(target).expanduser()) if is_pipeline_file(target) else (None, [])


def _facts(
    settings: ServeSettings, stages: tuple[StageWish, ...], at_fault: set[str]
) -> tuple[socket.socket | None, Facts, ModelStore]:
    host, port = settings.subject("host"), settings.subject("port")
    listener = None
    error = None
    if not {host, port} & at_fault:
        try:
            listener = bind_listener(
                settings.http.host, settings.http.port, host_subject=host, port_subject=port
            )
        except UsageError as found:
            error = found
    store = ModelStore(cache_root(os.environ))
    return listener, collect_facts(stages, store, os.environ, error), store


def _new(known: list[Problem], found: list[Problem]) -> list[Problem]:
    """Problems whose subject is not already at fault: they were computed with a stand-in value."""
    subjects = {problem.subject for problem in known}
    return [problem for problem in found if problem.subject not in subjects]


def _log_level(settings: ServeSettings) -> str | None:
    """What was asked for; ``--verbose`` alone asks for the children's lines as well."""
    return settings.runtime.log_level or ("info" if settings.runtime.verbose else None)


def _verbosity(settings: ServeSettings) -> int:
    return int(settings.runtime.verbose) - int(settings.runtime.quiet)

"""The setup behind the reading of sources: settings, pipeline, socket, facts, validation, models,
plan.

Everything that the user can correct is found here, before any heavy import, and reported in one go.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from engine_bridge.errors import UsageError
from engine_bridge.models.store import ModelStore, cache_root
from engine_bridge.pipelines import Pipeline, read_pipeline
from omni_cli.flags.catalogue import Catalogue
from omni_cli.serve.entry import Prepared, Ready
from omni_cli.serve.facts import collect_facts
from omni_cli.serve.http_plan import exposures, http_plan
from omni_cli.serve.layer import TARGET, Layer
from omni_cli.serve.listen import bind_listener, resolve
from omni_cli.serve.plan import build_plan
from omni_cli.serve.problems import Problem, show_problems
from omni_cli.serve.settings import ServeSettings, read_settings
from omni_cli.serve.stage_args import read_stage_args, stage_remarks
from omni_cli.serve.stages import StageWish, is_pipeline_file, stage_wishes
from omni_cli.serve.validate import validate
from omni_cli.terminal import Terminal
from server.settings import HttpPlan

__all__ = ["prepare", "prepare_stages", "show"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What all sources together ask for, whether or not it can be run.

    Attributes:
        problems: What is wrong with it so far, before machine and models were looked at.
        remarks: Sentences about the pipeline file that keep nothing from starting.
    """

    settings: ServeSettings
    stages: tuple[StageWish, ...]
    problems: list[Problem]
    remarks: list[str]


def prepare(layers: Sequence[Layer], flags: Catalogue) -> Prepared | None:
    """Bind the socket, and plan what is served on it; ``entry.prepare`` says more."""
    wanted = _wanted(layers, flags)
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


def prepare_stages(layers: Sequence[Layer], flags: Catalogue, *, fetch: bool) -> Ready | None:
    """Plan stages; ``entry.prepare_stages`` says more."""
    return _planned(_wanted(layers, flags), [], None, None, None, fetch=fetch)


def show(layers: Sequence[Layer], flags: Catalogue, *, json: bool) -> bool:
    """Print the settings; nothing is bound, fetched or started.

    Returns:
        Whether they can be served; if not, what keeps them from it has been told as well.
    """
    wanted = _wanted(layers, flags)
    settings, stages = wanted.settings, wanted.stages
    terminal = Terminal(_verbosity(settings))
    facts = collect_facts(stages, ModelStore(cache_root(os.environ)), os.environ, settings=settings)
    http, faults = http_plan(settings, _address(settings))
    problems = wanted.problems + faults
    problems += _new(problems, validate(settings, stages, facts))
    plan = None if problems else build_plan(settings, stages, facts)
    from omni_cli.serve.print_config import as_json, as_yaml  # noqa: PLC0415 - late: few need it

    write = as_json if json else as_yaml
    terminal.out.write(write(settings, http, plan, stages, facts))
    show_problems(problems, terminal)
    return not problems


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
    warnings = list(wanted.remarks)
    if listener is not None and facts.tls_warning is not None:
        warnings.append(facts.tls_warning)
    if listener is not None and http is not None:
        warnings += exposures(settings, http, listener.getsockname()[0])
    for warning in warnings:
        terminal.note(f"warning: {warning}")
    if problems:
        show_problems(problems, terminal)
        return None
    if fetch:
        from omni_cli.serve.fetch import fetch_missing  # noqa: PLC0415 - late: a refusal needs none

        facts = replace(facts, models=fetch_missing(facts.models, store, terminal, listener, http))
    return Ready(
        settings=settings,
        plan=build_plan(settings, stages, facts),
        terminal=terminal,
        on_cpu=facts.platform == "cpu",
        log_folder=store.root / "logs",
    )


def _wanted(layers: Sequence[Layer], flags: Catalogue) -> _Wanted:
    settings, problems = read_settings(layers, flags)
    pipeline, faults, remarks = _pipeline(settings, flags)
    # A pipeline that cannot be read says nothing about its stages; what can be checked without
    # them still is.
    stages = () if pipeline is None and faults else stage_wishes(settings, pipeline)
    return _Wanted(settings=settings, stages=stages, problems=problems + faults, remarks=remarks)


def _pipeline(
    settings: ServeSettings, flags: Catalogue
) -> tuple[Pipeline | None, list[Problem], list[str]]:
    """The pipeline that TARGET names, if it does; what is wrong with it; remarks about it."""
    target = settings.runtime.target
    if not is_pipeline_file(target):
        return None, [], []
    path = Path(target).expanduser()
    pipeline, faults = read_pipeline(path)
    bad: list[Problem] = []
    if pipeline is not None:
        readable, bad = read_stage_args(pipeline, flags)
        if not faults:
            return readable, bad, stage_remarks(pipeline, flags)
    from omni_cli.serve.sources_file import is_settings_file  # noqa: PLC0415 - late: YAML, 20 ms

    if is_settings_file(path, flags):
        problem = Problem(
            subject=settings.subject(TARGET),
            value=target,
            origin=settings.origin(TARGET),
            reason="holds settings, not a pipeline",
            way_out=f"give it as --config {target}",
        )
        return None, [problem], []
    bad += [Problem.of(fault, "pipeline") for fault in faults]
    return None, sorted(bad, key=lambda each: _line_of(each, path)), []


def _line_of(problem: Problem, path: Path) -> int:
    """The line of a file that a problem is about; 0 if it is about the whole."""
    line = problem.subject.removeprefix(f"{path}:").partition(":")[0]
    return int(line) if line.isdecimal() else 0


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


def _new(known: Sequence[Problem], found: Sequence[Problem]) -> list[Problem]:
    """Problems whose subject is not already at fault: they were computed with a stand-in value."""
    subjects = {problem.subject for problem in known}
    return [problem for problem in found if problem.subject not in subjects]


def _verbosity(settings: ServeSettings) -> int:
    return int(settings.runtime.verbose) - int(settings.runtime.quiet)

"""Examples of the combination table as the real command reads them, up to the verdict."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from engine_bridge.errors import UsageError
from engine_bridge.models.store import ModelStore
from engine_bridge.pipelines import read_pipeline
from omni_cli.flags.catalogue import Catalogue, catalogue
from omni_cli.flags.parser import parse
from omni_cli.serve.facts import Facts, collect_facts
from omni_cli.serve.listen import bind_listener
from omni_cli.serve.problems import Problem
from omni_cli.serve.rules import Example, Line, Rule, problems
from omni_cli.serve.settings import ServeSettings, read_settings
from omni_cli.serve.sources import read_sources
from omni_cli.serve.stage_args import read_stage_args
from omni_cli.serve.stages import StageWish, is_pipeline_file, stage_wishes

GIB = 2**30
# What the tests take for granted, wherever they run.
MACHINE: Mapping[str, object] = {
    "cores": 4,
    "memory_available_bytes": 16 * GIB,
    "platform": "cpu",
    "gpus": 0,
    "vllm_version": "0.32.0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """An example, read.

    Attributes:
        problems: What is wrong before the table is asked.
    """

    settings: ServeSettings
    stages: tuple[StageWish, ...]
    facts: Facts
    problems: list[Problem]

    def found(self, rule: Rule) -> list[Problem]:
        """What one rule says."""
        common = {"settings": self.settings, "stages": self.stages, "facts": self.facts}
        asked = (None,) if rule.each == "run" else self.stages
        lines = [Line(**common, stage=stage) for stage in asked]  # type: ignore[arg-type]
        return [problem for line in lines for problem in problems(rule, line)]


def opened() -> Catalogue:
    """The catalogue as it will be when nothing is refused any more: rules about flags that omni
    does not have yet are asked as well."""
    flags = catalogue()
    taken = {
        dest: replace(flag, scope="stage") if flag.scope == "refused" else flag
        for dest, flag in flags.by_dest.items()
    }
    return replace(flags, by_dest=taken)


@contextmanager
def prepared(example: Example, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Make the example's files and variables; gives its words, with a port that is taken."""
    for name, text in example.files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    for name, value in example.environ.items():
        monkeypatch.setenv(name, value)
    with bind_listener("127.0.0.1", 0) as busy:
        yield example.words.replace("{busy_port}", str(busy.getsockname()[1]))


def read(words: str, flags: Catalogue, environ: Mapping[str, str], **known: object) -> Read:
    """Read a command line in the current folder.

    Args:
        words: As in a shell.
        flags: The catalogue, or ``opened``.
        environ: The variables.
        known: Facts that are taken as given, by field.
    """
    layers = read_sources(parse(shlex.split(words), flags), flags, environ)
    settings, faults = read_settings(layers, flags)
    pipeline = None
    if is_pipeline_file(settings.runtime.target):
        pipeline, unread = read_pipeline(Path(settings.runtime.target))
        assert pipeline is not None, unread
        pipeline, bad = read_stage_args(pipeline, flags)
        faults += bad
    stages = stage_wishes(settings, pipeline)
    error: UsageError | None = None
    try:
        bind_listener(settings.http.host, settings.http.port).close()
    except UsageError as found:
        error = found
    store = ModelStore(Path("cache"))
    facts = collect_facts(stages, store, environ, error)
    return Read(
        settings=settings,
        stages=stages,
        facts=replace(facts, **{**MACHINE, **known}),  # type: ignore[arg-type]
        problems=faults,
    )

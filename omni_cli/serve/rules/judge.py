"""Reads the examples of the table as the command would, up to the verdict; the documentation and
the tests are made with it, no run is.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from engine_bridge.errors import UsageError
from engine_bridge.models.store import ModelStore
from engine_bridge.pipelines import read_pipeline
from omni_cli.flags.catalogue import Catalogue, catalogue
from omni_cli.flags.parser import parse
from omni_cli.serve.facts import Facts, collect_facts
from omni_cli.serve.problems import Problem
from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.rule import Example, Rule, problems
from omni_cli.serve.sources import read_sources
from omni_cli.serve.stage_args import read_stage_args
from omni_cli.serve.stages import StageWish, is_pipeline_file, stage_wishes

if TYPE_CHECKING:
    from omni_cli.serve.settings import ServeSettings

__all__ = ["MACHINE", "Judged", "holds", "judge", "opened", "place"]

BUSY_PORT = 8000
MACHINE: Mapping[str, object] = {
    "cores": 4,
    "memory_available_bytes": 16 * 2**30,
    "platform": "cpu",
    "gpus": 0,
    "vllm_version": "0.32.0",
    "packages": frozenset(),
}
"""Facts that are the same wherever examples are judged; an example's own come on top."""

_IN_USE = UsageError("--port", BUSY_PORT, "is in use", "choose another, or 0 for any free one")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A command line, read.

    Attributes:
        problems: What is wrong before the table is asked.
    """

    settings: ServeSettings
    stages: tuple[StageWish, ...]
    facts: Facts
    problems: list[Problem]

    def found(self, rule: Rule) -> list[Problem]:
        """What one rule says."""
        asked: tuple[StageWish | None, ...] = (None,) if rule.each == "run" else self.stages
        lines = [
            Line(settings=self.settings, stages=self.stages, facts=self.facts, stage=stage)
            for stage in asked
        ]
        return [problem for line in lines for problem in problems(rule, line)]


def opened() -> Catalogue:
    """The catalogue as it would be if it refused nothing: rows about flags that omni does not have
    yet can be judged as well."""
    flags = catalogue()
    taken = {
        dest: replace(flag, scope="stage") if flag.scope == "refused" else flag
        for dest, flag in flags.by_dest.items()
    }
    return replace(flags, by_dest=taken)


def holds(example: Example) -> bool:
    """Whether this machine has the facts that an example needs."""
    here = collect_facts((), ModelStore(Path("cache")), {})
    return all(getattr(here, name) == value for name, value in example.facts.items())


@contextmanager
def place(example: Example) -> Iterator[None]:
    """A folder with the example's files, which is the current one for as long as this lasts."""
    with TemporaryDirectory() as folder, chdir(folder):
        for name, text in example.files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text)
        yield


def judge(
    example: Example,
    flags: Catalogue,
    machine: Mapping[str, object] | None = MACHINE,
    error: UsageError | None = _IN_USE,
) -> Judged:
    """Read an example in the current folder, with no variable but its own.

    Args:
        example: Its files stand in the folder.
        flags: The catalogue, or ``opened()``.
        machine: Facts that are taken as given; None to look at this machine.
        error: Why the port that the example finds taken could not be bound.
    """
    from omni_cli.serve.settings import read_settings  # noqa: PLC0415 - late: 0.17 s

    words = example.words.replace("{busy_port}", str(error.value if error else BUSY_PORT))
    layers = read_sources(parse(shlex.split(words), flags), flags, example.environ)
    settings, faults = read_settings(layers, flags)
    pipeline = None
    if is_pipeline_file(settings.runtime.target):
        pipeline, unread = read_pipeline(Path(settings.runtime.target))
        assert unread == []
        assert pipeline is not None
        pipeline, bad = read_stage_args(pipeline, flags)
        faults += bad
    stages = stage_wishes(settings, pipeline)
    facts = collect_facts(
        stages,
        ModelStore(Path("cache")),
        example.environ,
        error if words != example.words else None,
        settings,
    )
    known = {**machine, **example.facts} if machine is not None else {}
    return Judged(
        settings=settings,
        stages=stages,
        facts=replace(facts, **known),  # type: ignore[arg-type]
        problems=faults,
    )

"""What is wanted of each stage: flags, environment and pipeline file laid over one another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine_bridge.pipelines import Pipeline, StageSpec
from omni_cli.serve.problems import Origin

if TYPE_CHECKING:
    from omni_cli.serve.settings import ServeSettings

__all__ = ["StageWish", "is_pipeline_file", "stage_wishes"]

# Settings that are no arguments of vLLM's engine in a stage, but keys of the stage itself.
_STAGE_FIELDS = {
    "served_model_name": "served_model_name",
    "distributed_executor_backend": "executor",
    "threads": "threads",
}
# Arguments that say how to compile, and do nothing where everything runs eagerly.
_COMPILATION = (
    "optimization_level",
    "compilation_config",
    "cudagraph_capture_sizes",
    "max_cudagraph_capture_size",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageWish:
    """One stage as the user wants it; nothing is filled in that nobody asked for.

    Attributes:
        spec: The entry of the pipeline file, or one made from TARGET.
        args: vLLM arguments by destination.
        served: Explicit served names; may be empty.
        executor: None if nobody said.
        threads: None if nobody said.
        origins: Where each of the above comes from, by argument or settings field.
        settings: For the spelling of flags.
    """

    spec: StageSpec
    args: Mapping[str, object]
    served: tuple[str, ...]
    executor: str | None
    threads: int | None
    origins: Mapping[str, Origin]
    settings: ServeSettings

    def origin(self, name: str) -> Origin:
        """Where an argument comes from."""
        return self.origins.get(name, "default")

    def subject(self, name: str) -> str:
        """An argument as the user spelt it: flag, variable, or its place in the pipeline file."""
        if self.origin(name) != "pipeline":
            return self.settings.subject(name)
        return self.spec.places.get(name) or (
            f"{self.spec.where}: stage {self.spec.name}: {_STAGE_FIELDS.get(name, name)}"
        )

    def number(self, name: str) -> int | None:
        """A whole-number argument; None if not given, or not a number, which vLLM then reports."""
        value = self.args.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def compilation(self) -> str | None:
        """The argument by which somebody says how to compile; None if nobody does."""
        return next((name for name in _COMPILATION if name in self.args), None)

    @property
    def workers(self) -> int:
        """Worker processes that compute for the stage."""
        return max(1, self.number("tensor_parallel_size") or 1)


def is_pipeline_file(target: str) -> bool:
    """Whether TARGET names a pipeline file rather than a model."""
    return target.endswith((".yaml", ".yml"))


def stage_wishes(settings: ServeSettings, pipeline: Pipeline | None) -> tuple[StageWish, ...]:
    """Lay flags and environment over the stages of the pipeline, or over the one that TARGET names.

    Settings that describe one model (``--tokenizer``) are laid over every stage as well; validation
    refuses them for more than one.
    """
    specs = pipeline.stages if pipeline else (_single(settings.runtime.target),)
    return tuple(_wish(settings, spec) for spec in specs)


def _single(target: str) -> StageSpec:
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(target).expanduser().absolute().name).strip("-_")
    return StageSpec(name=name[:64] or "model", model=target, where="TARGET")


def _wish(settings: ServeSettings, spec: StageSpec) -> StageWish:
    given = settings.engine_given()
    origins: dict[str, Origin] = dict.fromkeys(spec.args, "pipeline")
    for name, value in (
        ("served_model_name", spec.served_model_name),
        ("distributed_executor_backend", spec.executor),
        ("threads", spec.threads),
    ):
        if value:
            origins[name] = "pipeline"
    origins |= {name: settings.origin(name) for name in given}
    engine = settings.engine
    return StageWish(
        spec=spec,
        args={**spec.args, **{k: v for k, v in given.items() if k not in _STAGE_FIELDS}},
        served=tuple(dict.fromkeys(engine.served_model_name or spec.served_model_name)),
        executor=engine.distributed_executor_backend or spec.executor,
        threads=engine.threads or spec.threads,
        origins=origins,
        settings=settings,
    )

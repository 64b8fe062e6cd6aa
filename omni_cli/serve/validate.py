"""The combination table of `omni serve`: pure rules over settings, stages and facts, all applied,
all reported.

A rule refuses only what is certain to fail or what is not built; everything else is left to vLLM,
which knows more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from omni_cli.serve.facts import Facts
from omni_cli.serve.problems import Problem
from omni_cli.serve.stages import StageWish

if TYPE_CHECKING:
    from omni_cli.serve.settings import ServeSettings

__all__ = ["VLLM_VERSION", "validate"]

# The engine is driven below its public interface, so another version is another engine.
VLLM_VERSION = "0.32"

_UNBUILT_SIZES = ("pipeline_parallel_size", "data_parallel_size")
# They describe one model, so with several stages nobody can tell whose they are.
_ONE_MODEL_SETTINGS = (
    "served_model_name",
    "tokenizer",
    "chat_template",
    "tool_call_parser",
    "reasoning_parser",
    "quantization",
)


def validate(settings: ServeSettings, stages: Sequence[StageWish], facts: Facts) -> list[Problem]:
    """Find everything that keeps these settings from running on this machine.

    Returns:
        All problems, those of the run before those of the stages; a problem that several stages
        share stands once.
    """
    found = [problem for rule in _RUN_RULES for problem in rule(settings, stages, facts)]
    for stage in stages:
        found += [problem for rule in _STAGE_RULES for problem in rule(stage, facts)]
    return list(dict.fromkeys(found))


def _listener(
    settings: ServeSettings, stages: Sequence[StageWish], facts: Facts
) -> Iterator[Problem]:
    if facts.listener_error is not None:
        field = "host" if facts.listener_error.subject == settings.subject("host") else "port"
        yield Problem.of(facts.listener_error, settings.origin(field))


def _vllm(settings: ServeSettings, stages: Sequence[StageWish], facts: Facts) -> Iterator[Problem]:
    version = facts.vllm_version
    if version is None:
        yield Problem(
            subject="vllm",
            value=None,
            origin="default",
            reason="is not installed",
            way_out="run `make install` for the CPU, or install omni-serve[cuda]",
        )
    elif version and not f"{version}.".startswith(f"{VLLM_VERSION}."):
        yield Problem(
            subject="vllm",
            value=version,
            origin="default",
            reason=f"is not the version that omni drives, which is {VLLM_VERSION}",
            way_out="run `make install` for the CPU, or install omni-serve[cuda]",
        )


def _start_method(
    settings: ServeSettings, stages: Sequence[StageWish], facts: Facts
) -> Iterator[Problem]:
    if settings.runtime.start_method == "fork" and facts.platform == "cuda":
        reason = "is refused where CUDA is present, because a fork inherits a broken CUDA state"
        yield _setting(settings, "start_method", "fork", reason, "use spawn, or leave it on auto")


def _output(
    settings: ServeSettings, stages: Sequence[StageWish], facts: Facts
) -> Iterator[Problem]:
    if settings.runtime.quiet and settings.runtime.verbose:
        reason = f"contradicts {settings.subject('verbose')}"
        yield _setting(settings, "quiet", None, reason, "give one of them")


def _one_model_settings(
    settings: ServeSettings, stages: Sequence[StageWish], facts: Facts
) -> Iterator[Problem]:
    if len(stages) < 2:
        return
    given = settings.engine_given()
    for name in _ONE_MODEL_SETTINGS:
        if name in given:
            value = given[name]
            shown = ", ".join(value) if isinstance(value, tuple) else value
            reason = f"describes one model, but the pipeline has {len(stages)} stages"
            where = "served_model_name" if name == "served_model_name" else f"args.{name}"
            yield _setting(
                settings, name, shown, reason, f"set {where} in the stage it is meant for"
            )


def _memory(
    settings: ServeSettings, stages: Sequence[StageWish], facts: Facts
) -> Iterator[Problem]:
    available = facts.memory_available_bytes
    if facts.platform != "cpu" or available is None:
        return
    # Both are touched as a whole at the start on the CPU; what the processes need comes on top.
    caches = {stage.spec.name: stage.number("kv_cache_memory_bytes") or 0 for stage in stages}
    models = [facts.models[stage.spec.name] for stage in stages if stage.spec.name in facts.models]
    weights = sum(model.weight_bytes or 0 for model in models)
    if weights + sum(caches.values()) <= available:
        return
    largest = max(stages, key=lambda stage: caches[stage.spec.name])
    cache = caches[largest.spec.name]
    reason = (
        f"KV caches of {_size(sum(caches.values()))} and weights of {_size(weights)} "
        f"do not fit into the {_size(available)} of memory that are free"
    )
    if weights > available or not cache:
        model = largest.spec.model
        origin = settings.origin("target") if largest.spec.where == "TARGET" else "pipeline"
        way_out = "free some memory, or serve a smaller model"
        yield Problem(
            subject=f"model {model}", value=None, origin=origin, reason=reason, way_out=way_out
        )
    else:
        way_out = f"give at most {_size(max(0, available - weights))} for all stages together"
        yield _stage(largest, "kv_cache_memory_bytes", cache, reason, way_out)


def _model(stage: StageWish, facts: Facts) -> Iterator[Problem]:
    model = facts.models.get(stage.spec.name)
    if model is not None and model.fault is not None:
        if stage.spec.where == "TARGET":
            yield Problem.of(model.fault, stage.settings.origin("target"))
            return
        problem = Problem.of(model.fault, "pipeline")
        yield dataclasses.replace(problem, subject=f"{stage.spec.where}: {problem.subject}")


def _unbuilt(stage: StageWish, facts: Facts) -> Iterator[Problem]:
    for name in _UNBUILT_SIZES:
        size = stage.number(name)
        if size is not None and size > 1:
            kind = name.partition("_")[0]
            reason = f"{kind} parallelism is not built yet"
            yield _stage(stage, name, size, reason, "leave it at 1")
        elif size is not None and size < 1:
            yield _stage(stage, name, size, "must be at least 1")


def _tensor_parallel(stage: StageWish, facts: Facts) -> Iterator[Problem]:
    name = "tensor_parallel_size"
    size = stage.number(name)
    if size is None:
        return
    if size < 1:
        yield _stage(stage, name, size, "must be at least 1")
    places = (facts.cores, "cores") if facts.platform == "cpu" else (facts.gpus, "GPUs")
    if size > places[0]:
        reason = f"needs as many {places[1]}, and this machine has {places[0]}"
        yield _stage(stage, name, size, reason, f"use at most {places[0]}")
    if size > 1 and stage.executor == "uni":
        subject = stage.subject("distributed_executor_backend")
        reason = f"needs workers of their own, which {subject} uni excludes"
        yield _stage(stage, name, size, reason, "use mp, or leave the executor out")


def _threads(stage: StageWish, facts: Facts) -> Iterator[Problem]:
    if stage.threads is not None and stage.threads > facts.cores:
        reason = f"is more than the {facts.cores} cores that may be used"
        yield _stage(stage, "threads", stage.threads, reason, f"use at most {facts.cores}")


def _tools(stage: StageWish, facts: Facts) -> Iterator[Problem]:
    parser = stage.args.get("tool_call_parser")
    automatic = stage.args.get("enable_auto_tool_choice")
    if automatic is True and not parser:
        reason = "needs a parser for the model's tool calls"
        yield _stage(stage, "enable_auto_tool_choice", None, reason, "add --tool-call-parser")
    if parser and automatic is not True:
        reason = "does nothing unless the model may decide to call tools"
        yield _stage(stage, "tool_call_parser", parser, reason, "add --enable-auto-tool-choice")


def _chat_template(stage: StageWish, facts: Facts) -> Iterator[Problem]:
    template = stage.args.get("chat_template")
    if template in facts.missing_files:
        reason = "is neither a file nor a template"
        yield _stage(stage, "chat_template", template, reason, "give the path of a Jinja file")


def _device_memory(stage: StageWish, facts: Facts) -> Iterator[Problem]:
    if facts.platform == "cpu" and stage.origin("gpu_memory_utilization") in (
        "flag",
        "environment",
    ):
        value = stage.args.get("gpu_memory_utilization")
        reason = "means nothing on the CPU"
        yield _stage(stage, "gpu_memory_utilization", value, reason, "use --kv-cache-memory-bytes")


_RUN_RULES: tuple[Callable[[ServeSettings, Sequence[StageWish], Facts], Iterator[Problem]], ...] = (
    _output,
    _listener,
    _vllm,
    _start_method,
    _one_model_settings,
    _memory,
)
_STAGE_RULES: tuple[Callable[[StageWish, Facts], Iterator[Problem]], ...] = (
    _model,
    _unbuilt,
    _tensor_parallel,
    _threads,
    _tools,
    _chat_template,
    _device_memory,
)


def _setting(
    settings: ServeSettings, field: str, value: object, reason: str, way_out: str = ""
) -> Problem:
    return Problem(
        subject=settings.subject(field),
        value=value,
        origin=settings.origin(field),
        reason=reason,
        way_out=way_out,
    )


def _stage(stage: StageWish, name: str, value: object, reason: str, way_out: str = "") -> Problem:
    return Problem(
        subject=stage.subject(name),
        value=value,
        origin=stage.origin(name),
        reason=reason,
        way_out=way_out,
    )


def _size(number: int) -> str:
    return f"{number / 2**30:.1f} GiB" if number >= 2**30 else f"{number / 2**20:.0f} MiB"

"""From what is wanted to what is run: the plan, with every default filled in.

Each stage's vLLM arguments are laid over one another: the platform's defaults, then the
catalogue's for a bundled model, then the pipeline file's, then environment and flags.

On the CPU omni chooses what plain vLLM does not: eager, since compiling costs more than it gives
at these sizes, unless somebody says how to compile; the uni executor, which halves the engine's
CPU time per token; one core left free, since an OpenMP team that shares its cores collapses;
bfloat16, which has fast kernels where float16 has none; a KV cache from the memory that is free,
because vLLM touches all of it at the start. On CUDA vLLM's own defaults stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine_bridge.plan import RuntimePlan, StagePlan
from omni_cli.serve.facts import Facts
from omni_cli.serve.stages import StageWish

if TYPE_CHECKING:
    from omni_cli.serve.settings import ServeSettings

__all__ = ["build_plan", "default_kv_bytes", "default_threads"]

MIB = 2**20
GIB = 2**30

# One engine or frontend outside its weights and caches, seen as 115 to 300 MB; rounded up.
PROCESS_BYTES = 320 * MIB
# Part of what is left that the KV caches may take: the rest is for activations and for the page
# cache.
KV_SHARE = 0.5
# Below, hardly a conversation fits; above, vLLM's own default on the CPU ends too.
MIN_KV_BYTES = 256 * MIB
MAX_KV_BYTES = 4 * GIB
# Where the free memory is not known.
UNKNOWN_KV_BYTES = 512 * MIB


def build_plan(settings: ServeSettings, stages: Sequence[StageWish], facts: Facts) -> RuntimePlan:
    """Fill in every default; settings and stages have passed ``validate`` with the same facts."""
    served = _served_names(stages, facts)
    return RuntimePlan(
        stages=tuple(
            _stage_plan(stage, stages, served[stage.spec.name], settings, facts) for stage in stages
        ),
        api_server_count=settings.runtime.api_server_count,
        start_method=_start_method(settings, facts),
        ready_timeout_s=settings.runtime.ready_timeout_s,
        stop_timeout_s=settings.runtime.stop_timeout_s,
    )


def default_threads(cores: int, workers: int) -> int:
    """OpenMP threads of each worker: one core stays free for the rest, the others are shared."""
    return max(1, (cores - 1) // workers)


def default_kv_bytes(available: int | None, weights: int, stages: int, frontends: int) -> int:
    """KV cache of one stage whose model is not bundled.

    Args:
        available: Free memory in bytes, or None if unknown.
        weights: Bytes of the weights of all stages together, as far as known.
        stages: Number of stages.
        frontends: Number of frontends.
    """
    if available is None:
        return UNKNOWN_KV_BYTES
    left = available - weights - PROCESS_BYTES * (stages + frontends + 1)
    share = int(left * KV_SHARE / stages)
    return max(MIN_KV_BYTES, min(MAX_KV_BYTES, share)) // MIB * MIB


def _stage_plan(
    stage: StageWish,
    stages: Sequence[StageWish],
    served: tuple[str, ...],
    settings: ServeSettings,
    facts: Facts,
) -> StagePlan:
    workers = sum(each.workers for each in stages)
    on_cpu = facts.platform == "cpu"
    executor: Literal["uni", "mp"]
    if stage.executor is None:
        executor = "uni" if stage.workers == 1 and on_cpu else "mp"
    else:
        executor = "uni" if stage.executor == "uni" else "mp"  # validation refuses all others
    return StagePlan(
        name=stage.spec.name,
        model=stage.spec.model,
        model_path=facts.models[stage.spec.name].path,
        served_names=served,
        vllm_args=_vllm_args(stage, len(stages), settings, facts),
        executor=executor,
        threads=stage.threads or default_threads(facts.cores, workers),
    )


def _vllm_args(
    stage: StageWish, stages: int, settings: ServeSettings, facts: Facts
) -> Mapping[str, object]:
    entry = facts.models[stage.spec.name].entry
    bundled = dict(entry.vllm_args) if entry else {}
    defaults: dict[str, object] = {}
    if facts.platform == "cpu":
        weights = sum(model.weight_bytes or 0 for model in facts.models.values())
        frontends = settings.runtime.api_server_count
        defaults = {
            "enforce_eager": stage.compilation is None,
            "dtype": "bfloat16",
            "kv_cache_memory_bytes": default_kv_bytes(
                facts.memory_available_bytes, weights, stages, frontends
            ),
        }
    else:
        bundled.pop("kv_cache_memory_bytes", None)
    return {**defaults, **bundled, **stage.args}


def _served_names(stages: Sequence[StageWish], facts: Facts) -> dict[str, tuple[str, ...]]:
    """Explicit names as they are; else the model's name where it is free, and the stage's name."""
    explicit = {name for stage in stages for name in stage.served}
    own = {stage.spec.name for stage in stages}
    models = {stage.spec.name: _model_name(stage, facts) for stage in stages}
    wanted = Counter(models[stage.spec.name] for stage in stages if not stage.served)
    names: dict[str, tuple[str, ...]] = {}
    for stage in stages:
        name = stage.spec.name
        model = models[name]
        free = wanted[model] == 1 and model not in explicit and model not in own - {name}
        found = [model] if free else []
        if stage.spec.where != "TARGET" or not found:
            found.append(name)
        names[name] = stage.served or tuple(dict.fromkeys(found))
    return names


def _model_name(stage: StageWish, facts: Facts) -> str:
    model = facts.models[stage.spec.name]
    return Path(model.path).name if model.kind == "folder" else stage.spec.model


def _start_method(settings: ServeSettings, facts: Facts) -> Literal["fork", "spawn"]:
    chosen = settings.runtime.start_method
    if chosen == "auto":
        return "fork" if facts.platform == "cpu" else "spawn"
    return chosen

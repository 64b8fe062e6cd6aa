"""Settings, stages and facts for tests of rules that need no machine."""

from __future__ import annotations

from pathlib import Path

from engine_bridge.models.catalogue import load
from engine_bridge.pipelines import read_pipeline
from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.parsed import Given
from omni_cli.flags.values import read_native
from omni_cli.serve.facts import Facts
from omni_cli.serve.layer import Layer
from omni_cli.serve.model_facts import ModelFacts
from omni_cli.serve.settings import ServeSettings, read_settings
from omni_cli.serve.stage_args import read_stage_args
from omni_cli.serve.stages import StageWish, stage_wishes

GIB = 2**30


def wanted(
    pipeline: str | None = None, **given: object
) -> tuple[ServeSettings, tuple[StageWish, ...]]:
    """Settings from flags, and the stages that they and the text of a pipeline file ask for."""
    flags = catalogue()
    values = {
        dest: Given(read_native(flags.by_dest[dest], value), flags.by_dest[dest].name)
        for dest, value in given.items()
    }
    settings, problems = read_settings([Layer(origin="flag", given=values)], flags)
    assert problems == []
    found = None
    if pipeline is not None:
        path = Path("p.yaml")
        path.write_text(pipeline)
        read, faults = read_pipeline(path)
        assert read is not None, faults
        found, problems = read_stage_args(read, flags)
        assert problems == []
    return settings, stage_wishes(settings, found)


def model_facts(model: str) -> ModelFacts:
    """A model that is here: bundled, a folder if it starts with a slash, or from the hub."""
    entry = load().entry(model)
    if entry is not None:
        size = entry.disk_bytes
        path = f"/cache/models/{model}"
        return ModelFacts(kind="bundled", path=path, here=True, weight_bytes=size, entry=entry)
    kind = "folder" if model.startswith("/") else "hub"
    return ModelFacts(kind=kind, path=model, here=True, weight_bytes=GIB)  # type: ignore[arg-type]


def facts(stages: tuple[StageWish, ...], **changes: object) -> Facts:
    """A machine with 4 cores, 16 GiB free, vLLM for the CPU and every model in place."""
    known: dict[str, object] = {
        "cores": 4,
        "memory_available_bytes": 16 * GIB,
        "platform": "cpu",
        "vllm_version": "0.32.0",
        "models": {stage.spec.name: model_facts(stage.spec.model) for stage in stages},
    }
    return Facts(**known | changes)  # type: ignore[arg-type]

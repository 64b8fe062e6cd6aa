"""What a run is made of: the frozen result of settings and validation, and all that the
StageRuntime is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["RuntimePlan", "StagePlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePlan:
    """One stage: one model, run by one engine.

    Attributes:
        name: Unique within the run; letters, digits, ``-`` and ``_``.
        model: As the user named it (a catalogue name, a Hugging Face id or a folder).
        model_path: What vLLM loads: a folder, or a Hugging Face id.
        served_names: Names by which requests select the stage; the first is the canonical one.
            Never empty.
        vllm_args: vLLM's own engine and frontend arguments by destination (``max_model_len``), JSON
            values, without ``model`` and ``served_model_name``.
        executor: ``uni`` runs the worker inside the engine process, ``mp`` in processes of their
            own.
        threads: OpenMP threads of the stage's worker, at least 1.
    """

    name: str
    model: str
    model_path: str
    served_names: tuple[str, ...]
    vllm_args: Mapping[str, object] = field(default_factory=dict)
    executor: Literal["uni", "mp"] = "uni"
    threads: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimePlan:
    """A whole run.

    Attributes:
        stages: At least one, with unique names and disjoint served names.
        api_server_count: Number of frontends, at least 1.
        start_method: ``fork`` takes every child from the zygote, ``spawn`` starts a fresh
            interpreter for each.
        ready_timeout_s: A child that is not ready by then has failed to start.
        stop_timeout_s: From SIGTERM to SIGKILL, per child.
    """

    stages: tuple[StagePlan, ...]
    api_server_count: int = 1
    start_method: Literal["fork", "spawn"] = "fork"
    ready_timeout_s: float = 600.0
    stop_timeout_s: float = 5.0

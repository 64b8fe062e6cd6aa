"""Defaults and bounds of `omni serve`, as plain constants: the help page shows them without
loading the settings.

Every number that a user can give has its bounds here; the settings and the help text take both
from this module.
"""

from __future__ import annotations

from typing import Literal, get_args

__all__ = [
    "BOUNDS",
    "DEFAULTS",
    "Dtype",
    "Executor",
    "LogLevel",
    "StartMethod",
    "choices",
    "limits",
]

StartMethod = Literal["auto", "fork", "spawn"]
Executor = Literal["uni", "mp"]
LogLevel = Literal["debug", "info", "warning", "error"]
Dtype = Literal["auto", "half", "float16", "bfloat16", "float", "float32"]

DEFAULTS: dict[str, object] = {
    "target": "smollm2-135m-instruct",
    "host": "127.0.0.1",
    "port": 8000,
    "api_server_count": 1,
    "start_method": "auto",
    "ready_timeout_s": 600.0,
    "stop_timeout_s": 5.0,
    "quiet": False,
    "verbose": False,
}
"""By field; a field that is not here has no default of omni's own."""

# A frontend takes some 150 MB, so 64 of them 10 GB; vLLM's own scheduler has no more ranks than
# this in practice.
MAX_API_SERVER_COUNT = 64
MAX_THREADS = 1024
MAX_PARALLEL_SIZE = 1024
# No model reads more; above, a typing error is likelier.
MAX_MODEL_LEN = 100_000_000
MAX_NUM_SEQS = 1_000_000
MAX_BYTES = 2**50
# A day for a start that pulls and loads a very large model; an hour for a stop.
MAX_READY_TIMEOUT_S = 86_400.0
MAX_STOP_TIMEOUT_S = 3_600.0

BOUNDS: dict[str, tuple[float, float]] = {
    "port": (0, 65_535),
    "api_server_count": (1, MAX_API_SERVER_COUNT),
    "ready_timeout_s": (1, MAX_READY_TIMEOUT_S),
    "stop_timeout_s": (0, MAX_STOP_TIMEOUT_S),
    "threads": (1, MAX_THREADS),
    "tensor_parallel_size": (1, MAX_PARALLEL_SIZE),
    "pipeline_parallel_size": (1, MAX_PARALLEL_SIZE),
    "data_parallel_size": (1, MAX_PARALLEL_SIZE),
    "max_model_len": (1, MAX_MODEL_LEN),
    "max_num_seqs": (1, MAX_NUM_SEQS),
    "max_num_batched_tokens": (1, MAX_MODEL_LEN),
    "kv_cache_memory_bytes": (2**20, MAX_BYTES),
    "seed": (0, 2**32 - 1),
    "gpu_memory_utilization": (0.01, 1.0),
}
"""Lowest and highest value, both allowed, by field."""


def limits(field: str) -> str:
    """The bounds as a phrase: ``0 to 65535``."""
    low, high = BOUNDS[field]
    return f"{_plain(low)} to {_plain(high)}"


def choices(kind: object) -> str:
    """The values of a Literal as a phrase: ``auto, fork or spawn``."""
    values = [str(value) for value in get_args(kind)]
    return f"{', '.join(values[:-1])} or {values[-1]}"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)

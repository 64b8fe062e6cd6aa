"""The environment variables with which vLLM is driven: the only place that sets or restores them.

Some are read when a module is imported or a library is loaded, so they must stand in the
environment before the child's interpreter starts; `environment` makes that. Others vLLM changes by
itself while it builds a configuration; `restored` keeps that from leaking.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["environment", "restored", "set_threads", "set_worker_method"]

# CpuPlatform.check_and_update_config writes these on every configuration (vllm/platforms/cpu.py).
CHANGED_BY_VLLM = (
    "LD_PRELOAD",
    "LOCAL_WORLD_SIZE",
    "NUMEXPR_MAX_THREADS",
    "TORCHINDUCTOR_COMPILE_THREADS",
    "TORCHINDUCTOR_CPP_DYNAMIC_THREADS",
    "VLLM_DISABLE_SHARED_EXPERTS_STREAM",
    "VLLM_SSM_CONV_STATE_LAYOUT",
    "VLLM_WORKER_MULTIPROC_METHOD",
)


def environment(
    base: Mapping[str, str],
    *,
    temporary: Path,
    offline: bool,
    on_cpu: bool,
    eager: bool,
    log_level: str,
) -> dict[str, str]:
    """The environment of the zygote, and of spawned children.

    Args:
        base: The parent's own environment; what the user set for vLLM there wins, except where
            noted.
        temporary: Folder for temporary files and vLLM's own sockets.
        offline: Whether everything that is named is local, so that no hub is ever asked.
        on_cpu: Whether the platform is the CPU.
        eager: Whether every stage runs without compiling.
        log_level: vLLM's lowest log level, ``debug`` to ``error``.
    """
    env = dict(base)
    # Per stage there is --kv-cache-memory-bytes; this one would override it for all.
    env.pop("VLLM_CPU_KVCACHE_SPACE", None)
    env["TMPDIR"] = env["VLLM_RPC_BASE_PATH"] = str(temporary)
    # A frontend outlives a stage; without this vLLM's error handler asks the server to exit.
    env["VLLM_KEEP_ALIVE_ON_ENGINE_DEATH"] = "1"
    env.setdefault("VLLM_LOGGING_LEVEL", log_level.upper())
    env.setdefault("VLLM_NO_USAGE_STATS", "1")
    env.setdefault("TOKENIZERS_PARALLELISM", "false")
    env["PYTHONUNBUFFERED"] = "1"
    # torch reads files of its own as UTF-8, whatever the locale says.
    env["PYTHONUTF8"] = "1"
    if offline:
        env.setdefault("HF_HUB_OFFLINE", "1")
    if on_cpu:
        # Read when numpy and scipy load: their thread pools would make the zygote unsafe to fork.
        env["OPENBLAS_NUM_THREADS"] = "1"
        env["OMP_NUM_THREADS"] = "1"
        # Threads are set by call, per stage; vLLM's own binding wants a NUMA node for each worker.
        env.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        if eager:
            # vLLM's own functions are compiled all the same, at their first use: the first request
            # for logprobs waits 16 s for a C++ compiler, which must then be there.
            env.setdefault("TORCHDYNAMO_DISABLE", "1")
        _preload_libgomp(env)
    return env


def _preload_libgomp(env: dict[str, str]) -> None:
    """Have torch's own libgomp loaded first, as vLLM's CPU platform wants it; found without
    importing torch.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return
    for library in sorted(Path(spec.origin).parent.glob("lib/libgomp*.so*")):
        loaded = env.get("LD_PRELOAD", "")
        if str(library) not in loaded:
            env["LD_PRELOAD"] = f"{loaded}:{library}" if loaded else str(library)
        return


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Undo what vLLM does to this process's environment inside the block."""
    before = {name: os.environ.get(name) for name in CHANGED_BY_VLLM}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def set_worker_method(method: str) -> None:
    """How the workers of the mp executor start: ``fork`` or ``spawn``."""
    os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = method


def set_threads(threads: int) -> None:
    """OpenMP threads that vLLM's workers are told to use."""
    os.environ["OMP_NUM_THREADS"] = str(threads)

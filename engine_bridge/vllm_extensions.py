"""Methods added to the engine core, which the parent calls by name over its control rank.

A utility call reaches whatever attribute of the engine core it names.

Source: vllm/v1/engine/core.py, EngineCoreProc._handle_client_request.
"""

from __future__ import annotations

from vllm.v1.engine.core import EngineCore, EngineCoreProc

__all__ = ["install", "omni_gauges"]


def omni_gauges(self: EngineCore) -> dict[str, float]:
    """What the scheduler holds now: running and waiting requests (counts) and the share of KV cache
    in use (0 to 1).
    """
    running, waiting = self.scheduler.get_request_counts()
    return {
        "running": running,
        "waiting": waiting,
        "kv_cache_usage": self.scheduler.kv_cache_manager.usage,
    }


def install() -> None:
    """Add the methods to vLLM's class in this process."""
    EngineCoreProc.omni_gauges = omni_gauges

"""What the zygote imports, by name only: importing this module imports none of it."""

from __future__ import annotations

__all__ = ["ENGINE", "ENGINE_MODULES", "ENGINE_TARGET"]

ENGINE = "engine"
ENGINE_TARGET = "engine_bridge.vllm_engine:main"
# All that an engine needs on its way to ready. A module that is missing here is imported by each
# engine again.
ENGINE_MODULES = (
    "vllm.engine.arg_utils",
    "vllm.v1.engine.core",
    "vllm.v1.executor.multiproc_executor",
    "vllm.v1.executor.uniproc_executor",
    "engine_bridge.vllm_engine",
)
# Only where the platform is the CPU: these touch the device on others.
ENGINE_CPU_MODULES = (
    "vllm.v1.worker.cpu_worker",
    "vllm.v1.worker.cpu_model_runner",
    "vllm.v1.attention.backends.cpu_attn",
    "vllm.model_executor.model_loader",
    "vllm.model_executor.models.llama",
    "vllm.model_executor.models.bert",
)

"""From the parent to an engine process."""

from __future__ import annotations

import msgspec

__all__ = ["StartEngine", "ToEngine"]


class StartEngine(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first and only message to an engine.

    Attributes:
        stage: The stage's name.
        model_path: A folder or a Hugging Face id.
        served_names: As in `StagePlan`.
        vllm_args: As in `StagePlan`.
        executor: ``uni`` or ``mp``.
        threads: OpenMP threads of each worker.
        clients: Ranks that will be connected: the frontends, and the parent as the last.
        handshake_address: ZMQ address of the parent's handshake socket.
        config_path: Where to leave the engine's configuration for the frontends.
        worker_method: ``fork`` or ``spawn``, for the workers of ``mp``.
    """

    stage: str
    model_path: str
    served_names: tuple[str, ...]
    vllm_args: dict[str, object]
    executor: str
    threads: int
    clients: int
    handshake_address: str
    config_path: str
    worker_method: str


ToEngine = StartEngine

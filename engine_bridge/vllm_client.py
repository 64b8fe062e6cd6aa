"""A frontend's way to a running engine: vLLM's AsyncLLM over the listening sockets that this rank
was handed.

Source: vllm/v1/engine/async_llm.py, vllm/v1/engine/core_client.py (client_addresses).
"""

from __future__ import annotations

import argparse
import socket
from dataclasses import dataclass
from pathlib import Path

from vllm.config import VllmConfig
from vllm.v1.engine.async_llm import AsyncLLM

from engine_bridge import vllm_config
from engine_bridge.messages.to_frontend import StageEndpoint

__all__ = ["AttachedStage", "attach"]


@dataclass(frozen=True, slots=True)
class AttachedStage:
    """A stage that this rank can call.

    Attributes:
        name: The stage's name.
        served_names: Names by which requests select it.
        llm: Connected; `generate`, `encode`, `abort` reach the engine.
        args: vLLM's frontend arguments of the stage.
    """

    name: str
    served_names: tuple[str, ...]
    llm: AsyncLLM
    args: argparse.Namespace


def attach(
    endpoint: StageEndpoint, *, rank: int, clients: int, input_fd: int, output_fd: int
) -> AttachedStage:
    """Connect this rank to a stage; inside the running event loop, which it blocks until the engine
    is ready.

    The parent ends this process if the engine dies meanwhile, so the wait ends in every case.

    Args:
        endpoint: Where the stage is.
        rank: This frontend's client rank.
        clients: Ranks of the engine, the parent's included.
        input_fd: Listening socket of the input address; owned from now on.
        output_fd: Listening socket of the output address; owned from now on.
    """
    config: VllmConfig
    config, args = vllm_config.load(Path(endpoint.config_path))
    vllm_config.load_plugins(args)
    config.parallel_config._api_process_rank = rank
    llm = AsyncLLM.from_vllm_config(
        config,
        disable_log_stats=args.disable_log_stats,
        enable_log_requests=args.enable_log_requests,
        client_addresses={
            "input_address": endpoint.input_address,
            "output_address": endpoint.output_address,
            "input_listener": socket.socket(fileno=input_fd),
            "output_listener": socket.socket(fileno=output_fd),
        },
        client_count=clients,
        client_index=rank,
    )
    return AttachedStage(endpoint.name, endpoint.served_names, llm, args)

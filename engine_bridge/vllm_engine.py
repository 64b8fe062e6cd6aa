"""Entry point of an engine process: builds the configuration, leaves it for the frontends, runs
vLLM's EngineCore.

Source: vllm/v1/engine/core.py, EngineCoreProc.run_engine_core.
"""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import torch
from vllm.config import VllmConfig
from vllm.v1.engine.core import EngineCoreProc
from vllm.v1.executor.abstract import Executor
from vllm.v1.executor.uniproc_executor import UniProcExecutor

from engine_bridge import vllm_config, vllm_env, vllm_extensions, vllm_worker
from engine_bridge.blocking import BlockingChannel
from engine_bridge.last_words import one_line
from engine_bridge.messages.from_engine import ConfigWritten, EngineFailed
from engine_bridge.messages.to_engine import StartEngine, ToEngine

__all__ = ["main"]


def main(sock: socket.socket) -> int:
    """Serve one stage until the parent ends it.

    Args:
        sock: This side of the control channel.

    Returns:
        The process's exit code.
    """
    channel = BlockingChannel(sock, ToEngine)
    start, _ = channel.receive()
    assert isinstance(start, StartEngine), "the first message"
    try:
        config = _configure(start)
    except Exception as error:  # noqa: BLE001 - the edge of the process; the parent says it
        channel.send(EngineFailed(cause=one_line(error), rejected=True))
        return 1
    channel.send(ConfigWritten())
    _exit_with(channel)
    try:
        _run(start, config)
    except Exception as error:  # noqa: BLE001 - as above
        channel.send(EngineFailed(cause=one_line(error), rejected=False))
        return 1
    return 0


def _configure(start: StartEngine) -> VllmConfig:
    args = vllm_config.parse(start.model_path, start.served_names, start.vllm_args)
    vllm_config.load_plugins(args)
    config = vllm_config.build(args, start.clients)
    vllm_config.save(Path(start.config_path), config, args)
    return config


def _run(start: StartEngine, config: VllmConfig) -> None:
    vllm_env.set_worker_method(start.worker_method)
    vllm_env.set_threads(start.threads)
    vllm_extensions.install()
    vllm_worker.install()
    executor: type[Executor]
    if start.executor == "uni":
        # vLLM turns uni into mp on the CPU; given from outside it stays, at half the CPU time per
        # token.
        config.parallel_config.distributed_executor_backend = "uni"
        executor = UniProcExecutor
        torch.set_num_threads(start.threads)
    else:
        executor = Executor.get_class(config)
    os.environ["VLLM_PROCESS_NAME_PREFIX"] = f"omni {start.stage}"
    EngineCoreProc.run_engine_core(
        vllm_config=config,
        local_client=True,
        handshake_address=start.handshake_address,
        executor_class=executor,
        log_stats=True,
    )


def _exit_with(channel: BlockingChannel) -> None:
    """End this process when the parent's end of the channel is gone: the guard behind the parent-
    death signal.
    """

    def watch() -> None:
        channel.wait_closed()
        os._exit(1)

    threading.Thread(target=watch, name="omni-parent-guard", daemon=True).start()

"""The workers of the mp executor: bound to the life of their engine, with the stage's own number of
threads.

Source: vllm/v1/executor/multiproc_executor.py, WorkerProc.
"""

from __future__ import annotations

import os

import torch
from vllm.v1.executor.multiproc_executor import WorkerProc

from engine_bridge.process import die_with_parent

__all__ = ["install", "worker_main"]

_vllm_worker_main = WorkerProc.worker_main


def worker_main(*args: object, **kwargs: object) -> None:
    """Stands in for `WorkerProc.worker_main`, by this module's name, so that a spawned worker finds
    it too.
    """
    die_with_parent(os.getppid())
    # A forked worker's libgomp has read its variables long ago, in the zygote.
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    _vllm_worker_main(*args, **kwargs)


def install() -> None:
    """Have this engine start its workers through `worker_main`."""
    WorkerProc.worker_main = staticmethod(worker_main)

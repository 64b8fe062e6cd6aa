"""What becomes of vLLM's flags in omni's house, where they are not simply handed to each stage.

Every flag that would silently do nothing stands here: it is ``satisfied``, if omni does what it
asks for anyway, or ``refused``, with the reason and what to do instead. Rules about combinations
are not made here (omni_cli/serve/validate.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omni_cli.flags.flag import Flag, Scope

__all__ = ["ANY", "DISPOSITIONS", "FORMER", "UNBUILT_VALUES", "Disposition", "remark"]

ANY = "any value"
"""What fulfils a satisfied flag of which no value changes anything, and each gets its due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposition:
    """What becomes of one flag.

    Attributes:
        scope: ``satisfied`` or ``refused``.
        reason: Why; no full stop.
        way_out: What to do instead; may be empty.
        fulfilled: The value of a satisfied flag that asks for what omni does.
    """

    scope: Scope
    reason: str
    way_out: str = ""
    fulfilled: object = True


def _refused(reason: str, way_out: str = "") -> Disposition:
    return Disposition(scope="refused", reason=reason, way_out=way_out)


def _satisfied(reason: str, fulfilled: object = True) -> Disposition:
    return Disposition(scope="satisfied", reason=reason, fulfilled=fulfilled)


_NODES = "stages on several machines are not built yet"
_ENGINES = "several engines for one stage are not built yet"
_GRPC = "gRPC is not built yet"
_SLEEP = "sleep and wake-up are not built yet"
_ELASTIC = "the number of engines is fixed for a run"
_FAULTS = "omni itself watches its engines, and vLLM's fault tolerance has no place in that"
_LINES = "omni sorts the lines of its children by their level"
_NO_ACCESS_LOG = "omni writes no access log"
_ONE_MACHINE = "leave it out: a run has one machine"
_FRONTENDS = "leave it out: all frontends of a run share one address"

DISPOSITIONS: Mapping[str, Disposition] = {
    # Ways to listen and to answer.
    "headless": _refused("a stage without frontends is not built yet"),
    "grpc": _refused(_GRPC, "leave it out and use HTTP"),
    "grpc_port": _refused(_GRPC, "leave it out and use HTTP"),
    "uds": _refused("a Unix socket is not built yet", "use --host and --port"),
    "middleware": _refused(
        "code of others inside the frontends is not built yet", "put a proxy in front"
    ),
    "tokens_only": _refused(
        "a server of tokens only is not built yet",
        "use --enable-scale-out, which opens the same routes",
    ),
    "enable_ssl_refresh": _satisfied("omni always reads changed certificates again"),
    "enable_request_id_headers": _satisfied("omni names every request in x-request-id"),
    "enable_offline_docs": _satisfied("omni's /docs loads nothing from elsewhere"),
    "cohere_is_reasoning_model": _satisfied("omni does not offer Cohere's chat route"),
    # Logs.
    "disable_uvicorn_access_log": _satisfied(_NO_ACCESS_LOG),
    "disable_access_log_for_endpoints": _satisfied(_NO_ACCESS_LOG, fulfilled=ANY),
    "uvicorn_log_level": _refused(_LINES, "use --log-level"),
    "logging_config": _refused(_LINES, "use --log-level"),
    "log_config_file": _refused(_LINES, "use --log-level"),
    "aggregate_engine_logging": _satisfied("each stage has one engine", fulfilled=ANY),
    # Processes on this machine.
    "shutdown_timeout": _refused(
        "omni lets running requests end before it stops an engine", "leave it out"
    ),
    "numa_bind": _refused(
        "binding processes to NUMA nodes is not built yet", "start omni under numactl"
    ),
    "mm_tensor_ipc": _refused(
        "tensors in shared memory between frontend and engine are not built yet",
        "use direct_rpc",
    ),
    # More machines, more engines.
    "nnodes": _refused(_NODES, _ONE_MACHINE),
    "node_rank": _refused(_NODES, _ONE_MACHINE),
    "master_addr": _refused(_NODES, _ONE_MACHINE),
    "master_port": _refused(_NODES, _ONE_MACHINE),
    "data_parallel_address": _refused(_NODES, _ONE_MACHINE),
    "data_parallel_rpc_port": _refused(_NODES, _ONE_MACHINE),
    "data_parallel_rank": _refused(_ENGINES, "leave it out"),
    "data_parallel_start_rank": _refused(_ENGINES, "leave it out"),
    "data_parallel_size_local": _refused(_ENGINES, "leave it out"),
    "data_parallel_backend": _refused("Ray is not built yet", "use mp, or leave it out"),
    "data_parallel_hybrid_lb": _refused(_ENGINES, _FRONTENDS),
    "data_parallel_external_lb": _refused(_ENGINES, _FRONTENDS),
    "data_parallel_multi_port_external_lb": _refused(_ENGINES, _FRONTENDS),
    "data_parallel_supervisor_port": _refused(_ENGINES, _FRONTENDS),
    "dp_supervisor_probe_interval_s": _refused(_ENGINES, _FRONTENDS),
    "dp_supervisor_probe_timeout_s": _refused(_ENGINES, _FRONTENDS),
    "dp_supervisor_probe_failure_threshold": _refused(_ENGINES, _FRONTENDS),
    "enable_elastic_ep": _refused(_ELASTIC, "leave it out"),
    "elastic_ep_max_dp_size": _refused(_ELASTIC, "leave it out"),
    "enable_fault_tolerance": _refused(_FAULTS, "leave it out"),
    "fault_tolerance_config": _refused(_FAULTS, "leave it out"),
    # What needs routes that omni does not offer (server/route_table.py).
    "enable_sleep_mode": _refused(_SLEEP, "leave it out"),
    "sleep_mode_offload_cudagraph": _refused(_SLEEP, "leave it out"),
    "sleep_preserve_parameter_names": _refused(_SLEEP, "leave it out"),
    "enable_nccl_comm_suspend": _refused(_SLEEP, "leave it out"),
    "profiler_config": _refused("profiling is not built yet", "leave it out"),
    "weight_transfer_config": _refused(
        "weight transfer for reinforcement learning is not offered", "leave it out"
    ),
}

UNBUILT_VALUES: Mapping[str, Mapping[str, str]] = {
    "distributed_executor_backend": {
        "ray": "is not built yet",
        "external_launcher": "is not built yet",
    }
}
"""Values that vLLM takes and omni does not, with the reason, by destination."""

FORMER: Mapping[str, str] = {
    "--task": "use --runner pooling, and --convert embed or classify for a generative model",
    "--workers": "use --api-server-count",
    "--device": "the installed vLLM decides that",
    "--enable-reasoning": "use --reasoning-parser alone",
    "--disable-log-requests": "leave it out: requests are logged with --enable-log-requests only",
    "--guided-decoding-backend": "use --structured-outputs-config.backend",
    "--max-seq-len-to-capture": "use --max-cudagraph-capture-size",
    "--cuda-graph-sizes": "use --cudagraph-capture-sizes",
    "--rope-scaling": "use --hf-overrides.rope_scaling",
    "--rope-theta": "use --hf-overrides.rope_theta",
    "--override-neuron-config": "use --additional-config",
    "--override-pooler-config": "use --pooler-config",
    "--speculative-model": "use --spec-model",
    "--num-speculative-tokens": "use --spec-tokens",
    "--num-lookahead-slots": "leave it out",
    "--num-scheduler-steps": "leave it out: vLLM has no such scheduler any more",
    "--multi-step-stream-outputs": "leave it out: vLLM has no such scheduler any more",
    "--swap-space": "use --kv-offloading-size",
    "--use-v2-block-manager": "leave it out: it is always used",
    "--worker-use-ray": "leave it out: Ray is not built yet",
    "--engine-use-ray": "leave it out: Ray is not built yet",
    "--preemption-mode": "leave it out: vLLM always computes again",
}
"""Spellings that vLLM had, or others have, and what stands for them now."""


def remark(flag: Flag, spelled: str, value: object) -> str:
    """A sentence for the user about a value that is taken but does not do what it seems to, or
    soon will not; empty if there is none.

    Args:
        spelled: The flag as the user wrote it.
    """
    if flag.scope == "satisfied" and flag.fulfilled not in (ANY, value):
        return f"{spelled} changes nothing: {flag.reason}"
    if flag.deprecated and flag.scope != "refused":
        return f"{spelled} is deprecated and goes with the next vLLM"
    return ""

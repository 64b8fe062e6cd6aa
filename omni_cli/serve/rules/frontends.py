"""Rows for more than one frontend: what needs a single one, because only one process may lead."""

from __future__ import annotations

from collections.abc import Callable

from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.rule import Example, Found, Rule

__all__ = ["ROWS"]

_SERVE = "vllm/entrypoints/cli/serve.py"
_ON = ("1", "true")


def _several(*dests: str, beyond: int | None = None) -> Callable[[Line], Found]:
    """Several frontends, and one of the flags: given, or above a number if there is one."""

    def when(line: Line) -> Found:
        if line.frontends < 2:
            return False
        for dest in dests:
            asked = line.given(dest) and not line.off(dest)
            if asked and (beyond is None or (line.number(dest) or 0) > beyond):
                return {"blame": dest}
        return False

    return when


def _ray(line: Line) -> Found:
    for dest in ("distributed_executor_backend", "data_parallel_backend"):
        if line.frontends > 1 and line.value(dest) == "ray":
            return {"blame": dest}
    return False


def _runtime_lora(line: Line) -> Found:
    name = "VLLM_ALLOW_RUNTIME_LORA_UPDATING"
    value = line.facts.environ.get(name, "")
    if line.frontends < 2 or value.strip().lower() not in _ON:
        return False
    return {"subject": name, "value": value, "origin": "environment"}


_ONE = "works with one frontend only, and {api_server_count} asks for {api_server_count.value}"
_WAY_OUT = "leave it out, or give {api_server_count} 1"

ROWS = (
    Rule(
        id="frontends-headless",
        flags=("headless", "api_server_count"),
        each="run",
        when=_several("headless"),
        reason="starts no frontend, and {api_server_count} asks for {api_server_count.value}",
        way_out="give one of them",
        source=f"{_SERVE} ServeSubcommand.cmd",
        example=Example(words="--headless --api-server-count 2"),
        allowed=Example(words="--api-server-count 2"),
    ),
    Rule(
        id="frontends-remote-head",
        flags=("nnodes", "master_addr", "data_parallel_address", "api_server_count"),
        when=lambda line: (
            _several("nnodes", beyond=1)(line)
            or _several("master_addr", "data_parallel_address")(line)
        ),
        reason=f"names a head on another machine, which {_ONE}",
        way_out=_WAY_OUT,
        example=Example(words="--data-parallel-address 192.0.2.1 --api-server-count 2"),
        allowed=Example(words="--data-parallel-address 192.0.2.1"),
    ),
    Rule(
        id="frontends-stage-ids",
        flags=("node_rank", "data_parallel_rank", "data_parallel_start_rank", "api_server_count"),
        when=_several("node_rank", "data_parallel_rank", "data_parallel_start_rank"),
        reason=f"picks one part of a run over several processes, which {_ONE}",
        way_out=_WAY_OUT,
        example=Example(words="--data-parallel-start-rank 1 --api-server-count 2"),
        allowed=Example(words="--data-parallel-start-rank 1"),
    ),
    Rule(
        id="frontends-diffusion",
        flags=("diffusion_config", "api_server_count"),
        when=_several("diffusion_config"),
        reason=_ONE,
        way_out=_WAY_OUT,
        example=Example(words="--diffusion-config '{}' --api-server-count 2"),
        allowed=Example(words="--diffusion-config '{}'"),
    ),
    Rule(
        id="frontends-fault-tolerance",
        flags=("enable_fault_tolerance", "fault_tolerance_config", "api_server_count"),
        when=_several("enable_fault_tolerance", "fault_tolerance_config"),
        reason=_ONE,
        way_out=_WAY_OUT,
        source="vllm/config/parallel.py ParallelConfig._validate_parallel_config",
        example=Example(words="--enable-fault-tolerance --api-server-count 2"),
        allowed=Example(words="--no-enable-fault-tolerance --api-server-count 2"),
    ),
    Rule(
        id="frontends-elastic-experts",
        flags=("enable_elastic_ep", "api_server_count"),
        when=_several("enable_elastic_ep"),
        reason=_ONE,
        way_out=_WAY_OUT,
        example=Example(words="--enable-elastic-ep --api-server-count 2"),
        allowed=Example(words="--enable-elastic-ep"),
    ),
    Rule(
        id="frontends-ray",
        flags=("distributed_executor_backend", "data_parallel_backend", "api_server_count"),
        when=_ray,
        reason=_ONE,
        way_out="use mp, or give {api_server_count} 1",
        example=Example(words="--data-parallel-backend ray --api-server-count 2"),
        allowed=Example(words="--data-parallel-backend mp --api-server-count 2"),
    ),
    Rule(
        id="frontends-runtime-lora",
        flags=("api_server_count",),
        each="run",
        when=_runtime_lora,
        reason=f"lets one frontend change the adapters of all, so it {_ONE}",
        way_out="unset it, or give {api_server_count} 1",
        source=f"{_SERVE} run_multi_api_server",
        example=Example(
            words="--api-server-count 2", environ={"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}
        ),
        allowed=Example(words="", environ={"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}),
    ),
    Rule(
        id="frontends-sleep",
        flags=("enable_sleep_mode", "api_server_count"),
        when=_several("enable_sleep_mode"),
        reason=f"lets one frontend put the engine of all to sleep, so it {_ONE}",
        way_out=_WAY_OUT,
        example=Example(words="--enable-sleep-mode --api-server-count 2"),
        allowed=Example(words="--no-enable-sleep-mode --api-server-count 2"),
    ),
)

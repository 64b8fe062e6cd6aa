"""Rows about data parallelism and several machines."""

from __future__ import annotations

from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.models import TINY, dense
from omni_cli.serve.rules.rule import Example, Found, Rule

__all__ = ["ROWS"]

_CREATE = "vllm/engine/arg_utils.py EngineArgs.create_engine_config"
_PARALLEL = "vllm/config/parallel.py ParallelConfig._validate_parallel_config"
_POST_INIT = "vllm/config/parallel.py ParallelConfig.__post_init__"
_CMD = "vllm/entrypoints/cli/serve.py ServeSubcommand.cmd"
_MULTI_PORT = "vllm/entrypoints/launchers/dp_supervisor.py validate_multi_port_external_lb_args"

_TINY = "./tiny --load-format dummy"
_FOLDER = {"tiny/config.json": TINY}
_EXPERTS = {
    "tiny/config.json": TINY.replace("LlamaForCausalLM", "MixtralForCausalLM")
    .replace('"llama"', '"mixtral"')
    .replace('"vocab_size"', '"num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size"')
}

_MODES = {
    "data_parallel_multi_port_external_lb": "multi-port",
    "data_parallel_external_lb": "external",
    "data_parallel_rank": "external",
    "data_parallel_hybrid_lb": "hybrid",
    "data_parallel_start_rank": "hybrid",
}
_SUPERVISOR_PORT = 9256  # vLLM's default


def _size(line: Line) -> int:
    return line.number("data_parallel_size") or 1


def _external(line: Line) -> bool:
    return line.on("data_parallel_external_lb") or line.number("data_parallel_rank") is not None


def _multi_port(line: Line) -> bool:
    return line.on("data_parallel_multi_port_external_lb")


def _modes(line: Line) -> Found:
    asked = {
        dest: mode
        for dest, mode in _MODES.items()
        if line.on(dest) or (line.number(dest) is not None and line.given(dest))
    }
    hybrid_or_multi = {"data_parallel_hybrid_lb", "data_parallel_multi_port_external_lb"}
    if hybrid_or_multi & asked.keys():  # then a start rank asks for no mode of its own
        asked.pop("data_parallel_start_rank", None)
    if len(set(asked.values())) < 2:
        return False
    first, *others = asked
    other = next(dest for dest in others if asked[dest] != asked[first])
    return {"blame": first, "other": line.subject(other)}


def _one_machine(line: Line) -> bool:
    return (line.number("nnodes") or 1) < 2


def _world(line: Line) -> int:
    sizes = ("data_parallel_size", "pipeline_parallel_size", "tensor_parallel_size")
    world = line.number("prefill_context_parallel_size") or 1
    for size in sizes:
        world *= line.number(size) or 1
    return world


def _rank_out_of_range(line: Line) -> Found:
    size = _size(line)
    for dest in ("data_parallel_rank", "data_parallel_start_rank"):
        rank = line.number(dest)
        if size > 1 and rank is not None and rank >= size:
            return {"blame": dest, "highest": size - 1, "size": size}
    return False


def _overlapping_ports(line: Line) -> Found:
    local, first = line.number("data_parallel_size_local"), line.number("port")
    if not _multi_port(line) or local is None or first is None:
        return False
    port = line.number("data_parallel_supervisor_port") or _SUPERVISOR_PORT
    return {"last": first + local - 1, "port": port} if first <= port < first + local else False


ROWS = (
    Rule(
        id="unbuilt-parallelism",
        flags=("pipeline_parallel_size", "data_parallel_size"),
        when=lambda line: [
            {"blame": dest, "kind": dest.partition("_")[0]}
            for dest in ("pipeline_parallel_size", "data_parallel_size")
            if (line.number(dest) or 1) > 1
        ],
        reason="{kind} parallelism is not built yet",
        way_out="leave it at 1",
        example=Example(words="--pipeline-parallel-size 2"),
        allowed=Example(words="--pipeline-parallel-size 1"),
    ),
    Rule(
        id="pipeline-uni",
        flags=("pipeline_parallel_size", "distributed_executor_backend"),
        when=lambda line: (
            (line.number("pipeline_parallel_size") or 1) > 1
            and line.value("distributed_executor_backend") == "uni"
        ),
        reason="needs workers of their own, which {distributed_executor_backend} uni excludes",
        way_out="use mp, or leave the executor out",
        source="vllm/engine/arg_utils.py EngineArgs._check_feature_supported",
        example=Example(words="--pipeline-parallel-size 2 --distributed-executor-backend uni"),
        allowed=Example(words="--pipeline-parallel-size 2 --distributed-executor-backend mp"),
    ),
    Rule(
        id="data-parallel-modes",
        flags=tuple(_MODES),
        when=_modes,
        reason="contradicts {other}: each asks for a way of its own to share requests out",
        way_out="give one of them",
        source=_CMD,
        example=Example(words="--data-parallel-hybrid-lb --data-parallel-external-lb"),
        allowed=Example(
            words=f"{_TINY} --data-parallel-external-lb --data-parallel-rank 1"
            " --data-parallel-size 2",
            files=_EXPERTS,
        ),
    ),
    Rule(
        id="data-parallel-hybrid-local",
        flags=("data_parallel_hybrid_lb", "data_parallel_size_local"),
        when=lambda line: (
            line.on("data_parallel_hybrid_lb")
            and not line.given("data_parallel_size_local")
            and _one_machine(line)
        ),
        reason="needs to know how many ranks are on this machine",
        way_out="add --data-parallel-size-local",
        source=_CREATE,
        example=Example(words="--data-parallel-hybrid-lb"),
        allowed=Example(
            words="--data-parallel-hybrid-lb --data-parallel-size 4 --data-parallel-size-local 2"
        ),
    ),
    Rule(
        id="data-parallel-external-rank",
        flags=("data_parallel_external_lb", "data_parallel_rank"),
        when=lambda line: (
            line.on("data_parallel_external_lb")
            and line.number("data_parallel_rank") is None
            and _one_machine(line)
            and not _multi_port(line)
        ),
        reason="needs to know which rank this process is",
        way_out="add --data-parallel-rank",
        source=_CREATE,
        example=Example(words="--data-parallel-external-lb"),
        allowed=Example(
            words=f"{_TINY} --data-parallel-external-lb --data-parallel-rank 0"
            " --data-parallel-size 2",
            files=_EXPERTS,
        ),
    ),
    Rule(
        id="data-parallel-external-one",
        flags=("data_parallel_rank", "data_parallel_external_lb", "data_parallel_size"),
        when=lambda line: _external(line) and _size(line) < 2,
        reason="is one rank of several, and there is only one",
        way_out="add --data-parallel-size, or leave it out",
        source=_PARALLEL,
        example=Example(words="--data-parallel-rank 1"),
        allowed=Example(
            words=f"{_TINY} --data-parallel-rank 0 --data-parallel-size 2", files=_EXPERTS
        ),
    ),
    Rule(
        id="data-parallel-external-local",
        flags=("data_parallel_size_local", "data_parallel_rank", "data_parallel_external_lb"),
        when=lambda line: _external(line) and (line.number("data_parallel_size_local") or 1) != 1,
        reason="must be 1 where every rank is a server of its own",
        way_out="give 1, or leave it out",
        source=_CREATE,
        example=Example(
            words=f"{_TINY} --data-parallel-rank 0 --data-parallel-size 2"
            " --data-parallel-size-local 2",
            files=_EXPERTS,
        ),
        allowed=Example(
            words=f"{_TINY} --data-parallel-rank 0 --data-parallel-size 2"
            " --data-parallel-size-local 1",
            files=_EXPERTS,
        ),
    ),
    Rule(
        id="data-parallel-external-dense",
        flags=("data_parallel_rank", "data_parallel_external_lb"),
        when=lambda line: _external(line) and _size(line) > 1 and dense(line),
        reason="is for models with experts, and this one has none",
        way_out="start independent servers without --data-parallel flags",
        source=_CREATE,
        example=Example(
            words=f"{_TINY} --data-parallel-rank 1 --data-parallel-size 2", files=_FOLDER
        ),
        allowed=Example(
            words=f"{_TINY} --data-parallel-rank 0 --data-parallel-size 2", files=_EXPERTS
        ),
    ),
    Rule(
        id="data-parallel-local-size",
        flags=("data_parallel_size_local", "data_parallel_size"),
        when=lambda line: (line.number("data_parallel_size_local") or 0) > _size(line),
        reason="is more than all ranks together",
        way_out="raise {data_parallel_size}",
        source=_PARALLEL,
        example=Example(words="--data-parallel-size-local 3 --data-parallel-size 2"),
        allowed=Example(words="--data-parallel-size-local 2 --data-parallel-size 2"),
    ),
    Rule(
        id="data-parallel-rank-range",
        flags=("data_parallel_rank", "data_parallel_start_rank", "data_parallel_size"),
        when=_rank_out_of_range,
        reason="is not a rank of {size}",
        way_out="give 0 to {highest}",
        source=_POST_INIT,
        example=Example(
            words=f"{_TINY} --data-parallel-rank 2 --data-parallel-size 2", files=_EXPERTS
        ),
        allowed=Example(
            words=f"{_TINY} --data-parallel-rank 1 --data-parallel-size 2", files=_EXPERTS
        ),
    ),
    Rule(
        id="multi-port-sizes",
        flags=(
            "data_parallel_multi_port_external_lb",
            "data_parallel_size",
            "data_parallel_size_local",
        ),
        when=lambda line: (
            _multi_port(line)
            and (_size(line) < 2 or (line.number("data_parallel_size_local") or 0) < 2)
        ),
        reason="starts a server for each local rank, so it needs at least two",
        way_out="give {data_parallel_size} and {data_parallel_size_local} 2 or more",
        source=_MULTI_PORT,
        example=Example(words="--data-parallel-multi-port-external-lb"),
        allowed=Example(
            words="--data-parallel-multi-port-external-lb --data-parallel-size 2"
            " --data-parallel-size-local 2"
        ),
    ),
    Rule(
        id="multi-port-divides",
        flags=("data_parallel_size_local", "data_parallel_size"),
        when=lambda line: (
            _multi_port(line)
            and (local := line.number("data_parallel_size_local") or 1) > 1
            and _size(line) % local != 0
        ),
        reason="does not divide {data_parallel_size} {data_parallel_size.value}",
        way_out="choose a divisor",
        source=_MULTI_PORT,
        example=Example(
            words="--data-parallel-multi-port-external-lb --data-parallel-size 3"
            " --data-parallel-size-local 2"
        ),
        allowed=Example(
            words="--data-parallel-multi-port-external-lb --data-parallel-size 4"
            " --data-parallel-size-local 2"
        ),
    ),
    Rule(
        id="multi-port-frontends",
        flags=("api_server_count", "data_parallel_multi_port_external_lb"),
        when=lambda line: _multi_port(line) and line.frontends > 1,
        reason="contradicts {data_parallel_multi_port_external_lb}, which starts one server for "
        "each rank",
        way_out="give 1",
        source=_MULTI_PORT,
        example=Example(
            words="--api-server-count 2 --data-parallel-multi-port-external-lb"
            " --data-parallel-size 2 --data-parallel-size-local 2"
        ),
        allowed=Example(
            words="--api-server-count 1 --data-parallel-multi-port-external-lb"
            " --data-parallel-size 2 --data-parallel-size-local 2"
        ),
    ),
    Rule(
        id="multi-port-overlap",
        flags=("port", "data_parallel_supervisor_port", "data_parallel_multi_port_external_lb"),
        when=_overlapping_ports,
        reason="needs the ports up to {last}, and {port} is the supervisor's",
        way_out="move one of them with --data-parallel-supervisor-port or --port",
        source=_MULTI_PORT,
        example=Example(
            words="--port 9255 --data-parallel-multi-port-external-lb"
            " --data-parallel-size 2 --data-parallel-size-local 2"
        ),
        allowed=Example(
            words="--port 9254 --data-parallel-multi-port-external-lb"
            " --data-parallel-size 2 --data-parallel-size-local 2"
        ),
    ),
    Rule(
        id="nodes-backend",
        flags=("nnodes", "data_parallel_backend"),
        when=lambda line: (
            not _one_machine(line) and line.text("data_parallel_backend") not in ("", "mp")
        ),
        reason="needs {data_parallel_backend} mp",
        way_out="use mp, or one machine",
        source=_CREATE,
        example=Example(words="--nnodes 2 -tp 2 --data-parallel-backend ray"),
        allowed=Example(words="--nnodes 2 -tp 2 --data-parallel-backend mp"),
    ),
    Rule(
        id="nodes-divide-world",
        flags=("nnodes",),
        when=lambda line: (
            {"world": _world(line)}
            if not _one_machine(line) and _world(line) % (line.number("nnodes") or 1)
            else False
        ),
        reason="does not divide the {world} workers of all sizes together",
        way_out="choose a divisor of {world}",
        source=_CREATE,
        example=Example(words="--nnodes 2 -tp 1"),
        allowed=Example(words="--nnodes 2 -tp 2"),
    ),
    Rule(
        id="node-rank-range",
        flags=("node_rank", "nnodes"),
        when=lambda line: (
            not _one_machine(line)
            and not line.less("node_rank", "nnodes")
            and line.given("node_rank")
        ),
        reason="is not a rank of {nnodes.value} machines, which count from 0",
        way_out="give a smaller one",
        source=_CREATE,
        example=Example(words="--nnodes 2 -tp 2 --node-rank 2"),
        allowed=Example(words="--nnodes 2 -tp 2 --node-rank 1"),
    ),
)

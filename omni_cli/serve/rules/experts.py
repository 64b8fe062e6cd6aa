"""Rows about experts, context parallelism and overlapping batches."""

from __future__ import annotations

from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.models import TINY
from omni_cli.serve.rules.rule import CUDA, Example, Found, Rule

__all__ = ["ROWS"]

_PARALLEL = "vllm/config/parallel.py ParallelConfig"
_VLLM = "vllm/config/vllm.py VllmConfig"

_TINY = "./tiny --load-format dummy"
_FOLDER = {"tiny/config.json": TINY}
_DEEPSEEK = ("DeepseekV4ForCausalLM", "DeepSeekV4MTPModel", "DeepseekV41ForCausalLM")
_MICROBATCH_BACKENDS = ("deepep_low_latency", "deepep_high_throughput", "nixl_ep")


def _size(line: Line, name: str) -> int:
    return line.number(f"{name}_size") or 1


def _context_sizes(line: Line) -> Found:
    decode, tensor = _size(line, "decode_context_parallel"), _size(line, "tensor_parallel")
    prefill = _size(line, "prefill_context_parallel")
    if prefill == 1:
        return {"sizes": f"a divisor of {tensor}"} if tensor % decode else False
    sizes = sorted({1, prefill, tensor * prefill})
    return {"sizes": ", ".join(map(str, sizes))} if decode not in sizes else False


def _context_heads(line: Line) -> Found:
    """Decode context parallelism spreads the copies of a key-value head, so there must be some."""
    decode, tensor = _size(line, "decode_context_parallel"), _size(line, "tensor_parallel")
    heads, queries = line.config.get("num_key_value_heads"), line.config.get("num_attention_heads")
    if decode < 2 or not isinstance(heads, int) or not isinstance(queries, int) or not heads:
        return False
    if "kv_lora_rank" in line.config:  # latent attention has no such heads
        return False
    fits = tensor > heads and decode <= tensor // heads and queries // heads % decode == 0
    return False if fits else {"heads": heads, "queries": queries // heads}


def _microbatches(line: Line) -> int:
    if line.on("enable_dbo") and not line.cpu:
        return 2
    return line.number("ubatch_size") or 0


def _microbatch_backend(line: Line) -> Found:
    backend = line.text("all2all_backend") or "allgather_reducescatter"
    if _microbatches(line) < 2 or backend in _MICROBATCH_BACKENDS:
        return False
    return {"backends": ", ".join(_MICROBATCH_BACKENDS)}


def _thresholds(line: Line) -> Found:
    count = line.number("ubatch_size") or 0
    if line.on("enable_dbo"):
        count = 2
    low = [
        {"blame": dest, "count": count}
        for dest in ("dbo_decode_token_threshold", "dbo_prefill_token_threshold")
        if (number := line.number(dest)) is not None and number < count
    ]
    return low if count > 1 else False


def _sizes_for_balance(line: Line) -> int:
    names = ("tensor_parallel", "prefill_context_parallel", "data_parallel")
    return _size(line, names[0]) * _size(line, names[1]) * _size(line, names[2])


def _not_deepseek(line: Line) -> Found:
    kinds = line.config.get("architectures")
    if line.value("moe_backend") != "flashinfer_moe_ep_mega_deep_gemm":
        return False
    return isinstance(kinds, list) and not any(kind in _DEEPSEEK for kind in kinds)


ROWS = (
    Rule(
        id="expert-balance-on-cpu",
        flags=("enable_eplb",),
        when=lambda line: line.on("enable_eplb") and line.cpu,
        reason="needs a GPU",
        way_out="leave it out",
        source=f"{_PARALLEL}._validate_parallel_config",
        example=Example(words="--enable-eplb"),
        allowed=Example(words="--no-enable-eplb"),
    ),
    Rule(
        id="expert-balance-without-experts",
        flags=("enable_eplb", "enable_expert_parallel"),
        when=lambda line: line.on("enable_eplb") and not line.on("enable_expert_parallel"),
        reason="balances experts that are not spread",
        way_out="add --enable-expert-parallel",
        source=f"{_PARALLEL}._validate_parallel_config",
        example=Example(words="--enable-eplb", facts=CUDA),
        allowed=Example(words="--enable-eplb --enable-expert-parallel", facts=CUDA),
    ),
    Rule(
        id="expert-balance-alone",
        flags=("enable_eplb", "tensor_parallel_size", "data_parallel_size"),
        when=lambda line: line.on("enable_eplb") and _sizes_for_balance(line) < 2,
        reason="has a single place for all experts",
        way_out="raise {tensor_parallel_size}, or leave it out",
        source=f"{_PARALLEL}._validate_parallel_config",
        example=Example(words="--enable-eplb --enable-expert-parallel", facts=CUDA),
        allowed=Example(words="--enable-eplb --enable-expert-parallel -tp 2", facts=CUDA),
    ),
    Rule(
        id="redundant-experts",
        flags=("eplb_config.num_redundant_experts", "enable_eplb"),
        when=lambda line: (
            (line.number("eplb_config.num_redundant_experts") or 0) != 0
            and not line.on("enable_eplb")
        ),
        reason="means nothing while experts are not balanced",
        way_out="add --enable-eplb, or leave it out",
        source=f"{_PARALLEL}._validate_parallel_config",
        example=Example(words="--eplb-config.num_redundant_experts 2"),
        allowed=Example(words="--eplb-config.num_redundant_experts 0"),
    ),
    Rule(
        id="expert-balance-communicator",
        flags=("eplb_config.communicator", "eplb_config.use_async"),
        when=lambda line: (
            line.value("eplb_config.use_async") is not False
            and line.value("eplb_config.communicator") in ("torch_nccl", "pynccl")
        ),
        reason="cannot run beside the engine's own traffic",
        way_out="use torch_gloo or nixl, or set {eplb_config.use_async} false",
        source="vllm/config/parallel.py EPLBConfig._validate_eplb_config",
        example=Example(words="--eplb-config.communicator pynccl"),
        allowed=Example(words="--eplb-config.communicator pynccl --eplb-config.use_async false"),
    ),
    Rule(
        id="elastic-experts-balance",
        flags=("enable_elastic_ep", "enable_eplb"),
        when=lambda line: line.on("enable_elastic_ep") and not line.on("enable_eplb"),
        reason="moves experts, which needs their balancing",
        way_out="add --enable-eplb",
        source=f"{_PARALLEL}.__post_init__",
        example=Example(words="--enable-elastic-ep"),
        allowed=Example(words="--no-enable-elastic-ep"),
    ),
    Rule(
        id="elastic-experts-size",
        flags=("elastic_ep_max_dp_size", "data_parallel_size", "enable_elastic_ep"),
        when=lambda line: (
            line.on("enable_elastic_ep")
            and (line.number("elastic_ep_max_dp_size") or _size(line, "data_parallel"))
            < _size(line, "data_parallel")
        ),
        reason="is below the {data_parallel_size} to start with",
        way_out="raise it",
        source=f"{_PARALLEL}.__post_init__",
        example=Example(
            words="--elastic-ep-max-dp-size 1 --data-parallel-size 2 --enable-elastic-ep"
            " --enable-eplb",
            facts=CUDA,
        ),
        allowed=Example(
            words="--elastic-ep-max-dp-size 2 --data-parallel-size 2 --enable-elastic-ep"
            " --enable-eplb",
            facts=CUDA,
        ),
    ),
    Rule(
        id="fault-tolerance-external",
        flags=("enable_fault_tolerance", "fault_tolerance_config"),
        when=lambda line: (
            (line.on("enable_fault_tolerance") or line.given("fault_tolerance_config"))
            and not line.on("data_parallel_external_lb")
            and line.number("data_parallel_rank") is None
        ),
        reason="works only where every data-parallel rank is a server of its own",
        way_out="add --data-parallel-rank, or leave it out",
        source="vllm/engine/arg_utils.py EngineArgs.create_engine_config",
        example=Example(words="--enable-fault-tolerance"),
        allowed=Example(words="--no-enable-fault-tolerance"),
    ),
    Rule(
        id="context-parallel-size",
        flags=(
            "decode_context_parallel_size",
            "prefill_context_parallel_size",
            "tensor_parallel_size",
        ),
        when=_context_sizes,
        reason="does not fit the ranks that share a context",
        way_out="use {sizes}",
        source=f"{_PARALLEL}._validate_parallel_config",
        example=Example(words="--decode-context-parallel-size 2"),
        allowed=Example(words="--decode-context-parallel-size 2 -tp 4"),
    ),
    Rule(
        id="context-parallel-heads",
        flags=("decode_context_parallel_size", "tensor_parallel_size"),
        when=_context_heads,
        reason="spreads the copies of a key-value head, and the model has {heads} such heads with "
        "{queries} queries each",
        way_out="raise --tensor-parallel-size, or give 1",
        source="vllm/config/model.py ModelConfig.verify_with_parallel_config",
        example=Example(words=f"{_TINY} -tp 2 --decode-context-parallel-size 2", files=_FOLDER),
        allowed=Example(words=f"{_TINY} -tp 4 --decode-context-parallel-size 2", files=_FOLDER),
    ),
    Rule(
        id="microbatch-backend",
        flags=("enable_dbo", "ubatch_size", "all2all_backend"),
        when=_microbatch_backend,
        reason="needs experts that are spread by {backends}",
        way_out="add --all2all-backend, or leave it out",
        source=f"{_VLLM}.__post_init__",
        example=Example(words="--ubatch-size 2"),
        allowed=Example(words="--ubatch-size 2 --all2all-backend deepep_low_latency"),
    ),
    Rule(
        id="microbatch-threshold",
        flags=("dbo_decode_token_threshold", "dbo_prefill_token_threshold", "ubatch_size"),
        when=_thresholds,
        reason="is below the {count} parts of a batch, so one would be empty",
        way_out="give at least {count}",
        source=f"{_PARALLEL}._verify_args",
        example=Example(
            words="--dbo-decode-token-threshold 3 --ubatch-size 4"
            " --all2all-backend deepep_low_latency"
        ),
        allowed=Example(
            words="--dbo-decode-token-threshold 4 --ubatch-size 4"
            " --all2all-backend deepep_low_latency"
        ),
    ),
    Rule(
        id="moonep-dtype",
        flags=("all2all_backend", "dtype"),
        when=lambda line: (
            line.value("all2all_backend") == "moonep"
            and line.text("dtype") in ("float16", "half", "float32", "float")
        ),
        reason="moves bfloat16 only, and {dtype} asks for {dtype.value}",
        way_out="choose another backend, or --dtype bfloat16",
        source=f"{_VLLM}.__post_init__",
        example=Example(words="--all2all-backend moonep --dtype float32"),
        allowed=Example(words="--all2all-backend moonep --dtype bfloat16"),
    ),
    Rule(
        id="moonep-placement",
        flags=("all2all_backend", "expert_placement_strategy"),
        when=lambda line: (
            line.value("all2all_backend") == "moonep"
            and line.value("expert_placement_strategy") == "round_robin"
        ),
        reason="needs each rank's experts in a row, unlike {expert_placement_strategy} round_robin",
        way_out="choose another backend, or linear placement",
        source=f"{_VLLM}.__post_init__",
        example=Example(
            words="--all2all-backend moonep --expert-placement-strategy round_robin"
            " --dtype bfloat16"
        ),
        allowed=Example(
            words="--all2all-backend moonep --expert-placement-strategy linear --dtype bfloat16"
        ),
    ),
    Rule(
        id="moonep-quantization",
        flags=("all2all_backend", "quantization"),
        when=lambda line: (
            line.value("all2all_backend") == "moonep" and bool(line.text("quantization"))
        ),
        reason="moves weights that are not quantized, unlike {quantization} {quantization.value}",
        way_out="choose another backend",
        source=f"{_VLLM}.__post_init__",
        example=Example(words="--all2all-backend moonep --quantization fp8 --dtype bfloat16"),
        allowed=Example(words="--all2all-backend moonep --dtype bfloat16"),
    ),
    Rule(
        id="experts-move-themselves",
        flags=("all2all_backend", "moe_backend"),
        when=lambda line: (
            line.text("moe_backend").startswith("flashinfer_moe_ep_")
            and line.text("all2all_backend") not in ("", "allgather_reducescatter")
        ),
        reason="has nothing to do, since {moe_backend} {moe_backend.value} moves tokens itself",
        way_out="leave it out",
        source="vllm/config/kernel.py bind_passthrough_all2all_backend",
        example=Example(
            words="--all2all-backend deepep_low_latency --moe-backend flashinfer_moe_ep_cutedsl"
        ),
        allowed=Example(words="--moe-backend flashinfer_moe_ep_cutedsl"),
    ),
    Rule(
        id="experts-of-deepseek",
        flags=("moe_backend",),
        when=_not_deepseek,
        reason="knows the experts of DeepSeek-V4 alone",
        way_out="choose another",
        source="vllm/config/kernel.py validate_flashinfer_moe_ep_model",
        example=Example(
            words=f"{_TINY} --moe-backend flashinfer_moe_ep_mega_deep_gemm", files=_FOLDER
        ),
        allowed=Example(words=f"{_TINY} --moe-backend flashinfer_moe_ep_cutedsl", files=_FOLDER),
    ),
    Rule(
        id="hyper-connections-on-cpu",
        flags=("enable_hc_sp", "tensor_parallel_size"),
        when=lambda line: (
            line.on("enable_hc_sp") and line.cpu and _size(line, "tensor_parallel") > 1
        ),
        reason="needs CUDA",
        way_out="leave it out",
        source="vllm/config/model.py ModelConfig.verify_with_parallel_config",
        example=Example(words=f"{_TINY} --enable-hc-sp -tp 2", files=_FOLDER),
        allowed=Example(words=f"{_TINY} --enable-hc-sp -tp 1", files=_FOLDER),
    ),
    Rule(
        id="numa-without-binding",
        flags=("numa_bind_nodes", "numa_bind_cpus", "numa_bind"),
        when=lambda line: (
            not line.on("numa_bind")
            and (line.given("numa_bind_nodes") or line.given("numa_bind_cpus"))
        ),
        reason="means nothing while workers are not bound",
        way_out="add --numa-bind",
        source=f"{_PARALLEL}._validate_parallel_config",
        example=Example(words="--numa-bind-nodes 0"),
        allowed=Example(words="--numa-bind-nodes 0 --numa-bind"),
    ),
    Rule(
        id="nsight-without-ray",
        flags=("ray_workers_use_nsight", "distributed_executor_backend"),
        when=lambda line: (
            line.on("ray_workers_use_nsight")
            and line.value("distributed_executor_backend") != "ray"
        ),
        reason="is about workers of Ray",
        way_out="leave it out",
        source=f"{_PARALLEL}._verify_args",
        example=Example(words="--ray-workers-use-nsight"),
        allowed=Example(words="--no-ray-workers-use-nsight"),
    ),
    Rule(
        id="device-ids",
        flags=("device_ids",),
        when=lambda line: _device_ids(line),
        reason="{why}",
        way_out="name each GPU once, all by number or all by UUID",
        source="vllm/engine/arg_utils.py EngineArgs._resolve_device_ids",
        example=Example(words="--device-ids 0,0"),
        allowed=Example(words="--device-ids 0,1"),
    ),
)


def _device_ids(line: Line) -> Found:
    value = line.value("device_ids")
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not words:
        return False
    ids = [str(word).strip() for word in words]
    if len(set(ids)) < len(ids):
        return {"why": "names a GPU twice"}
    return (
        {"why": "mixes numbers and UUIDs"} if len({each.isdigit() for each in ids}) > 1 else False
    )

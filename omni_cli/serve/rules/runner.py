"""Rows about what the platform and vLLM's model runner can do."""

from __future__ import annotations

from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.rule import CUDA, Example, Found, Rule

__all__ = ["ROWS"]

_VLLM = "vllm/config/vllm.py VllmConfig"
_CREATE = "vllm/engine/arg_utils.py EngineArgs.create_engine_config"

# Switches that only vLLM's second model runner obeys.
_SECOND_RUNNER = (
    "enable_return_routed_experts",
    "return_sampling_mask",
    "enable_trace_replay",
    "enable_batch_sharded_sampling",
    "watermark_config",
    "prefill_context_parallel_size",
)


def _second_runner(line: Line) -> Found:
    if "triton" in line.facts.packages:
        return False
    found = [{"blame": dest} for dest in _SECOND_RUNNER[:4] if line.on(dest)]
    if line.value("watermark_config") is not None:
        found.append({"blame": "watermark_config"})
    if (line.number("prefill_context_parallel_size") or 1) > 1:
        found.append({"blame": "prefill_context_parallel_size"})
    return found


def _sharded_sampling(line: Line) -> Found:
    if not line.on("enable_batch_sharded_sampling"):
        return False
    size = line.number("tensor_parallel_size") or 1
    if size < 2:
        return {"why": "shares sampling among the ranks of a stage, and there is only one"}
    seqs = line.number("max_num_seqs")
    if seqs is not None and seqs < size:
        return {"why": f"has {seqs} sequences to share among {size} ranks"}
    if line.value("max_logprobs") == -1:
        return {
            "why": f"cannot bring together the logprobs that {line.subject('max_logprobs')} "
            "-1 allows"
        }
    return False


ROWS = (
    Rule(
        id="needs-triton",
        flags=_SECOND_RUNNER,
        when=_second_runner,
        reason="is a feature of vLLM's second model runner, which needs Triton, and Triton is not "
        "installed",
        way_out="leave it out",
        source=f"{_VLLM}._validate_v1_model_runner",
        example=Example(words="--enable-trace-replay", facts={"packages": frozenset()}),
        allowed=Example(words="--enable-trace-replay", facts=CUDA),
    ),
    Rule(
        id="sampling-mask-logprobs",
        flags=("return_sampling_mask", "logprobs_mode"),
        when=lambda line: (
            line.on("return_sampling_mask") and line.value("logprobs_mode") != "processed_logprobs"
        ),
        reason="needs logprobs of what is sampled from",
        way_out="add --logprobs-mode processed_logprobs",
        source=f"{_VLLM}._verify_sampling_replay_config",
        example=Example(words="--return-sampling-mask", facts=CUDA),
        allowed=Example(
            words="--return-sampling-mask --logprobs-mode processed_logprobs", facts=CUDA
        ),
    ),
    Rule(
        id="sampling-mask-processors",
        flags=("return_sampling_mask", "logits_processors"),
        when=lambda line: line.on("return_sampling_mask") and bool(line.value("logits_processors")),
        reason="cannot be told apart from what {logits_processors} does",
        way_out="give one of them",
        source=f"{_VLLM}._verify_sampling_replay_config",
        example=Example(
            words="--return-sampling-mask --logprobs-mode processed_logprobs"
            " --logits-processors a.B",
            facts=CUDA,
        ),
        allowed=Example(
            words="--return-sampling-mask --logprobs-mode processed_logprobs", facts=CUDA
        ),
    ),
    Rule(
        id="sharded-sampling",
        flags=("enable_batch_sharded_sampling", "tensor_parallel_size", "max_num_seqs"),
        when=_sharded_sampling,
        reason="{why}",
        way_out="leave it out",
        source=f"{_VLLM}._validate_batch_sharded_sampling",
        example=Example(words="--enable-batch-sharded-sampling", facts=CUDA),
        allowed=Example(words="--enable-batch-sharded-sampling -tp 2", facts=CUDA),
    ),
    Rule(
        id="sleep-on-cpu",
        flags=("enable_sleep_mode",),
        when=lambda line: line.on("enable_sleep_mode") and line.cpu,
        reason="gives back the memory of a GPU, and the model runs on the CPU",
        way_out="leave it out",
        source="vllm/config/model.py ModelConfig.__post_init__",
        example=Example(words="--enable-sleep-mode"),
        allowed=Example(words="--no-enable-sleep-mode"),
    ),
    Rule(
        id="cumem-on-cpu",
        flags=("enable_cumem_allocator",),
        when=lambda line: line.on("enable_cumem_allocator") and line.cpu,
        reason="allocates memory of a GPU, and the model runs on the CPU",
        way_out="leave it out",
        source="vllm/config/model.py ModelConfig.__post_init__",
        example=Example(words="--enable-cumem-allocator"),
        allowed=Example(words="--no-enable-cumem-allocator"),
    ),
    Rule(
        id="hisparse-on-cpu",
        flags=("attention_config.hisparse_config",),
        when=lambda line: line.value("attention_config.hisparse_config") is not None and line.cpu,
        reason="needs CUDA",
        way_out="leave it out",
        source=f"{_VLLM}.__post_init__",
        example=Example(words="--attention-config '{\"hisparse_config\": {}}'"),
        allowed=Example(words="--attention-config '{}'"),
    ),
    Rule(
        id="linear-prefill-on-cpu",
        flags=("kda_prefill_backend",),
        when=lambda line: line.value("kda_prefill_backend") == "flashkda" and line.cpu,
        reason="needs CUDA",
        way_out="use auto",
        source=_CREATE,
        example=Example(words="--kda-prefill-backend flashkda"),
        allowed=Example(words="--kda-prefill-backend auto"),
    ),
    Rule(
        id="linear-prefill-fused",
        flags=("kda_prefill_backend",),
        when=lambda line: line.value("kda_prefill_backend") == "fused",
        reason="needs a GPU of AMD, which omni does not drive",
        way_out="use auto",
        source=_CREATE,
        example=Example(words="--kda-prefill-backend fused"),
        allowed=Example(words="--kda-prefill-backend triton"),
    ),
    Rule(
        id="state-block-size",
        flags=("mamba_block_size", "enable_prefix_caching"),
        when=lambda line: (
            line.number("mamba_block_size") is not None and line.off("enable_prefix_caching")
        ),
        reason="is the size of what prefix caching keeps, and {enable_prefix_caching} switches "
        "that off",
        way_out="give one of them",
        source=f"{_VLLM}.validate_mamba_block_size",
        example=Example(words="--mamba-block-size 64 --no-enable-prefix-caching"),
        allowed=Example(words="--mamba-block-size 64 --enable-prefix-caching"),
    ),
    Rule(
        id="state-rounding",
        flags=("enable_mamba_cache_stochastic_rounding", "mamba_ssm_cache_dtype"),
        when=lambda line: (
            line.on("enable_mamba_cache_stochastic_rounding")
            and line.value("mamba_ssm_cache_dtype") != "float16"
        ),
        reason="rounds to float16",
        way_out="add --mamba-ssm-cache-dtype float16",
        source=f"{_VLLM}.__post_init__",
        example=Example(words="--enable-mamba-cache-stochastic-rounding"),
        allowed=Example(
            words="--enable-mamba-cache-stochastic-rounding --mamba-ssm-cache-dtype float16"
        ),
    ),
    Rule(
        id="state-update-algorithm",
        flags=("mamba_ssu_algorithm", "mamba_backend"),
        when=lambda line: (
            line.given("mamba_ssu_algorithm") and line.text("mamba_backend").lower() != "flashinfer"
        ),
        reason="is a choice of FlashInfer's kernels",
        way_out="add --mamba-backend flashinfer, or leave it out",
        source="vllm/config/mamba.py MambaConfig.validate_ssu_algorithm",
        example=Example(words="--mamba-ssu-algorithm simple"),
        allowed=Example(words="--mamba-ssu-algorithm simple --mamba-backend flashinfer"),
    ),
)

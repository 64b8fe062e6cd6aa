"""Rows about the batch, adapters and the memory of weights."""

from __future__ import annotations

from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.models import TINY
from omni_cli.serve.rules.rule import Example, Found, Rule

__all__ = ["ROWS"]

_SCHEDULER = "vllm/config/scheduler.py SchedulerConfig.verify_max_model_len"
_OFFLOAD = "vllm/config/offload.py OffloadConfig.validate_offload_config"

_TINY = "./tiny --load-format dummy"
_FOLDER = {"tiny/config.json": TINY}


def _length(line: Line) -> int | None:
    """The model's length as far as it is known; None if memory decides."""
    return line.number("max_model_len")


def _short_batch(line: Line) -> Found:
    batch, length = line.number("max_num_batched_tokens"), _length(line)
    chunked = not line.off("enable_chunked_prefill")
    if chunked or batch is None or length is None or batch >= length:
        return False
    return {"length": length}


def _long_prefill(line: Line) -> Found:
    threshold, length = line.number("long_prefill_token_threshold"), _length(line)
    known = threshold is not None and length is not None
    known = known and line.config.get("is_encoder_decoder") is not True  # it has no threshold
    return {"length": length} if known and threshold > length else False  # type: ignore[operator]


def _adapters_and_drafts(line: Line) -> Found:
    batch, seqs = line.number("max_num_batched_tokens"), line.number("max_num_seqs")
    tokens = line.number("spec_tokens")
    if tokens is None:
        tokens = line.number("speculative_config.num_speculative_tokens")
    if not line.on("enable_lora") or batch is None or seqs is None or tokens is None:
        return False
    least = seqs * (tokens + 1)
    return {"least": least, "tokens": tokens} if batch < least else False


def _prefetches(line: Line) -> bool:
    group = line.number("offload_group_size") or 0
    return line.value("offload_backend") == "prefetch" or group > 0


ROWS = (
    Rule(
        id="batch-below-length",
        flags=("max_num_batched_tokens", "enable_chunked_prefill", "max_model_len"),
        when=_short_batch,
        reason="is below the {length} tokens of the longest prompt, and {enable_chunked_prefill} "
        "keeps prompts whole",
        way_out="give at least {length}, or let prompts be cut",
        source=_SCHEDULER,
        example=Example(
            words=f"{_TINY} --max-num-batched-tokens 64 --no-enable-chunked-prefill"
            " --max-model-len 128",
            files=_FOLDER,
        ),
        allowed=Example(
            words=f"{_TINY} --max-num-batched-tokens 128 --no-enable-chunked-prefill"
            " --max-model-len 128",
            files=_FOLDER,
        ),
    ),
    Rule(
        id="batch-below-sequences",
        flags=("max_num_batched_tokens", "max_num_seqs"),
        when=lambda line: line.less("max_num_batched_tokens", "max_num_seqs"),
        reason="is below {max_num_seqs} {max_num_seqs.value}, and each sequence takes a token "
        "of a batch",
        way_out="raise it, or lower {max_num_seqs}",
        source=_SCHEDULER,
        example=Example(words="--max-num-batched-tokens 64 --max-num-seqs 65"),
        allowed=Example(words="--max-num-batched-tokens 64 --max-num-seqs 64"),
    ),
    Rule(
        id="active-over-sequences",
        flags=("max_num_active_seqs", "max_num_seqs"),
        when=lambda line: line.less("max_num_seqs", "max_num_active_seqs"),
        reason="is more than {max_num_seqs} {max_num_seqs.value}",
        way_out="lower it, or raise {max_num_seqs}",
        source=_SCHEDULER,
        example=Example(words="--max-num-active-seqs 5 --max-num-seqs 4"),
        allowed=Example(words="--max-num-active-seqs 4 --max-num-seqs 4"),
    ),
    Rule(
        id="long-prefill",
        flags=("long_prefill_token_threshold", "max_model_len"),
        when=_long_prefill,
        reason="is more than the {length} tokens of the longest prompt",
        way_out="give at most {length}",
        source=_SCHEDULER,
        example=Example(words="--long-prefill-token-threshold 129 --max-model-len 128"),
        allowed=Example(words="--long-prefill-token-threshold 128 --max-model-len 128"),
    ),
    Rule(
        id="adapters-in-memory",
        flags=("max_cpu_loras", "max_loras", "enable_lora"),
        when=lambda line: (
            line.on("enable_lora")
            and 0 < (line.number("max_cpu_loras") or 0) < (line.number("max_loras") or 1)
        ),
        reason="is below {max_loras} {max_loras.value}, and each of those is kept in memory too",
        way_out="raise it, or lower {max_loras}",
        source="vllm/config/lora.py LoRAConfig._validate_lora_config",
        example=Example(words="--max-cpu-loras 1 --max-loras 2 --enable-lora"),
        allowed=Example(words="--max-cpu-loras 2 --max-loras 2 --enable-lora"),
    ),
    Rule(
        id="adapters-not-enabled",
        flags=("lora_modules", "enable_lora"),
        when=lambda line: bool(line.value("lora_modules")) and not line.on("enable_lora"),
        reason="names adapters, and the engine is built without room for any",
        way_out="add --enable-lora",
        example=Example(words="--lora-modules a=./a"),
        allowed=Example(words="--lora-modules a=./a --enable-lora"),
    ),
    Rule(
        id="adapters-and-drafts",
        flags=(
            "max_num_batched_tokens",
            "enable_lora",
            "speculative_config.num_speculative_tokens",
            "spec_tokens",
            "max_num_seqs",
        ),
        when=_adapters_and_drafts,
        reason="is below {least}: {max_num_seqs.value} sequences with {tokens} draft tokens each",
        way_out="raise it, or draft fewer tokens",
        source="vllm/engine/arg_utils.py EngineArgs.create_engine_config",
        example=Example(
            words="--max-num-batched-tokens 39 --max-num-seqs 10 --enable-lora"
            " --spec-method ngram --spec-tokens 3"
        ),
        allowed=Example(
            words="--max-num-batched-tokens 40 --max-num-seqs 10 --enable-lora"
            " --spec-method ngram --spec-tokens 3"
        ),
    ),
    Rule(
        id="offload-group",
        flags=("offload_num_in_group", "offload_group_size", "offload_backend"),
        when=lambda line: (
            _prefetches(line)
            and (line.number("offload_num_in_group") or 1)
            > (line.number("offload_group_size") or 0)
        ),
        reason="does not fit into a group of {offload_group_size}",
        way_out="raise --offload-group-size",
        source=_OFFLOAD,
        example=Example(words="--offload-num-in-group 3 --offload-group-size 2"),
        allowed=Example(words="--offload-num-in-group 2 --offload-group-size 2"),
    ),
    Rule(
        id="offload-prefetch-step",
        flags=("offload_prefetch_step", "offload_group_size", "offload_backend"),
        when=lambda line: _prefetches(line) and line.number("offload_prefetch_step") == 0,
        reason="must be at least 1 where layers are fetched ahead",
        way_out="give 1, or leave it out",
        source=_OFFLOAD,
        example=Example(words="--offload-prefetch-step 0 --offload-group-size 2"),
        allowed=Example(words="--offload-prefetch-step 1 --offload-group-size 2"),
    ),
    Rule(
        id="offload-lmcache",
        flags=("kv_offloading_backend", "kv_offloading_size"),
        when=lambda line: (
            line.value("kv_offloading_backend") == "lmcache"
            and line.given("kv_offloading_size")
            and "lmcache" not in line.facts.packages
        ),
        reason="needs the package lmcache, which is not installed",
        way_out="install it, or use native",
        source="vllm/config/vllm.py VllmConfig._post_init_kv_transfer_config",
        example=Example(
            words="--kv-offloading-backend lmcache --kv-offloading-size 1",
            facts={"packages": frozenset()},
        ),
        allowed=Example(words="--kv-offloading-backend native --kv-offloading-size 1"),
    ),
)

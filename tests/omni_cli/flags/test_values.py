"""Typed values from words, variables and documents; the refusals are told without the value."""

from __future__ import annotations

from typing import Any

import pytest

from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.flag import Flag
from omni_cli.flags.limits import MAX_INTEGER, BadValue, limits
from omni_cli.flags.values import (
    MAX_TEXT_CHARS,
    read_native,
    read_text,
    read_word,
)


def flag(**attributes: Any) -> Flag:
    return Flag(dest="x", names=("--x",), **attributes)


def of(dest: str) -> Flag:
    return catalogue().by_dest[dest]


def refused(call: Any, *arguments: object) -> str:
    with pytest.raises(BadValue) as caught:
        call(*arguments)
    assert str(caught.value) == caught.value.reason
    return f"{caught.value.reason}; {caught.value.way_out}".removesuffix("; ")


class TestWord:
    @pytest.mark.parametrize(
        ("dest", "word", "value"),
        [
            ("port", "9000", 9000),
            ("seed", " 42 ", 42),
            ("max_model_len", "4k", 4000),
            ("max_model_len", "4K", 4096),
            ("max_model_len", "25.6k", 25600),
            ("max_model_len", "auto", -1),
            ("max_model_len", "-1", -1),
            ("kv_cache_memory_bytes", "1G", 2**30),
            ("kv_cache_memory_bytes", "None", None),
            ("gpu_memory_utilization", ".5", 0.5),
            ("dtype", "half", "half"),
            ("moe_backend", "Flashinfer-Cutlass", "flashinfer_cutlass"),
            ("log_level", "INFO", "info"),
            ("quantization", "", None),
            ("reasoning_parser", "", ""),
            ("max_lora_rank", "16", 16),
            ("safetensors_load_strategy", "None", None),
            ("hf_overrides", "module.function", "module.function"),
            ("hf_overrides", '{"a": 1}', {"a": 1}),
            ("allowed_origins", '["*"]', ["*"]),
            ("kv_transfer_config", '{"kv_port": 80k}', {"kv_port": 80000}),
            ("kv_transfer_config", '{"engine_id": "80k"}', {"engine_id": "80k"}),
            (
                "compilation_config",
                '{"pass_config": {"fuse_norm_quant": true}}',
                {"pass_config": {"fuse_norm_quant": True}},
            ),
        ],
    )
    def test_is_read(self, dest: str, word: str, value: object) -> None:
        read = read_word(of(dest), word)
        assert read == value
        assert type(read) is type(value)

    @pytest.mark.parametrize(
        ("dest", "word", "reason"),
        [
            ("port", "abc", "must be a whole number from 0 to 65535"),
            ("port", "65536", "must be a whole number from 0 to 65535"),
            ("tensor_parallel_size", "0", "must be a whole number from 1 to 1024"),
            ("block_size", "0", "must be a whole number of at least 1"),
            ("gpu_memory_utilization", "0", "must be a number above 0 and at most 1"),
            ("gpu_memory_utilization", "nan", "must be a number above 0 and at most 1"),
            ("watermark", "1", "must be a number of at least 0 and below 1"),
            ("max_model_len", "0", "must be a whole number from 1 to 100000000 or auto"),
            (
                "max_model_len",
                "x",
                ("must be a whole number, optionally with a suffix such as 256M or 1G, or auto"),
            ),
            (
                "kv_cache_memory_bytes",
                "1.5G",
                ("decimals need a lower-case suffix (g, powers of 1000)"),
            ),
            (
                "kv_cache_memory_bytes",
                "-5",
                ("must be a whole number from 1048576 to 1125899906842624"),
            ),
            ("start_method", "x", "must be auto, fork or spawn"),
            (
                "moe_backend",
                "tritom",
                (
                    "is none of its 23 values; did you mean triton? "
                    "`omni serve --help=moe-backend` lists them"
                ),
            ),
            ("distributed_executor_backend", "ray", "is not built yet; use uni or mp"),
            ("host", "", "must not be empty"),
            ("max_lora_rank", "17", "must be 1, 8, 16, 32, 64, 128, 256, 320 or 512"),
            ("hf_overrides", '{"a": NaN}', "holds a number that is not finite"),
            ("allowed_origins", "[1e999]", "holds a number that is not finite"),
            ("allowed_origins", "[", "is not JSON: Expecting value at character 2"),
            ("limit_mm_per_prompt", "3", "must be a JSON object, such as '{\"key\": 1}'"),
            ("compilation_config", '{"levle": 3}', "has no key levle; did you mean mode?"),
            ("compilation_config", '{"level": 3}', "has no key level; did you mean mode?"),
            (
                "compilation_config",
                '{"pass_config": {"fuse_norm_quand": 1}}',
                (
                    "has no key pass_config.fuse_norm_quand; "
                    "did you mean pass_config.fuse_norm_quant?"
                ),
            ),
            (
                "compilation_config",
                '{"zzzzzz": 3}',
                ("has no key zzzzzz; `omni serve --help=compilation-config` lists its keys"),
            ),
            (
                "kv_transfer_config",
                '{"kv_port": 1.5K}',
                ("has a number in it that decimals need a lower-case suffix (k, powers of 1000)"),
            ),
            (
                "structured_outputs_config",
                '{"backend": "outline"}',
                "its backend must be auto, guidance, lm-format-enforcer, outlines or xgrammar",
            ),
            (
                "eplb_config",
                '{"window_size": 0}',
                "its window_size must be a whole number of at least 1",
            ),
            (
                "compilation_config",
                '{"pass_config": {"fuse_norm_quant": 3}}',
                "its pass_config.fuse_norm_quant must be true or false",
            ),
            ("download_dir", "a\0b", "must not contain a NUL character"),
            ("download_dir", "\udcff", "is not valid UTF-8"),
            ("download_dir", "x" * (MAX_TEXT_CHARS + 1), "is longer than 131072 characters"),
            ("max_logprobs", str(MAX_INTEGER + 1), f"is more than {MAX_INTEGER}"),
            ("max_logprobs", "9" * 5000, "must be a whole number of at least -1"),
            ("default_chat_template_kwargs", "[" * 100_000, "is not JSON that can be read"),
        ],
    )
    def test_is_refused(self, dest: str, word: str, reason: str) -> None:
        assert refused(read_word, of(dest), word) == reason


NESTED: dict[str, object] = {}
for _ in range(2000):
    NESTED = {"a": NESTED}


class TestText:
    @pytest.mark.parametrize(
        ("dest", "text", "value"),
        [
            ("enforce_eager", "true", True),
            ("enforce_eager", "1", True),
            ("enforce_eager", "Yes", True),
            ("enforce_eager", "off", False),
            ("enforce_eager", "false", False),
            ("allowed_hosts", "a, b", ["a", "b"]),
            ("allowed_hosts", '["a", "b"]', ["a", "b"]),
            ("cudagraph_capture_sizes", "1,2", [1, 2]),
            ("api_key", "one", ["one"]),
            ("port", "80", 80),
            ("hf_token", "true", True),
            ("lora_modules", '{"name": "a", "path": "/b"}', [{"name": "a", "path": "/b"}]),
            ("hf_token", "abc", "abc"),
            ("lora_modules", "a=/b,c=/d", ["a=/b", "c=/d"]),
        ],
    )
    def test_is_read(self, dest: str, text: str, value: object) -> None:
        assert read_text(of(dest), text) == value

    def test_a_switch_is_refused_by_name(self) -> None:
        assert refused(read_text, of("enforce_eager"), "maybe") == "must be true or false"


class TestNative:
    @pytest.mark.parametrize(
        ("dest", "given", "value"),
        [
            ("enforce_eager", False, False),
            ("port", 9000, 9000),
            ("port", "9000", 9000),
            ("max_model_len", "4k", 4000),
            ("max_model_len", -1, -1),
            ("gpu_memory_utilization", 1, 1.0),
            ("revision", 1234567, "1234567"),
            ("served_model_name", "one", ["one"]),
            ("served_model_name", ["one", "two"], ["one", "two"]),
            ("allowed_origins", ["*"], ["*"]),
            ("allowed_origins", [], []),
            ("allowed_origins", '["*"]', ["*"]),  # as a file for vLLM has to write it
            ("hf_overrides", {"a": None}, {"a": None}),
            ("hf_overrides", "module.f", "module.f"),
            ("speculative_config", '{"method": "ngram"}', {"method": "ngram"}),
            ("hf_token", True, True),
            ("lora_modules", "a=/b", ["a=/b"]),
            ("lora_modules", [{"name": "a", "path": "/b"}], [{"name": "a", "path": "/b"}]),
            ("quantization", None, None),
        ],
    )
    def test_is_read(self, dest: str, given: object, value: object) -> None:
        read = read_native(of(dest), given)
        assert read == value
        assert type(read) is type(value)

    @pytest.mark.parametrize(
        ("dest", "given", "reason"),
        [
            ("enforce_eager", "no", "must be true or false"),
            ("enforce_eager", 0, "must be true or false"),
            ("port", True, "must be a whole number from 0 to 65535"),
            ("port", 80.0, "must be a whole number from 0 to 65535"),
            ("port", [80], "must be a whole number from 0 to 65535"),
            ("port", None, "has no value; give one, or leave the line out"),
            ("tokenizer", {"a": 1}, "must be text"),
            ("revision", 1.1, "must be text; put it into quotes"),
            # 0123456 of YAML: another key than the one that was meant.
            ("api_key", 0o123456, "must be text; put it into quotes"),
            ("hf_overrides", {"a": [float("nan")]}, "holds a number that is not finite"),
            ("hf_overrides", NESTED, "is nested deeper than 24 levels"),
            ("compilation_config", {"levle": 1}, "has no key levle; did you mean mode?"),
            (
                "kernel_config",
                {"moe_backend": "deepgemm"},
                "its moe_backend is none of 23 names; did you mean deep_gemm?",
            ),
            (
                "pooler_config",
                {"pooling_type": "FOO"},
                "its pooling_type must be ALL, CLS, LAST, MEAN or STEP",
            ),
            (
                "compilation_config",
                {"mode": 9},
                "its mode must be 0, 1, 2, 3, dynamo_trace_once, none, stock_torch_compile or "
                "vllm_compile",
            ),
            (
                "eplb_config",
                {"window_size": None},
                "its window_size must be a whole number of at least 1",
            ),
            ("compilation_config", [1], "must be a JSON object, such as '{\"key\": 1}'"),
            (
                "additional_config",
                {"a": {1, 2}},
                ("must be made of texts, numbers, lists and mappings"),
            ),
            ("served_model_name", [], "has no value; give one, or leave the line out"),
            ("served_model_name", [["a"]], "must be text"),
        ],
    )
    def test_is_refused(self, dest: str, given: object, reason: str) -> None:
        assert refused(read_native, of(dest), given) == reason


def test_no_reason_repeats_the_value() -> None:
    secret = "s3cr3t-s3cr3t"
    reasons = []
    for each in catalogue():
        for read in (read_word, read_text, read_native):
            try:
                read(each, secret)
            except BadValue as fault:
                reasons.append(f"{fault.reason}{fault.way_out}")
    assert len(reasons) > 300
    assert [reason for reason in reasons if secret in reason] == []


@pytest.mark.parametrize(
    ("attributes", "phrase"),
    [
        ({"kind": "integer", "low": 0, "high": 9}, "a whole number from 0 to 9"),
        ({"kind": "integer", "low": 0, "above_low": True}, "a whole number of at least 1"),
        ({"kind": "number", "low": 0, "above_low": True}, "a number above 0"),
        ({"kind": "number", "high": 1, "below_high": True}, "a number below 1"),
        ({"kind": "number"}, "a number"),
        ({"kind": "switch"}, "true or false"),
        ({"choices": ("a",)}, "a"),
        ({"choices": ("a", "b", "c")}, "a, b or c"),
        ({"kind": "object"}, "a JSON object"),
    ],
)
def test_limits_are_told(attributes: dict[str, Any], phrase: str) -> None:
    assert limits(flag(**attributes)) == phrase

"""Rows about what is served: the model, its folder, and what its config.json says."""

from __future__ import annotations

import json

from engine_bridge.suggest import did_you_mean
from omni_cli.flags.catalogue import catalogue
from omni_cli.serve.problems import Problem
from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.rule import Example, Found, Rule

__all__ = ["ROWS", "TINY"]

TINY = """\
{
  "architectures": ["LlamaForCausalLM"],
  "model_type": "llama",
  "hidden_size": 64,
  "intermediate_size": 128,
  "num_attention_heads": 4,
  "num_key_value_heads": 2,
  "num_hidden_layers": 2,
  "vocab_size": 128,
  "max_position_embeddings": 2048,
  "torch_dtype": "bfloat16"
}
"""
"""config.json of a model for examples."""

_FOLDER = {"tiny/config.json": TINY}
_DUMMY = "./tiny --load-format dummy"

_TWO_STAGES = {
    "p.yaml": "stages:\n"
    "  - {name: chat, model: smollm2-135m-instruct}\n"
    "  - {name: embed, model: minilm-l6}\n"
}

# They describe one model, so with several stages nobody can tell whose they are.
_ONE_MODEL = (
    "served_model_name",
    "tokenizer",
    "hf_config_path",
    "chat_template",
    "tool_call_parser",
    "reasoning_parser",
    "quantization",
    "lora_modules",
    "speculative_config.model",
    "spec_model",
)

# Kinds of models that overflow in float16 (_FLOAT16_NOT_SUPPORTED_MODELS in vllm/config/model.py).
_NO_FLOAT16 = ("gemma2", "gemma3", "gemma3_text", "glm4")

_SENTENCES = "sentence_bert_config.json"

# Methods whose weights must have been prepared, and the files that say how, beside config.json
# (get_config_filenames in vllm/model_executor/layers/quantization/auto_awq.py and auto_gptq.py).
_PREPARED = {
    "awq": ("quantize_config.json", "quant_config.json"),
    "awq_marlin": ("quantize_config.json", "quant_config.json"),
    "gptq": ("quantize_config.json",),
    "gptq_marlin": ("quantize_config.json",),
}


def dense(line: Line) -> bool:
    """Whether the model certainly has no experts: they go by many names, so none may be near."""
    text = json.dumps(line.config).lower()
    return "num_hidden_layers" in line.config and not ("expert" in text or "moe" in text)


def _one_model(line: Line) -> Found:
    if len(line.stages) < 2:
        return False
    found = []
    for dest in _ONE_MODEL:
        if line.given(dest) and line.origin(dest) != "pipeline":
            where = "served_model_name" if dest == "served_model_name" else f"args.{dest}"
            found.append({"blame": dest, "stages": len(line.stages), "where": where})
    return found


def _fault(line: Line) -> Found:
    model, stage = line.model, line.stage
    if model is None or model.fault is None or stage is None:
        return False
    problem = Problem.of(model.fault, "pipeline")
    words = {"value": None, "why": model.fault.reason, "instead": model.fault.way_out}
    if stage.spec.where == "TARGET":
        return {**words, "subject": problem.subject, "origin": line.origin("target")}
    return {**words, "subject": f"{stage.spec.where}: {problem.subject}", "origin": "pipeline"}


def _longer(line: Line) -> Found:
    return False if line.on("disable_sliding_window") else _too_long(line)


def _too_long(line: Line) -> Found:
    length = line.number("max_model_len")
    longest = _longest(line)
    if length is None or longest is None or length <= longest or not line.given("max_model_len"):
        return False
    return {"longest": longest}


def _longest(line: Line) -> int | None:
    """Positions that the model has, where nothing else could widen them."""
    config = line.config
    longest = config.get("max_position_embeddings")
    window = config.get("sliding_window")
    if line.on("disable_sliding_window") and isinstance(window, int) and isinstance(longest, int):
        longest = min(longest, window)
    ropes = [config.get(name) for name in ("rope_scaling", "rope_parameters")]
    widened = "factor" in json.dumps(ropes) or "model_max_length" in config
    # Embedding models may have a length of their own there.
    widened = widened or (line.model is not None and _SENTENCES in line.model.json_files)
    widened = widened or line.facts.environ.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "0") != "0"
    return longest if isinstance(longest, int) and not widened else None


def _heads(line: Line) -> Found:
    heads, size = line.config.get("num_attention_heads"), line.number("tensor_parallel_size")
    if not isinstance(heads, int) or size is None or size < 1 or heads % size == 0:
        return False
    return {"heads": heads}


def _unprepared(line: Line) -> Found:
    model, method = line.model, line.text("quantization").lower()
    if model is None or method not in _PREPARED or not line.config:
        return False
    says = ("quantization_config", "compression_config")
    if any(name in config for config in (model.config, line.config) for name in says):
        return False
    return not any(file.endswith(_PREPARED[method]) for file in model.json_files)


def _unknown_method(line: Line) -> Found:
    """A method that vLLM does not bring; plugins may bring it."""
    method, known = line.text("quantization").lower(), catalogue().by_dest["quantization"].known
    if not method or method in known or line.facts.plugins:
        return False
    lists = "`omni serve --help=quantization` lists them"
    return {"hint": did_you_mean(method, known, lists)}


def _other_method(line: Line) -> Found:
    """Weights that were prepared by one method, and another asked for; kinds of one method take
    over from each other."""
    known = line.model.config if line.model is not None and line.config else {}
    found = known.get("quantization_config")
    method = str(found.get("quant_method", "")).lower() if isinstance(found, dict) else ""
    asked = line.text("quantization").lower()
    if method not in ("awq", "gptq") or not asked or method in asked:
        return False
    return {"method": method}


_MISTRAL = {
    "tiny/config.json": TINY.replace("LlamaForCausalLM", "MistralForCausalLM").replace(
        '"llama"', '"mistral", "sliding_window": 512'
    )
}
_GEMMA = {
    "tiny/config.json": TINY.replace("LlamaForCausalLM", "Gemma2ForCausalLM").replace(
        '"llama"', '"gemma2", "head_dim": 16'
    )
}
_GPTQ = {
    "tiny/config.json": TINY.replace(
        '"llama"',
        '"llama", "quantization_config": '
        '{"quant_method": "gptq", "bits": 4, "group_size": 64, "desc_act": false, "sym": true}',
    )
}
_WHISPER = {
    "tiny/config.json": """\
{
  "architectures": ["WhisperForConditionalGeneration"],
  "model_type": "whisper",
  "is_encoder_decoder": true,
  "d_model": 64,
  "encoder_layers": 2,
  "decoder_layers": 2,
  "encoder_attention_heads": 4,
  "decoder_attention_heads": 4,
  "vocab_size": 128,
  "max_target_positions": 448
}
"""
}


ROWS = (
    Rule(
        id="one-model-flags",
        flags=_ONE_MODEL,
        each="run",
        when=_one_model,
        reason="describes one model, but the pipeline has {stages} stages",
        way_out="set {where} in the stage it is meant for",
        example=Example(words="p.yaml --served-model-name a", files=_TWO_STAGES),
        allowed=Example(words="--served-model-name a"),
    ),
    Rule(
        id="model-fault",
        flags=("target",),
        when=_fault,
        reason="{why}",
        way_out="{instead}",
        example=Example(words="./nowhere"),
        allowed=Example(words=_DUMMY, files=_FOLDER),
    ),
    Rule(
        id="model-length",
        flags=("max_model_len",),
        when=_longer,
        reason="is more than the {longest} positions of the model",
        way_out="give at most {longest}, or leave it out",
        source="vllm/config/model.py _get_and_verify_max_len",
        example=Example(words=f"{_DUMMY} --max-model-len 4096", files=_FOLDER),
        allowed=Example(words=f"{_DUMMY} --max-model-len 2048", files=_FOLDER),
    ),
    Rule(
        id="model-window",
        flags=("max_model_len", "disable_sliding_window"),
        when=lambda line: _too_long(line) if line.on("disable_sliding_window") else False,
        reason="is more than the {longest} tokens of the model's window, and "
        "{disable_sliding_window} keeps it from sliding",
        way_out="give at most {longest}, or let the window slide",
        source="vllm/config/model.py _get_and_verify_max_len",
        example=Example(
            words=f"{_DUMMY} --max-model-len 513 --disable-sliding-window", files=_MISTRAL
        ),
        allowed=Example(
            words=f"{_DUMMY} --max-model-len 512 --disable-sliding-window", files=_MISTRAL
        ),
    ),
    Rule(
        id="model-float16",
        flags=("dtype",),
        when=lambda line: (
            line.config.get("model_type") in _NO_FLOAT16
            and line.text("dtype") in ("float16", "half")
        ),
        reason="is too small a range for this kind of model",
        way_out="use bfloat16 or float32",
        source="vllm/config/model.py _check_valid_dtype",
        example=Example(words=f"{_DUMMY} --dtype float16", files=_GEMMA),
        allowed=Example(words=f"{_DUMMY} --dtype bfloat16", files=_GEMMA),
    ),
    Rule(
        id="prompt-embeddings",
        flags=("enable_prompt_embeds",),
        when=lambda line: (
            line.on("enable_prompt_embeds") and line.config.get("is_encoder_decoder") is True
        ),
        reason="does not fit a model with an encoder of its own",
        way_out="leave it out",
        source="vllm/config/model.py ModelConfig.validate_model_config_after",
        example=Example(words=f"{_DUMMY} --enable-prompt-embeds", files=_WHISPER),
        allowed=Example(words=f"{_DUMMY} --enable-prompt-embeds", files=_FOLDER),
    ),
    Rule(
        id="tensor-parallel-heads",
        flags=("tensor_parallel_size",),
        when=_heads,
        reason="does not divide the {heads} attention heads of the model",
        way_out="choose a divisor of {heads}",
        source="vllm/config/model.py ModelConfig.verify_with_parallel_config",
        example=Example(words=f"{_DUMMY} --tensor-parallel-size 3", files=_FOLDER),
        allowed=Example(words=f"{_DUMMY} --tensor-parallel-size 2", files=_FOLDER),
    ),
    Rule(
        id="expert-parallel-dense",
        flags=("enable_expert_parallel",),
        when=lambda line: line.on("enable_expert_parallel") and dense(line),
        reason="needs a model with experts, and this one has none",
        way_out="leave it out",
        source="vllm/config/model.py ModelConfig._verify_with_expert_parallelism",
        example=Example(words=f"{_DUMMY} --enable-expert-parallel", files=_FOLDER),
        allowed=Example(words=f"{_DUMMY} --no-enable-expert-parallel", files=_FOLDER),
    ),
    Rule(
        id="quantization-unknown",
        flags=("quantization",),
        when=_unknown_method,
        reason="is no method of vLLM",
        way_out="{hint}",
        source="vllm/config/model.py ModelConfig._verify_quantization",
        example=Example(words="--quantization int8"),
        allowed=Example(words="--quantization fp8"),
    ),
    Rule(
        id="quantization-unprepared",
        flags=("quantization",),
        when=_unprepared,
        reason="needs weights that were prepared for it, and this model's were not",
        way_out="serve a model that was quantized so, or leave it out",
        source="vllm/model_executor/model_loader/weight_utils.py get_quant_config",
        example=Example(words=f"{_DUMMY} --quantization awq", files=_FOLDER),
        allowed=Example(words=f"{_DUMMY} --quantization fp8", files=_FOLDER),
    ),
    Rule(
        id="quantization-mismatch",
        flags=("quantization",),
        when=_other_method,
        reason="contradicts the model, whose weights were quantized by {method}",
        way_out="leave it out",
        source="vllm/config/model.py ModelConfig._verify_quantization",
        example=Example(words=f"{_DUMMY} --quantization awq", files=_GPTQ),
        allowed=Example(words=f"{_DUMMY} --quantization gptq", files=_GPTQ),
    ),
    Rule(
        id="quantization-deprecated",
        flags=("quantization", "allow_deprecated_quantization"),
        when=lambda line: (
            line.text("quantization").lower() in ("fbgemm_fp8", "fp_quant")
            and not line.on("allow_deprecated_quantization")
        ),
        reason="is deprecated",
        way_out="choose another, or add --allow-deprecated-quantization",
        source="vllm/config/model.py ModelConfig._verify_quantization",
        example=Example(words="--quantization fp_quant"),
        allowed=Example(words="--quantization fp_quant --allow-deprecated-quantization"),
    ),
)

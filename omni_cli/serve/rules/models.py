"""Rows about what is served: the model, its folder, and what its config.json says."""

from __future__ import annotations

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
    "revision",
    "chat_template",
    "tool_call_parser",
    "reasoning_parser",
    "quantization",
    "lora_modules",
    "speculative_config",
    "spec_model",
)

# Names of config.json that say how many experts a model has (get_num_experts in
# vllm/transformers_utils/model_arch_config_convertor.py).
_EXPERTS = (
    "num_experts",
    "moe_num_experts",
    "n_routed_experts",
    "num_local_experts",
    "block_configs",
)
# Files that let vLLM take a model's length from elsewhere.
_LENGTHS = ("max_position_embeddings",)


def dense(line: Line) -> bool:
    """Whether the model certainly has no experts."""
    config = line.config
    return "num_hidden_layers" in config and not any(config.get(name) for name in _EXPERTS)


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
    widened = any(config.get(name) for name in ("rope_scaling", "rope_parameters"))
    widened = widened or "model_max_length" in config
    widened = widened or line.facts.environ.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "0") != "0"
    return longest if isinstance(longest, int) and not widened else None


def _heads(line: Line) -> Found:
    heads, size = line.config.get("num_attention_heads"), line.number("tensor_parallel_size")
    if not isinstance(heads, int) or size is None or size < 1 or heads % size == 0:
        return False
    return {"heads": heads}


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
        when=_too_long,
        reason="is more than the {longest} positions of the model",
        way_out="give at most {longest}, or leave it out",
        source="vllm/config/model.py _get_and_verify_max_len",
        example=Example(words=f"{_DUMMY} --max-model-len 4096", files=_FOLDER),
        allowed=Example(words=f"{_DUMMY} --max-model-len 2048", files=_FOLDER),
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

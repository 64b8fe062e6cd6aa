"""Rows about names that vLLM looks up among its own: how to read a model, and which kernels."""

from __future__ import annotations

from engine_bridge.suggest import did_you_mean
from omni_cli.flags.catalogue import catalogue
from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.rule import Example, Found, Rule

__all__ = ["ROWS"]


def _unknown(line: Line, dest: str, *, open_set: bool = False) -> Found:
    """A name that vLLM does not bring; where the set is open, plugins may bring it."""
    name, known = line.text(dest), catalogue().by_dest[dest].known
    if not name or name.lower() in {each.lower() for each in known}:
        return False
    if open_set and line.facts.plugins:
        return False
    flag = catalogue().by_dest[dest].name.lstrip("-")
    lists = f"`omni serve --help={flag}` lists them"
    return {"hint": did_you_mean(name.lower(), [each.lower() for each in known], lists)}


ROWS = (
    # Of omni's own: vLLM looks the loader up in the engine, where nobody can ask it here
    # (get_model_loader in vllm/model_executor/model_loader/__init__.py).
    Rule(
        id="load-format-unknown",
        flags=("load_format",),
        when=lambda line: _unknown(line, "load_format", open_set=True),
        reason="is no way to load weights that vLLM knows",
        way_out="{hint}",
        example=Example(words="--load-format sefetensors"),
        allowed=Example(words="--load-format SafeTensors"),
    ),
    Rule(
        id="config-format-unknown",
        flags=("config_format",),
        when=lambda line: _unknown(line, "config_format", open_set=True),
        reason="is no form of a model's configuration that vLLM knows",
        way_out="{hint}",
        source="vllm/transformers_utils/config.py get_config_parser",
        example=Example(words="--config-format nosuch"),
        allowed=Example(words="--config-format hf"),
    ),
    Rule(
        id="attention-backend-unknown",
        flags=("attention_backend",),
        when=lambda line: _unknown(line, "attention_backend"),
        reason="is no kind of attention that vLLM has",
        way_out="{hint}",
        source="vllm/config/attention.py AttentionConfig.validate_backend_before",
        example=Example(words="--attention-backend NOSUCH"),
        allowed=Example(words="--attention-backend cpu_attn"),
    ),
    Rule(
        id="state-backend-unknown",
        flags=("mamba_backend",),
        when=lambda line: _unknown(line, "mamba_backend"),
        reason="is no kind of kernel that vLLM has",
        way_out="{hint}",
        source="vllm/engine/arg_utils.py EngineArgs.create_engine_config",
        example=Example(words="--mamba-backend nosuch"),
        allowed=Example(words="--mamba-backend TRITON"),
    ),
)

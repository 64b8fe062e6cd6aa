"""A model of one layer, for tests in which what it says does not matter."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from engine_bridge.models.store import ModelStore, cache_root

__all__ = ["write_tiny_model"]

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "vocab_size": 49152,
    "hidden_act": "silu",
    "bos_token_id": 1,
    "eos_token_id": 2,
}
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


def write_tiny_model(folder: Path) -> Path:
    """Write its configuration with the bundled chat model's tokenizer; weights are for the caller,
    or for ``--load-format dummy``.
    """
    source = ModelStore(cache_root(os.environ)).pull("smollm2-135m-instruct")
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    for name in TOKENIZER:
        shutil.copy(source / name, folder / name)
    # A folder without a checkpoint is refused before the start.
    (folder / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    return folder

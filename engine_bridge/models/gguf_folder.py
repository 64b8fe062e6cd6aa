"""From a GGUF file to the folder that vLLM loads. Needs gguf, numpy and tokenizers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from engine_bridge.errors import ModelError
from engine_bridge.models import gguf_tokenizer, gguf_weights

__all__ = ["GGUF_NAME", "WEIGHTS_NAME", "prepare"]

GGUF_NAME = "model.gguf"
WEIGHTS_NAME = "model.safetensors"

# Longest answer to a request that names no limit. Models as small as those that ship in packages
# are apt to repeat themselves for ever; a request's own max_tokens may be larger.
MAX_NEW_TOKENS = 1024


def prepare(model: str, folder: Path, tick: Callable[[int], None]) -> None:
    """Replace ``model.gguf`` in ``folder`` by weights, configuration and tokenizer.

    Args:
        model: The name that errors give.
        folder: Holds the file; the caller removes it if this fails.
        tick: Called with the number of bytes after each piece of the weights that was written.

    Raises:
        ModelError: If the file is damaged, or uses what is not supported here.
        OSError: If the file system refuses.
    """
    source = folder / GGUF_NAME
    try:
        file = gguf_weights.GgufFile(source)
        shape = gguf_weights.LlamaShape.of(file)
        texts = {
            "config.json": gguf_weights.config(file, shape),
            "generation_config.json": {
                **gguf_weights.generation_config(file),
                "max_new_tokens": MAX_NEW_TOKENS,
            },
            "special_tokens_map.json": gguf_tokenizer.special_tokens_map(file),
            "tokenizer_config.json": gguf_tokenizer.tokenizer_config(file, shape),
        }
        tokenizer = gguf_tokenizer.tokenizer(file).to_str()
        gguf_weights.write_weights(file, shape, folder / WEIGHTS_NAME, tick)
    except ValueError as error:
        raise ModelError(model, f"its GGUF file cannot be prepared: {error}") from error
    for name, content in texts.items():
        encoded = json.dumps(content, indent=2, ensure_ascii=False)
        (folder / name).write_text(f"{encoded}\n", encoding="utf-8")
    (folder / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    source.unlink()

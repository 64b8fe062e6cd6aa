"""The weights and configuration of a GGUF file of the llama architecture, for vLLM. Needs gguf and
numpy.

Tensors are dequantised one by one, in pieces, and written straight to the safetensors file, so
that memory stays at a few megabytes whatever the size of the model. Two things differ between the
formats:

- llama.cpp stores the rows of the query and key projections so that the two halves of a rotary
  pair lie side by side; Hugging Face keeps each head's first halves before its second halves. The
  permutation is undone here.
- GGUF keeps norms in float32. All tensors become bfloat16, rounded to nearest even, as torch
  rounds.

Source: the safetensors format description (8 bytes of header length, JSON header, tensors without
gaps), llama.cpp's convert_hf_to_gguf.py for the permutation and the tensor names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader, ReaderTensor
from gguf.quants import dequantize
from numpy.typing import NDArray

__all__ = ["GgufFile", "LlamaShape", "config", "generation_config", "to_bfloat16", "write_weights"]

ARCHITECTURE = "llama"
BFLOAT16_BYTES = 2

# Dequantised at once, as float32.
PIECE_BYTES = 8 * 1024 * 1024

# Header length is padded so that the first tensor starts aligned, as the safetensors library does.
HEADER_ALIGNMENT = 8

OUTER_TENSORS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
}
OUTPUT_TENSOR = ("output.weight", "lm_head.weight")  # not there when it equals the embedding
LAYER_TENSORS = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}


class GgufFile:
    """A GGUF file, mapped into memory.

    Raises:
        ValueError: If it is no GGUF file, or a damaged one.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._reader = GGUFReader(path)
        except (IndexError, KeyError, OverflowError) as error:  # the library reads past the end
            raise ValueError("it is damaged") from error
        self.tensors: dict[str, ReaderTensor] = {
            tensor.name: tensor for tensor in self._reader.tensors
        }

    def get(self, key: str) -> Any:
        """Return a value of the file's metadata, or None."""
        field = self._reader.get_field(key)
        return None if field is None else field.contents()

    def require(self, key: str) -> Any:
        """Return a value of the file's metadata.

        Raises:
            ValueError: If it is not there.
        """
        value = self.get(key)
        if value is None:
            raise ValueError(f"{key} is missing")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaShape:
    """The numbers of a llama model.

    Attributes:
        tied: The output projection is the embedding.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    context: int
    vocabulary: int
    norm_eps: float
    rope_theta: float
    tied: bool

    @classmethod
    def of(cls, file: GgufFile) -> LlamaShape:
        """Read the shape.

        Raises:
            ValueError: If the architecture is another one, a number is missing, or the file uses
                what is not supported here (experts, scaled rotary positions).
        """
        architecture = file.require("general.architecture")
        if architecture != ARCHITECTURE:
            raise ValueError(f"its architecture is {architecture}, not {ARCHITECTURE}")
        if file.get("llama.expert_count"):
            raise ValueError("mixtures of experts are not supported")
        if file.get("llama.rope.scaling.type") not in (None, "none"):
            raise ValueError("scaled rotary positions are not supported")
        heads = int(file.require("llama.attention.head_count"))
        hidden = int(file.require("llama.embedding_length"))
        return cls(
            layers=int(file.require("llama.block_count")),
            hidden=hidden,
            intermediate=int(file.require("llama.feed_forward_length")),
            heads=heads,
            kv_heads=int(file.get("llama.attention.head_count_kv") or heads),
            head_dim=int(file.get("llama.attention.key_length") or hidden // heads),
            context=int(file.require("llama.context_length")),
            vocabulary=len(file.require("tokenizer.ggml.tokens")),
            norm_eps=_shortest(file.require("llama.attention.layer_norm_rms_epsilon")),
            rope_theta=_shortest(file.get("llama.rope.freq_base") or 10000.0),
            tied=OUTPUT_TENSOR[0] not in file.tensors,
        )

    def tensor_names(self) -> dict[str, str]:
        """Return the Hugging Face name for each tensor that the file must have."""
        names = dict(OUTER_TENSORS)
        for layer in range(self.layers):
            for ours, theirs in LAYER_TENSORS.items():
                names[f"blk.{layer}.{ours}"] = f"model.layers.{layer}.{theirs}"
        if not self.tied:
            names[OUTPUT_TENSOR[0]] = OUTPUT_TENSOR[1]
        return names


def config(file: GgufFile, shape: LlamaShape) -> dict[str, object]:
    """Return the content of config.json."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "dtype": "bfloat16",
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "hidden_size": shape.hidden,
        "initializer_range": 0.02,
        "intermediate_size": shape.intermediate,
        "max_position_embeddings": shape.context,
        "mlp_bias": False,
        "num_attention_heads": shape.heads,
        "num_hidden_layers": shape.layers,
        "num_key_value_heads": shape.kv_heads,
        "rms_norm_eps": shape.norm_eps,
        "rope_parameters": {"rope_theta": shape.rope_theta, "rope_type": "default"},
        "tie_word_embeddings": shape.tied,
        "use_cache": True,
        "vocab_size": shape.vocabulary,
        **generation_config(file),
    }


def generation_config(file: GgufFile) -> dict[str, object]:
    """Return the content of generation_config.json: which tokens begin, end and pad a text."""
    keys = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"}
    ids = {key: file.get(f"tokenizer.ggml.{name}_token_id") for key, name in keys.items()}
    return {key: int(value) for key, value in ids.items() if value is not None}


def write_weights(
    file: GgufFile, shape: LlamaShape, path: Path, tick: Callable[[int], None]
) -> None:
    """Write all tensors to a new safetensors file.

    Args:
        file: The source.
        shape: Its shape.
        path: The file to make.
        tick: Called with the number of bytes after each piece that was written.

    Raises:
        ValueError: If tensors are missing, unknown or of another shape, or their quantisation is
            not known.
    """
    names = shape.tensor_names()
    unknown = file.tensors.keys() - names.keys()
    missing = names.keys() - file.tensors.keys()
    if unknown or missing:
        raise ValueError(f"tensors missing: {sorted(missing)[:3]}, unknown: {sorted(unknown)[:3]}")
    with path.open("xb") as out:
        out.write(_header(file, names))
        for name in names:
            for piece in _pieces(file.tensors[name], _permuted_heads(name, shape)):
                tick(out.write(to_bfloat16(piece).tobytes()))


def to_bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Round to nearest even.

    Args:
        values: Any shape, float32.

    Returns:
        The same shape; the bits of each bfloat16. NaN stays NaN.
    """
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) >> 16
    quiet_nan = (bits >> 16) | np.uint32(0x0040)
    return np.where(np.isnan(values), quiet_nan, rounded).astype("<u2")


def _header(file: GgufFile, names: dict[str, str]) -> bytes:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, hf_name in names.items():
        # GGUF names the fastest axis first.
        shape = [int(size) for size in reversed(file.tensors[name].shape)]
        end = offset + int(np.prod(shape)) * BFLOAT16_BYTES
        header[hf_name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % HEADER_ALIGNMENT)
    return len(encoded).to_bytes(8, "little") + encoded


def _permuted_heads(name: str, shape: LlamaShape) -> int | None:
    """Return the heads of a projection whose rows are permuted, None for any other tensor."""
    if name.endswith("attn_q.weight"):
        return shape.heads
    if name.endswith("attn_k.weight"):
        return shape.kv_heads
    return None


def _pieces(tensor: ReaderTensor, permuted_heads: int | None) -> Iterator[NDArray[np.float32]]:
    """Dequantise; whole rows at a time, in order."""
    if permuted_heads is not None:
        yield _unpermute(_dequantise(tensor, tensor.data), permuted_heads)
        return
    rows = max(1, PIECE_BYTES // (4 * int(tensor.shape[0])))
    data = tensor.data if tensor.data.ndim > 1 else tensor.data[np.newaxis]
    for start in range(0, len(data), rows):
        yield _dequantise(tensor, data[start : start + rows])


def _dequantise(tensor: ReaderTensor, data: NDArray[Any]) -> NDArray[np.float32]:
    try:
        values: NDArray[np.float32] = dequantize(data, tensor.tensor_type).astype(
            np.float32, copy=False
        )
    except NotImplementedError:
        kind = tensor.tensor_type.name
        raise ValueError(f"tensor {tensor.name} has the unknown quantisation {kind}") from None
    return values


def _unpermute(rows: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows (heads, pairs, 2) -> rows (heads, 2, pairs)."""
    pairs = rows.shape[0] // heads // 2
    return rows.reshape(heads, pairs, 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def _shortest(value: float) -> float:
    """Undo the widening of a float32: 9.999999747378752e-06 is written as 1e-05."""
    return float(str(np.float32(value)))

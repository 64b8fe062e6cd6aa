"""The tokenizer of a GGUF file (byte-level BPE), as a Hugging Face tokenizer. Needs tokenizers.

GGUF names the rule by which text is cut before the merges (``tokenizer.ggml.pre``) but does not
hold it, so each name that we know stands here. An unknown one is refused: a wrong rule gives
plausible, wrong tokens.
"""

from __future__ import annotations

from enum import IntEnum

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

from engine_bridge.models.gguf_weights import GgufFile, LlamaShape

__all__ = ["TokenKind", "special_tokens_map", "tokenizer", "tokenizer_config"]

SPECIAL_TOKENS = {
    "bos_token": "bos",
    "eos_token": "eos",
    "unk_token": "unknown",
    "pad_token": "padding",
}


class TokenKind(IntEnum):
    """``tokenizer.ggml.token_type``, as far as byte-level BPE uses it."""

    NORMAL = 1
    CONTROL = 3
    USER_DEFINED = 4


def tokenizer(file: GgufFile) -> Tokenizer:
    """Build the tokenizer.

    Raises:
        ValueError: If the file's tokenizer is not one that is known here.
    """
    if (model := file.require("tokenizer.ggml.model")) != "gpt2":
        raise ValueError(f"its tokenizer is {model}, not gpt2 (byte-level BPE)")
    tokens: list[str] = file.require("tokenizer.ggml.tokens")
    merges = [_pair(merge) for merge in file.require("tokenizer.ggml.merges")]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    built = Tokenizer(
        models.BPE(vocab=vocabulary, merges=merges, fuse_unk=False, byte_fallback=False)
    )
    built.pre_tokenizer = _pre_tokenizer(file.get("tokenizer.ggml.pre"))
    built.decoder = decoders.ByteLevel()
    built.add_special_tokens(_added(file, tokens, TokenKind.CONTROL))
    built.add_tokens(_added(file, tokens, TokenKind.USER_DEFINED))
    if file.get("tokenizer.ggml.add_bos_token"):
        bos = int(file.require("tokenizer.ggml.bos_token_id"))
        built.post_processor = processors.TemplateProcessing(
            single=f"{tokens[bos]} $A",
            pair=f"{tokens[bos]} $A {tokens[bos]}:1 $B:1",
            special_tokens=[(tokens[bos], bos)],
        )
    return built


def special_tokens_map(file: GgufFile) -> dict[str, str]:
    """Return the content of special_tokens_map.json."""
    tokens: list[str] = file.require("tokenizer.ggml.tokens")
    ids = {key: file.get(f"tokenizer.ggml.{name}_token_id") for key, name in SPECIAL_TOKENS.items()}
    return {key: tokens[int(number)] for key, number in ids.items() if number is not None}


def tokenizer_config(file: GgufFile, shape: LlamaShape) -> dict[str, object]:
    """Return the content of tokenizer_config.json, with the chat template if there is one."""
    settings: dict[str, object] = {
        # The class that takes tokenizer.json as it is.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": shape.context,
        **special_tokens_map(file),
    }
    template = file.get("tokenizer.chat_template")
    return settings if template is None else {**settings, "chat_template": template}


def _pre_tokenizer(name: str | None) -> pre_tokenizers.PreTokenizer:
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    match name:
        case "gpt-2" | "gpt2":
            return bytes_
        case "smollm":
            return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bytes_])
        case _:
            raise ValueError(f"its rule for cutting text, {name}, is not known")


def _added(file: GgufFile, tokens: list[str], kind: TokenKind) -> list[AddedToken]:
    kinds = file.require("tokenizer.ggml.token_type")
    special = kind is TokenKind.CONTROL
    return [
        AddedToken(token, special=special, normalized=False)
        for token, its_kind in zip(tokens, kinds, strict=True)
        if its_kind == kind
    ]


def _pair(merge: str) -> tuple[str, str]:
    left, right = merge.split(" ")
    return left, right

"""Preparing a GGUF file. Transformers reads such files in its own way and says what is right."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind
from gguf import GGUFWriter
from numpy.typing import NDArray
from tokenizers import Tokenizer

from engine_bridge.errors import ModelError
from engine_bridge.models.gguf_folder import GGUF_NAME, prepare
from engine_bridge.models.gguf_weights import to_bfloat16
from engine_bridge.models.manifest import read as read_manifest
from engine_bridge.models.progress import Progress

Shop = Any

LAYERS, HIDDEN, HEADS, KV_HEADS, FEED_FORWARD = 2, 64, 4, 2, 96

SPECIAL = ["<|end|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["h e", "l l", "Ġ t", "Ġt he", "Ġ Ġ", "Ċ Ġ"]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}"

CORPUS = (
    "hello  the world", "", " ", "\n\n\t x", "naïve café 日本語 😀 \u200d", "it's I'LL we've",
    "<|im_start|>user\nhe <|im_end|><|end|>", "def f(x):\n    return x ** 2  # the\n",
    "x=12345 7½ ٣٤",
    "a\r\nb", "é e\u0301", "\u00a0the",
)  # fmt: skip

# The weights that this preparation gave when transformers' own loading of the same file, rounded
# by torch to bfloat16, was found to be the same bit by bit.
CHAT_WEIGHTS_SHA256 = "4f7d005af9df02ec3681193acfa4ed1d8a56c2f6fad18ff47d6b970b35db4034"

CHAT_TOKENS = {
    "The capital of France": [504, 3575, 282, 4649],
    "x = 12345": [104, 446, 216, 33, 34, 35, 36, 37],
    "  10": [256, 33, 32],
    "naïve 日本語 😀\n\n    return x": [
        3546,
        46494,
        17097,
        241,
        115,
        40993,
        179,
        120,
        248,
        40303,
        218,
        1004,
        1003,
        1792,
    ],
    "<|im_start|>user\nhi<|im_end|>": [1, 4093, 198, 6004, 2],
}


def byte_alphabet() -> list[str]:
    """GPT-2's visible character for each byte."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return [chr(byte) for byte in visible] + [chr(256 + number) for number in range(len(hidden))]


def tokens() -> list[str]:
    return [*SPECIAL, *byte_alphabet(), *(merge.replace(" ", "") for merge in MERGES)]


def write_gguf(
    path: Path,
    kind: Kind = Kind.Q8_0,
    tied: bool = True,
    change: Callable[[Any], object] | None = None,
) -> bytes:
    """Write a tiny llama; ``change`` may add to, or spoil, what is written."""
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(512)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(50000.0)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_vocab_size(len(tokens()))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens())
    writer.add_token_types([3 if token in SPECIAL else 1 for token in tokens()])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)
    random = np.random.default_rng(7)

    def add(name: str, *shape: int) -> None:
        values = random.normal(0, 0.1, shape).astype(np.float32)
        if len(shape) == 1 or kind is Kind.F32:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)

    add("token_embd.weight", len(tokens()), HIDDEN)
    add("output_norm.weight", HIDDEN)
    if not tied:
        add("output.weight", len(tokens()), HIDDEN)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        add(f"{block}.attn_norm.weight", HIDDEN)
        add(f"{block}.attn_q.weight", HIDDEN, HIDDEN)
        add(f"{block}.attn_k.weight", HIDDEN * KV_HEADS // HEADS, HIDDEN)
        add(f"{block}.attn_v.weight", HIDDEN * KV_HEADS // HEADS, HIDDEN)
        add(f"{block}.attn_output.weight", HIDDEN, HIDDEN)
        add(f"{block}.ffn_norm.weight", HIDDEN)
        add(f"{block}.ffn_gate.weight", FEED_FORWARD, HIDDEN)
        add(f"{block}.ffn_up.weight", FEED_FORWARD, HIDDEN)
        add(f"{block}.ffn_down.weight", HIDDEN, FEED_FORWARD)
    if change:
        change(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


def prepared(folder: Path, content: bytes) -> Path:
    """Prepare that GGUF file in a folder of its own."""
    made = folder / "prepared"
    made.mkdir()
    (made / GGUF_NAME).write_bytes(content)
    prepare("tiny", made, lambda count: None)
    return made


def refusal(folder: Path, content: bytes) -> str:
    with pytest.raises(ModelError) as caught:
        prepared(folder, content)
    return str(caught.value).removeprefix("model tiny: its GGUF file cannot be prepared: ")


class TestPull:
    def test_pull_prepares_a_gguf_model(self, shop: Shop, tmp_path: Path) -> None:
        content = write_gguf(tmp_path / "a.gguf")
        shop.add("tiny", {"model.gguf": content}, prepare="gguf-llama", disk_bytes=1_000_000)
        seen: list[Progress] = []
        folder = shop.store.pull("tiny", seen.append)
        assert [path.name for path in folder.glob("model.*")] == ["model.safetensors"]
        steps = list(dict.fromkeys(one.step for one in seen))
        assert steps == ["download", "unpack", "prepare", "check"]

    def test_pull_of_a_damaged_gguf_leaves_nothing(self, shop: Shop) -> None:
        shop.add("tiny", {"model.gguf": b"GGUF"}, prepare="gguf-llama")
        with pytest.raises(ModelError, match="its GGUF file cannot be prepared: it is damaged"):
            shop.store.pull("tiny")
        assert shop.names() == []


class TestPrepare:
    def test_prepare_leaves_a_folder_for_vllm(self, tmp_path: Path) -> None:
        folder = prepared(tmp_path, write_gguf(tmp_path / "a.gguf"))
        assert sorted(path.name for path in folder.iterdir()) == [
            "config.json", "generation_config.json", "model.safetensors",
            "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json",
        ]  # fmt: skip
        config = json.loads((folder / "config.json").read_text())
        assert config["architectures"] == ["LlamaForCausalLM"]
        assert (config["rms_norm_eps"], config["rope_parameters"]["rope_theta"]) == (1e-5, 50000.0)
        assert (config["bos_token_id"], config["eos_token_id"], config["pad_token_id"]) == (1, 2, 2)
        assert (config["tie_word_embeddings"], config["head_dim"]) == (True, HIDDEN // HEADS)
        settings = json.loads((folder / "tokenizer_config.json").read_text())
        assert settings["chat_template"] == TEMPLATE
        assert settings["eos_token"] == "<|im_end|>"
        assert settings["model_max_length"] == 512

    def test_prepare_splits_every_digit(self, tmp_path: Path) -> None:
        folder = prepared(tmp_path, write_gguf(tmp_path / "a.gguf"))
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        assert tokenizer.encode("  10").tokens == ["ĠĠ", "1", "0"]
        assert tokenizer.encode("<|im_start|>he").tokens == ["<|im_start|>", "he"]
        assert tokenizer.decode(tokenizer.encode("a 日本 \n").ids) == "a 日本 \n"

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda w: w.add_expert_count(4), "mixtures of experts are not supported"),
            (lambda w: w.add_string("llama.rope.scaling.type", "yarn"), "scaled rotary positions"),
            (
                lambda w: w.add_tensor("blk.0.extra", np.zeros(4, np.float32)),
                "unknown: ['blk.0.extra']",
            ),
            (lambda w: w.tensors[0].pop("blk.1.ffn_up.weight"), "missing: ['blk.1.ffn_up.weight']"),
            (lambda w: w.kv_data[0].pop("llama.block_count"), "llama.block_count is missing"),
            (lambda w: w.kv_data[0].pop("tokenizer.ggml.pre"), "its rule for cutting text, None"),
            (lambda w: set_text(w, "tokenizer.ggml.pre", "new"), "its rule for cutting text, new"),
            (lambda w: set_text(w, "tokenizer.ggml.model", "llama"), "its tokenizer is llama, not"),
            (lambda w: set_text(w, "general.architecture", "qwen2"), "its architecture is qwen2"),
        ],
    )
    def test_prepare_refuses_what_it_does_not_know(
        self, tmp_path: Path, change: Callable[[Any], object], said: str
    ) -> None:
        assert said in refusal(tmp_path, write_gguf(tmp_path / "a.gguf", change=change))

    @pytest.mark.parametrize("content", [b"", b"GGUF", b"not a gguf file at all, but longer" * 9])
    def test_prepare_of_what_is_no_gguf(self, tmp_path: Path, content: bytes) -> None:
        assert refusal(tmp_path, content)


def set_text(writer: Any, key: str, value: str) -> None:
    writer.kv_data[0][key].value = value


class TestBfloat16:
    @pytest.mark.parametrize(
        ("value", "bits"),
        [
            (1.0, 0x3F80), (-0.0, 0x8000), (1.00390625, 0x3F80), (1.01171875, 0x3F82),
            (1.0039063692092896, 0x3F81), (float("inf"), 0x7F80), (3.4e38, 0x7F80),
        ],
    )  # fmt: skip
    def test_bfloat16_rounds_to_nearest_even(self, value: float, bits: int) -> None:
        assert to_bfloat16(np.array([value], np.float32)).tolist() == [bits]

    def test_bfloat16_keeps_nan(self) -> None:
        patterns = np.array([0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF], np.uint32).view(np.float32)
        assert np.isnan(widen(to_bfloat16(patterns))).all()

    def test_bfloat16_equals_torch(self) -> None:
        torch = pytest.importorskip("torch")
        bits = np.random.default_rng(1).integers(0, 1 << 32, 200_000, dtype=np.uint32)
        values = bits.view(np.float32)
        values = values[~np.isnan(values)]
        theirs = torch.from_numpy(values).to(torch.bfloat16).view(torch.int16).numpy()
        assert (to_bfloat16(values).view(np.int16) == theirs).all()


def widen(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    return (bits.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # transformers' and torch's own
class TestAgainstTransformers:
    @pytest.mark.parametrize(
        ("kind", "tied"),
        [(Kind.Q8_0, True), (Kind.Q4_1, False), (Kind.F16, True), (Kind.F32, False)],
    )
    def test_weights_equal(self, tmp_path: Path, kind: Kind, tied: bool) -> None:
        torch = pytest.importorskip("torch")
        from transformers import AutoModelForCausalLM, LlamaForCausalLM
        from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

        folder = prepared(tmp_path, write_gguf(tmp_path / "a.gguf", kind, tied))
        ours = AutoModelForCausalLM.from_pretrained(folder)
        theirs = load_gguf_checkpoint(
            str(tmp_path / "a.gguf"),
            return_tensors=True,
            model_to_load=LlamaForCausalLM(ours.config),
        )["tensors"]
        state = ours.state_dict()
        assert state.keys() == theirs.keys() | {"lm_head.weight"}
        for name, tensor in theirs.items():
            assert torch.equal(state[name], tensor.to(torch.bfloat16)), name
        tied_now = torch.equal(state["lm_head.weight"], state["model.embed_tokens.weight"])
        assert tied_now is tied

    def test_tokens_equal(self, tmp_path: Path) -> None:
        transformers = pytest.importorskip("transformers")
        folder = prepared(tmp_path, write_gguf(tmp_path / "a.gguf"))
        ours = transformers.AutoTokenizer.from_pretrained(folder)
        theirs = transformers.AutoTokenizer.from_pretrained(tmp_path, gguf_file="a.gguf")
        for text in CORPUS:
            assert ours(text).input_ids == theirs(text).input_ids, text
            assert ours.decode(ours(text).input_ids) == text
        for name in ("bos_token", "eos_token", "unk_token", "pad_token"):
            assert getattr(ours, name) == getattr(theirs, name)
        chat = [{"role": "user", "content": "he"}]
        assert ours.apply_chat_template(chat) == theirs.apply_chat_template(chat)

    def test_chat_model_knows_what_follows(self, chat_model: Path) -> None:
        transformers = pytest.importorskip("transformers")
        tokenizer = transformers.AutoTokenizer.from_pretrained(chat_model)
        model = transformers.AutoModelForCausalLM.from_pretrained(chat_model)
        question = [{"role": "user", "content": "What is the capital of France?"}]
        prompt = tokenizer.apply_chat_template(question, add_generation_prompt=True, tokenize=False)
        ids = tokenizer(f"{prompt}The capital of France is", return_tensors="pt")
        assert tokenizer.decode(model(**ids).logits[0, -1].argmax()) == " Paris"


class TestChatModel:
    def test_chat_model_weights_are_the_proved_ones(self, chat_model: Path) -> None:
        manifest = read_manifest(chat_model)
        assert manifest is not None
        hashes = {file.path: file.sha256 for file in manifest.files}
        assert hashes["model.safetensors"] == CHAT_WEIGHTS_SHA256

    def test_chat_model_header_fits_the_file(self, chat_model: Path) -> None:
        path = chat_model / "model.safetensors"
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(length))
        offsets = sorted(value["data_offsets"] for key, value in header.items() if key[0] != "_")
        assert length % 8 == 0
        assert all(one[1] == two[0] for one, two in zip(offsets, offsets[1:], strict=False))
        assert 8 + length + offsets[-1][1] == path.stat().st_size

    @pytest.mark.parametrize(("text", "ids"), CHAT_TOKENS.items())
    def test_chat_model_tokens(self, chat_model: Path, text: str, ids: Sequence[int]) -> None:
        tokenizer = Tokenizer.from_file(str(chat_model / "tokenizer.json"))
        assert tokenizer.encode(text).ids == ids
        assert tokenizer.decode(list(ids), skip_special_tokens=False) == text

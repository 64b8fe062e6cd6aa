from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine_bridge.errors import ModelError
from engine_bridge.models.resolve import ResolvedModel, resolve

Shop = Any

HEADER = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
SAFETENSORS = len(HEADER).to_bytes(8, "little") + HEADER + bytes(8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that passes for a model."""
    made = tmp_path / "mine"
    made.mkdir()
    (made / "config.json").write_text('{"model_type": "llama"}')
    (made / "model.safetensors").write_bytes(SAFETENSORS)
    return made


def reason(model: str | Path, shop: Shop) -> str:
    with pytest.raises(ModelError) as caught:
        resolve(str(model), shop.store)
    assert caught.value.exit_code == 2
    return str(caught.value)


class TestBundled:
    def test_bundled_in_the_cache(self, shop: Shop) -> None:
        path = shop.store.pull("plain")
        assert resolve("plain", shop.store) == ResolvedModel(
            str(path), shop.catalogue.models[0], "bundled"
        )

    def test_bundled_not_in_the_cache(self, shop: Shop) -> None:
        assert reason("plain", shop) == (
            f"model plain: is not in the cache {shop.root}; run: omni models pull plain"
        )

    def test_bundled_wins_over_a_folder(self, shop: Shop, tmp_path: Path) -> None:
        (tmp_path / "plain").mkdir()
        shop.store.pull("plain")
        assert resolve("plain", shop.store).kind == "bundled"


class TestFolder:
    @pytest.mark.parametrize("spelling", ["mine", "./mine", "{}/mine", "mine/"])
    def test_folder_becomes_absolute(
        self, shop: Shop, folder: Path, tmp_path: Path, spelling: str
    ) -> None:
        found = resolve(spelling.format(tmp_path), shop.store)
        assert found == ResolvedModel(str(folder), None, "folder")

    def test_folder_of_the_home(
        self, shop: Shop, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        assert resolve("~/mine", shop.store).path_or_id == str(folder)

    def test_folder_that_looks_like_a_hub_id(
        self, shop: Shop, folder: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "org").mkdir()
        folder.rename(tmp_path / "org" / "name")
        assert resolve("org/name", shop.store).kind == "folder"

    @pytest.mark.parametrize("path", ["./absent", "../absent", "/absent", "~/absent", "."])
    def test_path_that_is_no_model_is_never_a_hub_id(self, shop: Shop, path: str) -> None:
        assert reason(path, shop)

    def test_folder_without_config(self, shop: Shop, folder: Path) -> None:
        (folder / "config.json").unlink()
        assert "has no config.json; point to the folder that holds it" in reason(folder, shop)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("{", "config.json is not valid JSON"),
            ("[]", "config.json is not a JSON object"),
            ("\udcff", "config.json is not valid JSON"),
        ],
    )
    def test_folder_with_a_broken_config(
        self, shop: Shop, folder: Path, content: str, said: str
    ) -> None:
        (folder / "config.json").write_text(content, errors="surrogateescape")
        assert said in reason(folder, shop)

    @pytest.mark.parametrize("name", ["tokenizer.json", "generation_config.json"])
    def test_folder_with_another_broken_file(self, shop: Shop, folder: Path, name: str) -> None:
        (folder / name).write_text("{")
        assert f"{name} is not valid JSON" in reason(folder, shop)

    def test_folder_without_weights(self, shop: Shop, folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / "training_args.bin").write_bytes(b"x")
        assert "holds no weights (*.bin, *.gguf, *.pt, *.pth, *.safetensors)" in reason(
            folder, shop
        )
        found = resolve(str(folder), shop.store, needs_weights=False)
        assert found == ResolvedModel(str(folder), None, "folder")

    def test_folder_with_cut_weights(self, shop: Shop, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(SAFETENSORS[:-1])
        size = len(SAFETENSORS)
        assert f"model.safetensors is cut short: {size - 1} of {size} bytes" in reason(folder, shop)

    @pytest.mark.parametrize(
        "content", [b"", b"\xff" * 8, b"<html>not found</html>", SAFETENSORS[:9]]
    )
    def test_folder_with_weights_that_are_none(
        self, shop: Shop, folder: Path, content: bytes
    ) -> None:
        (folder / "model.safetensors").write_bytes(content)
        assert "model.safetensors is not a safetensors file" in reason(folder, shop)

    def test_folder_with_empty_weights(self, shop: Shop, folder: Path) -> None:
        (folder / "pytorch_model.bin").write_bytes(b"")
        assert "pytorch_model.bin is cut short: 0 of 1 bytes" in reason(folder, shop)

    def test_folder_that_lacks_a_shard(self, shop: Shop, folder: Path) -> None:
        index = {"weight_map": {"w": "model.safetensors", "v": "model-2.safetensors"}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        assert "lacks model-2.safetensors, which model.safetensors.index.json" in reason(
            folder, shop
        )

    def test_file_instead_of_a_folder(self, shop: Shop, folder: Path) -> None:
        assert "is a file, not a folder" in reason(folder / "model.safetensors", shop)

    def test_path_that_does_not_exist(self, shop: Shop) -> None:
        assert reason("./absent", shop) == "model ./absent: there is no such folder; check the path"


class TestHub:
    @pytest.mark.parametrize("name", ["Qwen/Qwen2.5-0.5B-Instruct", "a/b", "org_1/name.v2-x"])
    def test_hub_id(self, shop: Shop, name: str) -> None:
        assert resolve(name, shop.store) == ResolvedModel(name, None, "hub")

    @pytest.mark.parametrize(
        "name", ["gpt2", "a/b/c", "a/", "-a/b", "a/b c", "a/b..c", "a/--b", "a/b--c", "http://a/b"]
    )
    def test_name_that_is_nothing(self, shop: Shop, name: str) -> None:
        assert "is neither a bundled model, nor a folder, nor a Hugging Face id" in reason(
            name, shop
        )

    def test_name_that_is_nearly_bundled(self, shop: Shop) -> None:
        assert reason("plan", shop).endswith("; did you mean plain?")

    @pytest.mark.parametrize("name", ["", "  ", "a\0b"])
    def test_name_that_is_none(self, shop: Shop, name: str) -> None:
        assert "is not a name" in reason(name, shop)

"""What a model's name means, as far as the disk knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine_bridge.models.store import ModelStore
from omni_cli.serve.model_facts import ModelFacts, hub_snapshot, look_up

COMMIT = "0123456789abcdef"
TENSOR = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
JSON_FILES = frozenset({"config.json"})
CONFIG = {"architectures": ["LlamaForCausalLM"]}
WEIGHTS = len(TENSOR).to_bytes(8, "little") + TENSOR + bytes(8)


@pytest.fixture
def store() -> ModelStore:
    return ModelStore(Path("cache").absolute())


def folder(path: str, weights: bytes | None = WEIGHTS) -> Path:
    made = Path(path)
    made.mkdir(parents=True)
    (made / "config.json").write_text(json.dumps(CONFIG))
    if weights is not None:
        (made / "model.safetensors").write_bytes(weights)
    return made.absolute()


def cached_hub_model(home: Path) -> Path:
    repository = home / "hub" / "models--org--name"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    return folder(str(repository / "snapshots" / COMMIT))


def test_bundled_model_that_is_not_here_is_no_fault(store: ModelStore) -> None:
    entry = store.catalogue.entry("minilm-l6")
    assert entry is not None
    assert look_up("minilm-l6", store, {}) == ModelFacts(
        kind="bundled",
        path=str(store.folder / "minilm-l6"),
        here=False,
        weight_bytes=entry.disk_bytes,
        entry=entry,
    )


def test_folder_is_measured(store: ModelStore) -> None:
    path = folder("m")
    assert look_up("./m", store, {}) == ModelFacts(
        kind="folder",
        path=str(path),
        here=True,
        weight_bytes=len(WEIGHTS),
        config=CONFIG,
        json_files=JSON_FILES,
    )


def test_folder_without_weights_serves_random_ones(store: ModelStore) -> None:
    path = folder("m", weights=None)
    found = look_up("m", store, {}, needs_weights=False)
    assert found == ModelFacts(
        kind="folder", path=str(path), here=True, config=CONFIG, json_files=JSON_FILES
    )
    assert look_up("m", store, {}).fault is not None


def test_folder_with_a_cut_file_is_at_fault(store: ModelStore) -> None:
    folder("m", weights=WEIGHTS[:-1])
    fault = look_up("m", store, {}).fault
    assert fault is not None
    assert f"model.safetensors is cut short: {len(WEIGHTS) - 1} of {len(WEIGHTS)}" in str(fault)


def test_missing_folder_is_at_fault(store: ModelStore) -> None:
    fault = look_up("./nope", store, {}).fault
    assert str(fault) == "model ./nope: there is no such folder; check the path"


def test_hub_model_in_the_cache_is_here_without_network(store: ModelStore) -> None:
    environ = {"HF_HOME": str(Path("hf").absolute()), "HF_HUB_OFFLINE": "1"}
    snapshot = cached_hub_model(Path("hf"))
    assert hub_snapshot("org/name", environ) == snapshot
    assert look_up("org/name", store, environ) == ModelFacts(
        kind="hub",
        path="org/name",
        here=True,
        weight_bytes=len(WEIGHTS),
        config=CONFIG,
        json_files=JSON_FILES,
    )


@pytest.mark.parametrize(
    ("environ", "root"),
    [
        ({"HF_HUB_CACHE": "a/hub", "HF_HOME": "b"}, "a"),
        ({"XDG_CACHE_HOME": "c"}, "c/huggingface"),
    ],
)
def test_hub_cache_is_where_the_environment_says(environ: dict[str, str], root: str) -> None:
    assert hub_snapshot("org/name", environ) is None
    snapshot = cached_hub_model(Path(root))
    found = hub_snapshot("org/name", environ)
    assert found is not None
    assert found.absolute() == snapshot


def test_hub_model_that_is_not_here_is_left_to_vllm(store: ModelStore) -> None:
    environ = {"HF_HOME": "/nonexistent"}
    assert look_up("org/name", store, environ) == ModelFacts(
        kind="hub", path="org/name", here=False
    )


def test_hub_model_that_cannot_be_fetched_is_at_fault(store: ModelStore) -> None:
    environ = {"HF_HOME": "/nonexistent", "HF_HUB_OFFLINE": "1"}
    assert str(look_up("org/name", store, environ).fault) == (
        "model org/name: is not in the Hugging Face cache, and HF_HUB_OFFLINE forbids to fetch it; "
        "unset HF_HUB_OFFLINE, or name a bundled model or a folder"
    )

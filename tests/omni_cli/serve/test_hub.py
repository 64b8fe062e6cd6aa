"""Whether a run needs the hub."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine_bridge.plan import StagePlan
from omni_cli.serve.hub import hub_names, is_offline


def stage(model: str, **args: object) -> StagePlan:
    return StagePlan(name="s", model=model, model_path=model, served_names=("s",), vllm_args=args)


@pytest.fixture(autouse=True)
def model() -> None:
    Path("model").mkdir()


LOCAL: list[dict[str, object]] = [
    {"seed": 1, "trust_remote_code": False, "tokenizer_revision": "main"},
    {"tokenizer": "model"},
    {"generation_config": "vllm"},
    {"speculative_config": {"method": "ngram", "model": "[ngram]"}},
    {"speculative_config": {"method": "suffix"}, "spec_model": None},
    {"lora_modules": ["a=model", {"name": "b", "path": "./model", "base_model_name": "org/m"}]},
]
OF_THE_HUB: list[dict[str, object]] = [
    {"tokenizer": "org/tokenizer"},
    {"hf_config_path": "org/config"},
    {"generation_config": "org/config"},
    {"spec_model": "org/draft"},
    {"speculative_config": {"method": "eagle", "model": "org/draft"}},
    {"lora_modules": ["a=org/adapter"]},
    {"lora_modules": ["a=model", {"name": "b", "path": "org/adapter"}]},
    {"default_mm_loras": {"image": "org/adapter"}},
    {"trust_remote_code": True},
    {"code_revision": "main"},
]


@pytest.mark.parametrize("args", LOCAL)
def test_run_of_local_names_is_offline(args: dict[str, object]) -> None:
    assert is_offline([stage("model", **args)])


@pytest.mark.parametrize("args", OF_THE_HUB)
def test_one_name_of_the_hub_is_enough(args: dict[str, object]) -> None:
    assert not is_offline([stage("model", **args)])
    assert not is_offline([stage("model"), stage("model", **args)])


def test_model_of_the_hub() -> None:
    assert is_offline([stage("model")])
    assert not is_offline([stage("org/model")])


def test_all_names_of_a_stage() -> None:
    args: dict[str, object] = {
        "tokenizer": "t",
        "hf_config_path": "c",
        "generation_config": "g",
        "spec_model": "s",
        "speculative_config": {"model": "d"},
        "lora_modules": ["a=l", {"name": "b", "path": "k"}],
        "default_mm_loras": {"image": "i"},
    }
    assert sorted(hub_names(stage("m", **args))) == list("cdgiklmst")

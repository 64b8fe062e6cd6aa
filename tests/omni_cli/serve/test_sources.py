"""All sources together: order, refused flags, TARGET and --model, keys as hashes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.parser import parse
from omni_cli.serve.layer import Layer
from omni_cli.serve.sources import read_sources

FLAGS = catalogue()


def layers(*words: str, **env: str) -> tuple[Layer, ...]:
    return read_sources(parse(words, FLAGS), FLAGS, env)


def lines(*words: str, **env: str) -> list[str]:
    return [str(each) for layer in layers(*words, **env) for each in layer.problems]


def warnings(*words: str, **env: str) -> list[str]:
    return [text for layer in layers(*words, **env) for text in layer.warnings]


def test_layers_come_in_the_order_of_their_strength() -> None:
    Path("omni.yaml").write_text("port: 1")
    found = layers("--config", "omni.yaml")
    assert [layer.origin for layer in found] == ["flag", "environment", "file"]
    assert [layer.origin for layer in layers()] == ["flag", "environment"]


def test_config_of_the_line_wins_over_the_one_of_the_environment() -> None:
    Path("a.yaml").write_text("port: 1")
    Path("b.toml").write_text("port = 2")
    for found, place in (
        (layers("--config=a.yaml", OMNI_CONFIG="b.toml"), "a.yaml:1"),
        (layers(OMNI_CONFIG="b.toml"), "b.toml"),  # TOML's reader knows no lines
    ):
        assert found[2].given["port"].spelling == f"{place}: port"


def test_config_may_stand_anywhere_and_target_stays_target() -> None:
    Path("a.yaml").write_text("port: 1")
    for words in ("x --config a.yaml", "--config a.yaml x", "--config=a.yaml x -tp 2"):
        flag, _, file = layers(*words.split())
        assert flag.given["target"].value == "x"
        assert file.given["port"].value == 1


class TestRefused:
    def test_refused_flag_is_refused_wherever_it_comes_from(self) -> None:
        Path("a.yaml").write_text("headless: true\n")
        refusal = "a stage without frontends is not built yet"
        assert [line.partition(";")[0] for line in lines("--headless")] == [
            f"--headless: {refusal}"
        ]
        assert [line.partition(";")[0] for line in lines(OMNI_HEADLESS="1")] == [
            f"OMNI_HEADLESS: {refusal}"
        ]
        assert [line.partition(";")[0] for line in lines("--config", "a.yaml")] == [
            f"a.yaml:1: headless: {refusal}"
        ]

    def test_what_is_the_case_anyway_is_not_refused_and_not_given(self) -> None:
        Path("a.yaml").write_text("headless: false\nuvicorn-log-level: info\n")
        found = layers("--config", "a.yaml", OMNI_GRPC="false")
        assert [layer.problems for layer in found] == [(), (), ()]
        assert [layer.given for layer in found] == [{}, {}, {}]

    @pytest.mark.parametrize("dest", [flag.dest for flag in FLAGS if flag.scope == "refused"])
    def test_every_refused_flag_has_a_reason(self, dest: str) -> None:
        assert FLAGS.by_dest[dest].reason


def test_value_that_changes_nothing_is_told() -> None:
    flag = next(f for f in FLAGS if f.scope == "satisfied" and f.off and f.fulfilled is True)
    name = f"OMNI_{flag.dest.upper()}"
    assert warnings(**{name: "false"}) == [f"{name} changes nothing: {flag.reason}"]
    assert warnings(**{name: "true"}) == []


class TestTarget:
    def test_model_of_vllm_is_target(self) -> None:
        Path("a.yaml").write_text("model: from-file\n")
        flag, environment, file = layers("--model", "m", "--config", "a.yaml", OMNI_MODEL="n")
        assert [flag.given["target"].value, environment.given["target"].value] == ["m", "n"]
        assert file.given["target"].spelling == "a.yaml:1: model"
        assert "model" not in {*flag.given, *environment.given, *file.given}

    def test_two_names_of_one_place_must_agree(self) -> None:
        Path("a.yaml").write_text("target: a\nmodel: b\n")
        assert lines("--config", "a.yaml") == [
            "a.yaml:2: model b: contradicts a.yaml:1: target, which is a; give one of them"
        ]
        Path("a.yaml").write_text("target: a\nmodel: a\n")
        assert lines("--config", "a.yaml") == []


class TestKeys:
    def test_keys_leave_as_hashes(self) -> None:
        Path("a.yaml").write_text("api-key: [file-key]\n")
        found = layers("--api-key", "a", "b", "--api-key", "a", "--config", "a.yaml",
                       OMNI_API_KEY="env-key,other")  # fmt: skip
        hashes = [
            tuple(hashlib.sha256(key.encode()).hexdigest() for key in keys)
            for keys in (("a", "b"), ("env-key", "other"), ("file-key",))
        ]
        assert [layer.given["api_key"].value for layer in found] == hashes
        assert "env-key" not in repr(found)
        assert "file-key" not in repr(found)

    def test_bad_key_is_refused_and_not_shown(self) -> None:
        assert lines("--api-key", "sécret", "--api-key", "b", OMNI_API_KEY="a b") == [
            "--api-key: key 1 of 2 must be ASCII text without white space",
            "OMNI_API_KEY: must be ASCII text without white space",
        ]

    @pytest.mark.parametrize("key", ["", "None"])
    def test_variable_of_the_shell_that_is_not_set_is_no_key(self, key: str) -> None:
        assert lines("--api-key", key) == ["--api-key: must not be empty"]
        assert "api_key" not in layers("--api-key", "a", key)[0].given
        assert lines(OMNI_API_KEY=",") == ["OMNI_API_KEY: must not be empty"]


def test_key_that_only_vllm_reads_is_told() -> None:
    (told,) = warnings(VLLM_API_KEY="sk-1")
    assert "OMNI_API_KEY" in told
    assert "sk-1" not in told
    Path("keys.yaml").write_text("api-key-file: keys")
    for words in ("--api-key x", "--api-key-file keys", "--config keys.yaml"):
        assert warnings(*words.split(), VLLM_API_KEY="sk-1") == []
    assert warnings(VLLM_API_KEY="sk-1", OMNI_API_KEY="sk-2") == []
    assert warnings(VLLM_API_KEY="") == []


def test_empty_name_is_refused() -> None:
    assert lines("--served-model-name", "a", "") == ["--served-model-name '': must not be empty"]

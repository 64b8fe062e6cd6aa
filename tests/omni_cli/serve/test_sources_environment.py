"""Variables: every flag has one, misspelt ones are told, others are none of our business."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from omni_cli.flags.catalogue import catalogue
from omni_cli.serve.layer import LINE_ONLY, Layer
from omni_cli.serve.sources_environment import OTHER_VARIABLES, read_environment

FLAGS = catalogue()
ROOT = Path(__file__).resolve().parents[3]


def read(**env: str) -> Layer:
    return read_environment(FLAGS, env)


def values(**env: str) -> dict[str, object]:
    layer = read(**env)
    assert layer.problems == ()
    return {dest: given.value for dest, given in layer.given.items()}


@pytest.mark.parametrize(
    ("name", "text", "dest", "value"),
    [
        ("OMNI_TARGET", "minilm-l6", "target", "minilm-l6"),
        ("OMNI_SERVED_MODEL_NAME", "a, b", "served_model_name", ["a", "b"]),
        ("OMNI_SERVED_MODEL_NAME", '["a,b", "c"]', "served_model_name", ["a,b", "c"]),
        ("OMNI_KV_CACHE_MEMORY_BYTES", "256M", "kv_cache_memory_bytes", 2**28),
        ("OMNI_MAX_MODEL_LEN", "4k", "max_model_len", 4000),
        ("OMNI_MAX_MODEL_LEN", "auto", "max_model_len", -1),
        ("OMNI_ENFORCE_EAGER", "false", "enforce_eager", False),
        ("OMNI_ENFORCE_EAGER", "1", "enforce_eager", True),
        ("OMNI_TENSOR_PARALLEL_SIZE", "2", "tensor_parallel_size", 2),
        ("OMNI_READY_TIMEOUT", "30", "ready_timeout_s", 30.0),
        ("OMNI_COMPILATION_CONFIG", '{"mode": 3}', "compilation_config", {"mode": 3}),
        ("OMNI_ALLOWED_ORIGINS", '["https://a"]', "allowed_origins", ["https://a"]),
        ("OMNI_ALLOWED_HOSTS", "a.example,*.b.example", "allowed_hosts",
         ["a.example", "*.b.example"]),
        ("OMNI_HF_TOKEN", "hf_x", "hf_token", "hf_x"),
    ],
)  # fmt: skip
def test_variable_is_read(name: str, text: str, dest: str, value: object) -> None:
    assert values(**{name: text}) == {dest: value}


def test_every_flag_has_a_variable_of_its_own() -> None:
    names = [flag.variable for flag in FLAGS]
    assert len(names) == len(set(names)) > 300
    assert all(re.fullmatch("OMNI_[A-Z0-9_]+", name) for name in names)


def test_spelling_is_the_variable() -> None:
    layer = read(OMNI_PORT="1")
    assert layer.origin == "environment"
    assert layer.given["port"].spelling == "OMNI_PORT"


def test_empty_variable_counts_as_not_given() -> None:
    assert read(OMNI_PORT="", OMNI_TARGET="", OMNI_PROT="") == Layer(origin="environment")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("OMNI_API_KEY", "OMNI_API_KEY: is empty; unset it, or give a key"),
        ("OMNI_API_KEY_FILE", "OMNI_API_KEY_FILE: is empty; unset it, or name a file"),
    ],
)
def test_empty_variable_of_keys_is_refused(name: str, line: str) -> None:
    layer = read(**{name: ""})
    assert layer.given == {}
    assert [str(problem) for problem in layer.problems] == [line]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("OMNI_PORT", "http", "OMNI_PORT http: must be a whole number from 0 to 65535"),
        ("OMNI_QUIET", "perhaps", "OMNI_QUIET perhaps: must be true or false"),
        ("OMNI_COMPILATION_CONFIG", "{",
         "OMNI_COMPILATION_CONFIG {: is not JSON: Expecting property name enclosed in double "
         "quotes at character 2"),
    ],
)  # fmt: skip
def test_value_is_refused(name: str, text: str, line: str) -> None:
    layer = read(**{name: text})
    assert [str(problem) for problem in layer.problems] == [line]
    assert layer.given == {}


def test_misspelt_variable_is_told_with_the_nearest_name() -> None:
    assert read(OMNI_PROT="1", OMNI_API_SERVER_CONUT="2").warnings == (
        "OMNI_PROT is not a setting of omni; did you mean OMNI_PORT?",
        "OMNI_API_SERVER_CONUT is not a setting of omni; did you mean OMNI_API_SERVER_COUNT?",
    )


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("OMNI_TP", "OMNI_TENSOR_PARALLEL_SIZE"),
        ("OMNI_NO_ENFORCE_EAGER", "OMNI_ENFORCE_EAGER"),
        ("OMNI_CACHEDIR", "OMNI_CACHE_DIR"),
    ],
)
def test_other_spelling_of_a_flag_names_its_variable(name: str, near: str) -> None:
    assert read(**{name: "1"}).warnings == (
        f"{name} is not a setting of omni; did you mean {near}?",
    )


@pytest.mark.parametrize("word", ["HOME", "USER", "FOO", "KIT", "KIT_ACCEPT_EULA", "SERVER", ""])
def test_short_variable_of_another_program_is_no_misspelling(word: str) -> None:
    assert read(**{f"OMNI_{word}": "1"}).warnings == ()


def test_variables_of_others_are_ignored() -> None:
    others = dict.fromkeys(OTHER_VARIABLES, "x")
    assert read(**others, OMNI_BUILD_FLAVOUR="x", PORT="1", VLLM_PORT="2", omni_port="3") == Layer(
        origin="environment"
    )


@pytest.mark.parametrize("dest", sorted(LINE_ONLY - {"config"}))
def test_what_a_command_does_is_not_taken_from_a_variable(dest: str) -> None:
    assert read(**{f"OMNI_{dest.upper()}": "true"}).given == {}


def test_every_variable_that_the_sources_read_is_known() -> None:
    found = {
        name
        for folder in ("omni_cli", "server", "engine_bridge", "protocol")
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r'"(OMNI_[A-Z_]+)"', path.read_text())
    }
    assert found - {flag.variable for flag in FLAGS} <= OTHER_VARIABLES

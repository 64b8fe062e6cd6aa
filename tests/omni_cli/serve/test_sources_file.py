"""Settings files: YAML and TOML, vLLM's own, and everything that can be wrong with one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine_bridge.yaml_file import MAX_DEPTH, MAX_FILE_BYTES
from omni_cli.flags.catalogue import catalogue
from omni_cli.serve.layer import Layer
from omni_cli.serve.sources_file import is_settings_file, read_file

FLAGS = catalogue()


def read(text: str | bytes, name: str = "omni.yaml") -> Layer:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_file(name, "--config", "flag", FLAGS)


def values(text: str, name: str = "omni.yaml") -> dict[str, object]:
    layer = read(text, name)
    assert layer.problems == ()
    return {dest: given.value for dest, given in layer.given.items()}


def lines(text: str | bytes, name: str = "omni.yaml") -> list[str]:
    layer = read(text, name)
    assert layer.origin == "file"
    return [str(problem) for problem in layer.problems]


class TestYaml:
    @pytest.mark.parametrize(
        ("text", "dest", "value"),
        [
            ("port: 12323", "port", 12323),
            ("tensor-parallel-size: 4", "tensor_parallel_size", 4),
            ("tensor_parallel_size: 4", "tensor_parallel_size", 4),
            ("--port: 1", "port", 1),
            ("enforce-eager: false", "enforce_eager", False),
            ("no-enforce-eager: true", "enforce_eager", False),
            ("max-model-len: 4k", "max_model_len", 4000),
            ("max-model-len: auto", "max_model_len", -1),
            ("served-model-name: [a, b]", "served_model_name", ["a", "b"]),
            ("served-model-name: a", "served_model_name", ["a"]),
            ("compilation-config: {mode: 3}", "compilation_config", {"mode": 3}),
            ("compilation-config:\n  pass_config:\n    fuse_norm_quant: false",
             "compilation_config", {"pass_config": {"fuse_norm_quant": False}}),
            ("compilation-config.mode: 3\ncompilation_config.pass_config.fuse_norm_quant: true",
             "compilation_config", {"mode": 3, "pass_config": {"fuse_norm_quant": True}}),
            ("compilation-config: '{\"mode\": 3}'", "compilation_config", {"mode": 3}),
            ("model: org/name", "model", "org/name"),
            ("model_tag: org/name", "target", "org/name"),
            ("target: p.yaml", "target", "p.yaml"),
            ("ready-timeout: 30", "ready_timeout_s", 30.0),
            ("allowed-origins: ['*']", "allowed_origins", ["*"]),
        ],
    )  # fmt: skip
    def test_value_is_read(self, text: str, dest: str, value: object) -> None:
        assert values(text) == {dest: value}

    def test_spelling_is_the_file_with_the_line_and_the_key(self) -> None:
        given = read("max_num_seqs: 1").given
        assert given["max_num_seqs"].spelling == "omni.yaml:1: max_num_seqs"

    @pytest.mark.parametrize("text", ["", "# nothing\n", "port:\n", "port: null\n", "{}"])
    def test_nothing_is_nothing(self, text: str) -> None:
        assert read(text) == Layer(origin="file")

    def test_example_of_vllm_is_read(self) -> None:
        # docs.vllm.ai, "Server Arguments"
        text = (
            'model: meta-llama/Llama-3.1-8B-Instruct\nhost: "127.0.0.1"\nport: 6379\n'
            'uvicorn-log-level: "info"\n'
        )
        assert values(text) == {
            "model": "meta-llama/Llama-3.1-8B-Instruct",
            "host": "127.0.0.1",
            "port": 6379,
            "uvicorn_log_level": "info",
        }

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("port: abc", "omni.yaml:1: port abc: must be a whole number from 0 to 65535"),
            ("port: 1.5", "omni.yaml:1: port 1.5: must be a whole number from 0 to 65535"),
            ("port: true", "omni.yaml:1: port true: must be a whole number from 0 to 65535"),
            ("port: [1]", "omni.yaml:1: port [1]: must be a whole number from 0 to 65535"),
            ("host: ''", "omni.yaml:1: host '': must not be empty"),
            ("quiet: 'yes please'",
             "omni.yaml:1: quiet yes please: must be true or false"),
            ("\nprot: 1", "omni.yaml:2: prot: is not a known setting; did you mean port?"),
            ("workers: 2", "omni.yaml:1: workers: is not a known setting; "
             "use --api-server-count"),
            ("zzzz: 1", "omni.yaml:1: zzzz: is not a known setting; "
             "`omni serve --help=all` lists every flag"),
            ("port: 1\nport: 2", "omni.yaml:2: port: stands here twice"),
            ("hf-overrides:\n  a:\n  - {b: 1}\n  - b: 1\n    b: 2",
             "omni.yaml:5: hf-overrides.a[1].b: stands here twice"),
            ("tp: 1", "omni.yaml:1: tp: is not a known setting; "
             "did you mean tensor-parallel-size?"),
            ("max-num-seqs: 1\nmax_num_seqs: 2",
             "omni.yaml:2: max_num_seqs: says the same as max-num-seqs; keep one of them"),
            ("enforce-eager: true\nno-enforce-eager: true",
             "omni.yaml:2: no-enforce-eager: says the same as enforce-eager; keep one of them"),
            ("no-enforce-eager: false",
             "omni.yaml:1: no-enforce-eager false: must be true; "
             "write enforce-eager: true or enforce-eager: false instead"),
            ("compilation-config: {mode: 1}\ncompilation-config.mode: 2",
             "omni.yaml:2: compilation-config.mode: says the same as compilation-config; "
             "keep one of them"),
            ("compilation-config.mode: 1\ncompilation_config.mode: 2",
             "omni.yaml:2: compilation_config.mode 2: stands here twice"),
            ("port.x: 1", "omni.yaml:1: port.x: is not a known setting; did you mean port?"),
            ("config: x.yaml", "omni.yaml:1: config: belongs on the command line"),
            ("print-config: true", "omni.yaml:1: print-config: belongs on the command line"),
            ("- port", "omni.yaml:1: must hold a mapping of settings"),
            ("port", "omni.yaml:1: must hold a mapping of settings"),
            ("port: [", "omni.yaml:1: is not valid YAML (expected the node content, "
             "but found '<stream end>')"),
            (b"port: 1\nhost: \xff", "omni.yaml:2: is not UTF-8 text"),
            ("seed: 2026-01-01",
             "omni.yaml:1: holds a value of type date that is not text, number or boolean; "
             "put it in quotes"),
        ],
    )  # fmt: skip
    def test_fault_is_told_in_one_line(self, text: str | bytes, line: str) -> None:
        assert lines(text) == [line]

    def test_all_faults_are_told_and_the_rest_is_read(self) -> None:
        layer = read("port: x\nseed: 7\nqiuet: true\n")
        assert len(layer.problems) == 2
        assert {dest: given.value for dest, given in layer.given.items()} == {"seed": 7}

    def test_secret_is_not_shown(self) -> None:
        assert "hf_secret" not in lines("hf-token: [hf_secret]")[0]

    def test_long_value_is_cut(self) -> None:
        (line,) = lines(f"port: {'x' * 500}")
        assert line == f"omni.yaml:1: port {'x' * 60}...: must be a whole number from 0 to 65535"


class TestToml:
    def test_values_are_read(self) -> None:
        text = (
            'port = 9000\n"served-model-name" = ["a"]\nenforce-eager = false\n'
            'max-model-len = "4k"\n[compilation-config]\nmode = 3\n'
        )
        assert values(text, "omni.toml") == {
            "port": 9000,
            "served_model_name": ["a"],
            "enforce_eager": False,
            "max_model_len": 4000,
            "compilation_config": {"mode": 3},
        }

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("port = 'abc'", "omni.toml: port abc: must be a whole number from 0 to 65535"),
            ("prot = 1", "omni.toml: prot: is not a known setting; did you mean port?"),
            ("port = 1\nport = 2", "omni.toml:2: is not valid TOML (Cannot overwrite a value)"),
            ("port", "omni.toml:1: is not valid TOML (Expected '=' after a key in a key/value "
             "pair)"),
            ("seed = 2026-01-01",
             "omni.toml: seed 2026-01-01: must be a whole number from 0 to 4294967295"),
            (f"seed = {'9' * 5000}", "--config omni.toml: holds a value that cannot be read"),
            (b"port = 1 # \xff", "omni.toml:1: is not UTF-8 text"),
            ("max-num-seqs = 1\nmax_num_seqs = 2",
             "omni.toml: max_num_seqs: says the same as max-num-seqs; keep one of them"),
        ],
    )  # fmt: skip
    def test_fault_is_told_in_one_line(self, text: str | bytes, line: str) -> None:
        assert lines(text, "omni.toml") == [line]

    @pytest.mark.parametrize("depth", [MAX_DEPTH + 2, 50_000])
    def test_nesting_is_bounded(self, depth: int) -> None:
        assert lines(f"a = {'[' * depth}{']' * depth}", "omni.toml") == [
            f"--config omni.toml: is nested deeper than {MAX_DEPTH} levels"
        ]


class TestWholeFile:
    @pytest.mark.parametrize("name", ["omni.yaml", "omni.toml"])
    def test_size_is_bounded(self, name: str) -> None:
        assert lines("#" * (MAX_FILE_BYTES + 1), name) == [
            f"--config {name}: is larger than {MAX_FILE_BYTES // 1024} KiB"
        ]

    def test_missing_file(self) -> None:
        layer = read_file("no.yaml", "OMNI_CONFIG", "environment", FLAGS)
        (problem,) = layer.problems
        assert str(problem) == "OMNI_CONFIG no.yaml: cannot be read: No such file or directory"
        assert problem.origin == "environment"

    def test_folder_and_pipe_are_no_files(self) -> None:
        Path("d.yaml").mkdir()
        os.mkfifo("p.yaml")
        for name in ("d.yaml", "p.yaml"):
            (problem,) = read_file(name, "--config", "flag", FLAGS).problems
            assert str(problem) == f"--config {name}: is not a file"

    def test_other_kinds_of_files(self) -> None:
        assert lines("port = 1", "omni.ini") == [
            "--config omni.ini: must end in .yaml, .yml or .toml"
        ]

    def test_pipeline_gets_a_hint(self) -> None:
        assert lines("stages: []", "p.yaml") == [
            "--config p.yaml: holds a pipeline, not settings; give it as TARGET: omni serve p.yaml"
        ]

    @pytest.mark.parametrize(
        ("text", "answer"),
        [("port: 1", True), ("stages: []\nport: 1", False), ("x: 1", False), ("[", False)],
    )
    def test_settings_are_told_from_pipelines(self, text: str, answer: bool) -> None:
        Path("f.yaml").write_text(text)
        assert is_settings_file(Path("f.yaml"), FLAGS) is answer

"""The combination table, rule by rule, and all at once."""

from __future__ import annotations

import pytest

from engine_bridge.errors import ModelError, UsageError
from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.parsed import Given
from omni_cli.serve.layer import Layer
from omni_cli.serve.model_facts import ModelFacts
from omni_cli.serve.problems import Problem
from omni_cli.serve.settings import read_settings
from omni_cli.serve.stages import stage_wishes
from omni_cli.serve.validate import validate
from tests.omni_cli.serve.wishes import GIB, facts, wanted

TWO = """\
stages:
  - {name: chat, model: smollm2-135m-instruct}
  - {name: embed, model: minilm-l6}
"""


def lines(given: dict[str, object], pipeline: str | None = None, **changes: object) -> list[str]:
    settings, stages = wanted(pipeline, **given)
    return [str(problem) for problem in validate(settings, stages, facts(stages, **changes))]


def one_stage(keys: str) -> str:
    return f"stages:\n  - name: a\n    model: minilm-l6\n    {keys}\n"


@pytest.mark.parametrize("given", [{}, {"tensor_parallel_size": 2}, {"threads": 4}, {"port": 0}])
def test_good_settings_have_no_problem(given: dict[str, object]) -> None:
    assert lines(given) == []


def test_good_pipeline_has_no_problem() -> None:
    assert lines({}, TWO) == []


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            {"pipeline_parallel_size": 2},
            "--pipeline-parallel-size 2: pipeline parallelism is not built yet; leave it at 1",
        ),
        (
            {"data_parallel_size": 4},
            "--data-parallel-size 4: data parallelism is not built yet; leave it at 1",
        ),
        (
            {"tensor_parallel_size": 8},
            "--tensor-parallel-size 8: needs as many cores, and this machine has 4; use at most 4",
        ),
        (
            {"tensor_parallel_size": 2, "distributed_executor_backend": "uni"},
            "--tensor-parallel-size 2: needs workers of their own, which "
            "--distributed-executor-backend uni excludes; use mp, or leave the executor out",
        ),
        (
            {"threads": 5},
            "--threads 5: is more than the 4 cores that may be used; use at most 4",
        ),
        ({"quiet": True, "verbose": True}, "--quiet: contradicts --verbose; give one of them"),
        (
            {"target": "minilm-l6", "enable_auto_tool_choice": True},
            "--enable-auto-tool-choice: needs a parser for the model's tool calls; "
            "add --tool-call-parser",
        ),
        (
            {"target": "minilm-l6", "tool_call_parser": "hermes"},
            "--tool-call-parser hermes: does nothing unless the model may decide to call tools; "
            "add --enable-auto-tool-choice",
        ),
        (
            {"gpu_memory_utilization": 0.5},
            "--gpu-memory-utilization 0.5: means nothing on the CPU; use --kv-cache-memory-bytes",
        ),
        (
            {"kv_cache_memory_bytes": "20G"},
            "--kv-cache-memory-bytes 21474836480: KV caches of 20.0 GiB and weights of 259 MiB "
            "do not fit into the 16.0 GiB of memory that are free; "
            "give at most 15.7 GiB for all stages together",
        ),
    ],
)
def test_flag_is_refused(given: dict[str, object], line: str) -> None:
    assert lines(given) == [line]


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (
            "args: {pipeline-parallel-size: 2}",
            "p.yaml:4: stage a: args.pipeline-parallel-size 2: "
            "pipeline parallelism is not built yet; leave it at 1",
        ),
        (
            "args: {speculative-config: {method: ngram}}",
            "p.yaml:4: stage a: args.speculative-config.method ngram: needs the number of tokens "
            "to draft; "
            "add --spec-tokens",
        ),
        (
            "args: {enable-log-outputs: true}",
            "p.yaml:4: stage a: args.enable-log-outputs true: is part of the log of requests; "
            "add --enable-log-requests",
        ),
        (
            "{executor: uni, args: {tensor_parallel_size: 2}}",
            "p.yaml:5: stage a: args.tensor_parallel_size 2: needs workers of their own, which "
            "p.yaml:2: stage a: executor uni excludes; use mp, or leave the executor out",
        ),
        (
            "threads: 9",
            "p.yaml:2: stage a: threads 9: is more than the 4 cores that may be used; "
            "use at most 4",
        ),
    ],
)
def test_stage_is_refused(keys: str, line: str) -> None:
    keys = keys.strip("{}").replace(", args", "\n    args") if keys.startswith("{") else keys
    if keys.count("{") > keys.count("}"):
        keys += "}"
    assert lines({}, one_stage(keys)) == [line]


def test_flag_wins_over_the_pipeline_and_is_blamed() -> None:
    assert lines({"threads": 6}, one_stage("threads: 2")) == [
        "--threads 6: is more than the 4 cores that may be used; use at most 4"
    ]


def test_problem_of_a_flag_stands_once_for_all_stages() -> None:
    assert lines({"data_parallel_size": 2}, TWO) == [
        "--data-parallel-size 2: data parallelism is not built yet; leave it at 1"
    ]


def test_setting_of_one_model_is_refused_for_two() -> None:
    assert lines({"served_model_name": ["a", "b"], "tokenizer": "/t"}, TWO) == [
        "--served-model-name a, b: describes one model, but the pipeline has 2 stages; "
        "set served_model_name in the stage it is meant for",
        "--tokenizer /t: describes one model, but the pipeline has 2 stages; "
        "set args.tokenizer in the stage it is meant for",
    ]


def test_variable_is_named() -> None:
    flags = catalogue()
    layer = Layer(origin="environment", given={"threads": Given(5, "OMNI_THREADS")})
    settings, problems = read_settings([layer], flags)
    assert problems == []
    stages = stage_wishes(settings, None)
    assert validate(settings, stages, facts(stages)) == [
        Problem(
            subject="OMNI_THREADS",
            value=5,
            origin="environment",
            reason="is more than the 4 cores that may be used",
            way_out="use at most 4",
        )
    ]


def test_arguments_of_a_bundled_model_count() -> None:
    """The chat model brings a tool parser, so a parser of the user's own does something."""
    assert lines({"tool_call_parser": "hermes"}) == []
    assert lines({"long_prefill_token_threshold": 8193}) == [
        "--long-prefill-token-threshold 8193: is more than the 8192 tokens of the longest prompt; "
        "give at most 8192"
    ]


class TestCuda:
    def test_fork_is_refused(self) -> None:
        assert lines({"start_method": "fork"}, platform="cuda", gpus=1) == [
            "--start-method fork: is refused where CUDA is present, because a fork inherits "
            "a broken CUDA state; use spawn, or leave it on auto"
        ]

    def test_spawn_and_gpu_memory_are_accepted(self) -> None:
        given: dict[str, object] = {"start_method": "spawn", "gpu_memory_utilization": 0.5}
        assert lines(given, platform="cuda", gpus=1) == []

    def test_more_workers_than_gpus_are_refused(self) -> None:
        assert lines({"tensor_parallel_size": 2}, platform="cuda", gpus=1) == [
            "--tensor-parallel-size 2: needs as many GPUs, and this machine has 1; use at most 1"
        ]

    def test_memory_of_the_machine_does_not_count(self) -> None:
        given: dict[str, object] = {"kv_cache_memory_bytes": "20G"}
        assert lines(given, platform="cuda", gpus=1) == []


class TestMachine:
    def test_missing_vllm_is_refused(self) -> None:
        assert lines({}, vllm_version=None) == [
            "vllm: is not installed; run `make install` for the CPU, or install omni-serve[cuda]"
        ]

    @pytest.mark.parametrize("version", ["0.31.2", "0.33.0", "0.320.0"])
    def test_other_vllm_is_refused(self, version: str) -> None:
        assert lines({}, vllm_version=version) == [
            f"vllm {version}: is not the version that omni drives, which is 0.32; "
            "run `make install` for the CPU, or install omni-serve[cuda]"
        ]

    @pytest.mark.parametrize("version", ["0.32.0", "0.32.1+cpu", ""])
    def test_pinned_or_unknown_vllm_is_accepted(self, version: str) -> None:
        assert lines({}, vllm_version=version) == []

    def test_unbound_socket_is_refused(self) -> None:
        error = UsageError("--port", 8000, "is in use", "choose another")
        assert lines({}, listener_error=error) == ["--port 8000: is in use; choose another"]

    def test_model_larger_than_memory_is_refused(self) -> None:
        assert lines({"target": "org/big"}, memory_available_bytes=GIB // 2) == [
            "model org/big: KV caches of 0 MiB and weights of 1.0 GiB do not fit into the "
            "512 MiB of memory that are free; free some memory, or serve a smaller model"
        ]

    def test_unknown_memory_is_no_problem(self) -> None:
        assert lines({"kv_cache_memory_bytes": "20G"}, memory_available_bytes=None) == []

    def test_template_that_is_no_file_is_refused(self) -> None:
        paths = {"x.jinja": "missing"}
        assert lines({"chat_template": "x.jinja"}, paths=paths) == [
            "--chat-template x.jinja: is neither a file that can be read nor a template; "
            "give the path of a Jinja file"
        ]


def test_model_at_fault_is_refused_with_its_place() -> None:
    fault = ModelError("minilm-l6", "is broken", "fetch it again")
    models = {"a": ModelFacts(kind="folder", path="x", here=True, fault=fault)}
    assert lines({}, one_stage("threads: 1"), models=models) == [
        "p.yaml:2: model minilm-l6: is broken; fetch it again"
    ]
    models = {"x": ModelFacts(kind="folder", path="x", here=True, fault=fault)}
    assert lines({"target": "x"}, models=models) == ["model minilm-l6: is broken; fetch it again"]


def test_all_problems_come_at_once() -> None:
    given: dict[str, object] = {
        "target": "minilm-l6",
        "pipeline_parallel_size": 2,
        "threads": 64,
        "quiet": True,
        "verbose": True,
        "tool_call_parser": "x",
        "ssl_keyfile": "k.pem",
    }
    error = UsageError("--port", 8000, "is in use", "choose another")
    found = lines(given, vllm_version=None, listener_error=error)
    assert [line.split(":")[0].split()[0] for line in found] == [
        "--quiet",
        "--port",
        "vllm",
        "--ssl-keyfile",
        "--threads",
        "--pipeline-parallel-size",
        "--tool-call-parser",
    ]


@pytest.mark.parametrize(
    ("origin", "hint"),
    [
        ("https://a.example/", "write https://a.example"),
        ("HTTPS://a.example:8443/chat?x#y", "write https://a.example:8443"),
        ("a.example", "write it like https://a.example"),
        ("", "write it like https://a.example"),
    ],
)
def test_origin_that_no_browser_sends_is_refused(origin: str, hint: str) -> None:
    assert lines({"allowed_origins": ["*", "null", "https://b:1", origin]}) == [
        f"--allowed-origins {origin or repr('')}: is not what browsers send as an origin: "
        f"scheme, name and port, and nothing behind; {hint}"
    ]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("llm/", "write /llm"),
        ("https://a.example/llm/?x", "write /llm"),
        ("/my llm", "write it like /llm"),
        ("/größe", "write it like /llm"),
        ("//a.example", "write it like /llm"),
        ("/llm?x", "write /llm"),
    ],
)
def test_root_path_that_is_no_path_is_refused(path: str, hint: str) -> None:
    (line,) = lines({"root_path": path})
    assert line.startswith(f"--root-path {path}: is not the path of a URL: ")
    assert line.endswith(f"; {hint}")


@pytest.mark.parametrize("path", ["/", "/llm", "/a/b/", "/a%20b", "/~me"])
def test_root_path_is_taken(path: str) -> None:
    assert lines({"root_path": path}) == []

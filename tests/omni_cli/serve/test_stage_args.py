"""Arguments of a pipeline's stages, read by the catalogue before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine_bridge.pipelines import Pipeline, read_pipeline
from omni_cli.flags.catalogue import catalogue
from omni_cli.serve.problems import Problem
from omni_cli.serve.stage_args import read_stage_args, stage_remarks


def read(args: str) -> tuple[Pipeline, list[Problem]]:
    Path("p.yaml").write_text(f"stages:\n  - name: a\n    model: m/n\n    args: {{{args}}}\n")
    pipeline, faults = read_pipeline(Path("p.yaml"))
    assert pipeline is not None, faults
    return read_stage_args(pipeline, catalogue())


@pytest.mark.parametrize(
    ("args", "dest", "value"),
    [
        ("max-model-len: 4k", "max_model_len", 4000),
        ("max_model_len: auto", "max_model_len", -1),
        ("seed: '7'", "seed", 7),
        ("enforce_eager: false", "enforce_eager", False),
        ("compilation_config: {mode: 3}", "compilation_config", {"mode": 3}),
        ("dtype: float32", "dtype", "float32"),
        ("max-log-len: null", "max_log_len", None),
    ],
)
def test_value_is_read_by_its_kind(args: str, dest: str, value: object) -> None:
    pipeline, problems = read(args)
    assert problems == []
    assert pipeline.stages[0].args == {dest: value}


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ("max-modle-len: 4k", "args.max-modle-len: is not an argument of vLLM; "
         "did you mean max-model-len?"),
        ("seed: {a: true}",
         'args.seed {"a": true}: must be a whole number from 0 to 4294967295'),
        ("tp: 2", "args.tp: is not an argument of vLLM; did you mean tensor-parallel-size?"),
        ("max-num-seqs: many", "args.max-num-seqs many: must be a whole number from 1 to 1000000"),
        ("kv-cache-memory-bytes: 1.5G", "args.kv-cache-memory-bytes 1.5G: "
         "decimals need a lower-case suffix (g, powers of 1000)"),
        ("dtype: int4", "args.dtype int4: must be auto, bfloat16, float, float16, "
         "float32 or half"),
        ("enforce-eager: 3", "args.enforce-eager 3: must be true or false"),
        ("hf-token: [s]", "args.hf-token: must be text"),
        ("no-enforce-eager: true",
         "args.no-enforce-eager: is a flag's negative form; write enforce-eager: false"),
        ("threads: 3",
         "args.threads: is a key of the stage, not of args; write threads: beside it"),
        ("--distributed-executor-backend: mp", "args.--distributed-executor-backend: "
         "is a key of the stage, not of args; write executor: beside it"),
        ("model_tag: x", "args.model_tag: is a key of the stage, not of args; "
         "write model: beside it"),
        ("api-key: k", "args.api-key: belongs to the whole server, not to a stage; "
         "use --api-key"),
        ("host: h", "args.host: belongs to the whole server, not to a stage; use --host"),
    ],
)  # fmt: skip
def test_fault_is_told_with_its_place(args: str, line: str) -> None:
    pipeline, problems = read(args)
    assert [str(problem) for problem in problems] == [f"p.yaml:4: stage a: {line}"]
    assert [problem.origin for problem in problems] == ["pipeline"]
    assert pipeline.stages[0].args == {}


def test_refused_argument_is_told_with_its_reason() -> None:
    (problem,) = read("data-parallel-address: x")[1]
    flag = catalogue().by_dest["data_parallel_address"]
    assert (flag.scope, problem.reason) == ("refused", flag.reason)
    assert problem.subject == "p.yaml:4: stage a: args.data-parallel-address"


def test_all_faults_of_all_stages_are_told() -> None:
    Path("p.yaml").write_text(
        "stages:\n"
        "  - {name: a, model: m/n, args: {seed: x, foo-bar-baz: 1}}\n"
        "  - {name: b, model: m/n, args: {seed: y}}\n"
    )
    pipeline, _ = read_pipeline(Path("p.yaml"))
    assert pipeline is not None
    places = [problem.subject for problem in read_stage_args(pipeline, catalogue())[1]]
    assert places == [
        "p.yaml:2: stage a: args.seed",
        "p.yaml:2: stage a: args.foo-bar-baz",
        "p.yaml:3: stage b: args.seed",
    ]


def test_other_spelling_of_a_flag_is_taken_once() -> None:
    pipeline, problems = read("device-memory-utilization: 0.5")
    assert problems == []
    (stage,) = pipeline.stages
    assert stage.args == {"gpu_memory_utilization": 0.5}
    assert stage.places == {
        "gpu_memory_utilization": "p.yaml:4: stage a: args.device-memory-utilization"
    }
    (problem,) = read("device-memory-utilization: 0.5, gpu-memory-utilization: 0.6")[1]
    assert str(problem) == (
        "p.yaml:4: stage a: args.gpu-memory-utilization: "
        "says the same as --gpu-memory-utilization; keep one of them"
    )


def test_no_flag_of_the_whole_server_is_taken_in_a_stage() -> None:
    flags = [flag for flag in catalogue() if flag.scope == "run"]
    for flag in flags:
        pipeline, problems = read(f"{flag.dest}: x")
        assert [problem.subject for problem in problems] == [f"p.yaml:4: stage a: args.{flag.dest}"]
        assert pipeline.stages[0].args == {}


def test_argument_that_changes_nothing_is_told() -> None:
    Path("p.yaml").write_text(
        "stages:\n"
        "  - {name: a, model: m/n, args: {enable-ssl-refresh: true, seed: 1}}\n"
        "  - {name: b, model: m/n, args: {enable-ssl-refresh: false}}\n"
    )
    pipeline, _ = read_pipeline(Path("p.yaml"))
    assert pipeline is not None
    assert read_stage_args(pipeline, catalogue())[1] == []
    assert stage_remarks(pipeline, catalogue()) == [
        "p.yaml:3: stage b: args.enable-ssl-refresh changes nothing: "
        "omni always reads changed certificates again"
    ]

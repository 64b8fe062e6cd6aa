"""Arguments of a pipeline's stages, read by the catalogue before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine_bridge.pipelines import Pipeline, read_pipeline
from omni_cli.flags.catalogue import catalogue
from omni_cli.serve.problems import Problem
from omni_cli.serve.stage_args import read_stage_args


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
        ("max-modle-len: 4k",
         "p.yaml:2: args.max_modle_len: is not an argument of vLLM; did you mean max-model-len?"),
        ("max-num-seqs: many",
         "p.yaml:2: args.max_num_seqs many: must be a whole number from 1 to 1000000"),
        ("dtype: int4", "p.yaml:2: args.dtype int4: must be auto, bfloat16, float, float16, "
         "float32 or half"),
        ("enforce-eager: 3", "p.yaml:2: args.enforce_eager 3: must be true or false"),
        ("threads: 3", "p.yaml:2: args.threads: belongs to the whole server, not to the stage a; "
         "use --threads"),
    ],
)  # fmt: skip
def test_fault_is_told_with_its_place(args: str, line: str) -> None:
    pipeline, problems = read(args)
    assert [str(problem) for problem in problems] == [line]
    assert [problem.origin for problem in problems] == ["pipeline"]
    assert pipeline.stages[0].args == {}


def test_refused_argument_is_told_with_its_reason() -> None:
    (problem,) = read("data-parallel-address: x")[1]
    flag = catalogue().by_dest["data_parallel_address"]
    assert (flag.scope, problem.reason) == ("refused", flag.reason)
    assert problem.subject == "p.yaml:2: args.data_parallel_address"


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
        "p.yaml:2: args.seed",
        "p.yaml:2: args.foo_bar_baz",
        "p.yaml:3: args.seed",
    ]

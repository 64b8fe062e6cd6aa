"""Pipeline files: what they say, and every fault with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine_bridge.pipelines import Pipeline, StageSpec, destination, read_pipeline

GOOD = """\
name: assistant
stages:
  - name: chat
    model: smollm2-135m-instruct
    served_model_name: [assistant, chat]
    args: {--max-model-len: 4K, enforce-eager: true, hf_overrides: {a: [1, null]}}
    threads: 2
    executor: mp
  - name: embed
    model: minilm-l6
    kind: vllm
"""


def read(content: str) -> tuple[Pipeline | None, list[str]]:
    path = Path("p.yaml")
    path.write_text(content)
    pipeline, faults = read_pipeline(path)
    return None if faults else pipeline, [str(fault) for fault in faults]


def stage_faults(lines: str) -> list[str]:
    """Faults of one stage: its keys, one a line, stand from line 4 on."""
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    pipeline, faults = read(f"stages:\n  - name: a\n    model: m\n{body}")
    assert (pipeline is None) == bool(faults)
    return faults


def test_pipeline_is_read() -> None:
    assert read(GOOD) == (
        Pipeline(
            name="assistant",
            source="p.yaml",
            stages=(
                StageSpec(
                    name="chat",
                    model="smollm2-135m-instruct",
                    served_model_name=("assistant", "chat"),
                    args={
                        "max_model_len": "4K",
                        "enforce_eager": True,
                        "hf_overrides": {"a": [1, None]},
                    },
                    threads=2,
                    executor="mp",
                    where="p.yaml:3",
                    places={
                        "max_model_len": "p.yaml:6: stage chat: args.--max-model-len",
                        "enforce_eager": "p.yaml:6: stage chat: args.enforce-eager",
                        "hf_overrides": "p.yaml:6: stage chat: args.hf_overrides",
                    },
                ),
                StageSpec(name="embed", model="minilm-l6", where="p.yaml:9"),
            ),
        ),
        [],
    )


@pytest.mark.parametrize("spelling", ["--max-model-len", "max-model-len", "max_model_len"])
def test_destination_of_any_spelling(spelling: str) -> None:
    assert destination(spelling) == "max_model_len"


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        ("name: x\n", ["p.yaml:1: stages: is missing; list at least one stage under it"]),
        ("stages: []\n", ["p.yaml:1: stages: has 0 entries, must have 1 to 16"]),
        ("stages: {a: 1}\n", ["p.yaml:1: stages {\"a\": 1}: must be a list of stages"]),
        ("- a\n", ["p.yaml:1: the file [\"a\"]: must be a mapping with the keys name, stages"]),
        (
            "stagse:\n  - name: a\n",
            [
                "p.yaml:1: stagse: is not a known key; did you mean stages?",
                "p.yaml:1: stages: is missing; list at least one stage under it",
            ],
        ),
        (
            "stages:\n  - a\n",
            [
                "p.yaml:2: stages[0] a: must be a mapping with the keys "
                "name, model, served_model_name, kind, args, threads, executor",
            ],
        ),
        (
            "edges: []\noutputs: {}\nname: 5\nstages: [{name: a, model: m}]\n",
            [
                "p.yaml:1: edges: is not built yet; leave it out",
                "p.yaml:2: outputs: is not built yet; leave it out",
                "p.yaml:3: name 5: must be text, and not empty",
            ],
        ),
        ("a: [\n", ["p.yaml:2: is not valid YAML (expected the node content, but found "
                    "'<stream end>')"]),
    ],
)  # fmt: skip
def test_file_is_refused(content: str, faults: list[str]) -> None:
    assert read(content) == (None, faults)


@pytest.mark.parametrize(
    ("lines", "faults"),
    [
        ("modle: x", ["p.yaml:4: stages[0].modle: is not a known key; did you mean model?"]),
        (
            "zzz: x",
            [
                "p.yaml:4: stages[0].zzz: is not a known key; known keys are "
                "name, model, served_model_name, kind, args, threads, executor"
            ],
        ),
        ("model: n", ["p.yaml:4: stages[0].model: stands here twice"]),
        (
            "kind: speech",
            ["p.yaml:4: stages[0].kind speech: is not built yet; the kind built so far is vllm"],
        ),
        (
            "kind: sglang",
            [
                "p.yaml:4: stages[0].kind sglang: is not a known kind of stage; "
                "the kind built so far is vllm"
            ],
        ),
        ("threads: 0", ["p.yaml:4: stages[0].threads 0: must be a whole number from 1 to 1024"]),
        (
            "threads: true",
            ["p.yaml:4: stages[0].threads true: must be a whole number from 1 to 1024"],
        ),
        ("executor: ray", ["p.yaml:4: stages[0].executor ray: must be uni or mp"]),
        (
            "served_model_name: []",
            ["p.yaml:4: stages[0].served_model_name: must hold 1 to 32 names"],
        ),
        (
            "served_model_name: [b, '']",
            ["p.yaml:4: stages[0].served_model_name '': must be text, and not empty"],
        ),
        ("args: [1]", ["p.yaml:4: stages[0].args [1]: must be a mapping of vLLM arguments"]),
        (
            "args: {max-model-len: 1, max_model_len: 2}",
            ["p.yaml:4: stages[0].args.max_model_len: stands here twice, spelt differently"],
        ),
        (
            "args: {hf-overrides: {a: 1, b: {c: 1, c: 2}}}",
            ["p.yaml:4: stages[0].args.hf-overrides.b.c: stands here twice"],
        ),
    ],
)
def test_stage_is_refused(lines: str, faults: list[str]) -> None:
    assert stage_faults(lines) == faults


def test_fault_of_one_key_leaves_the_others_readable() -> None:
    Path("p.yaml").write_text("stages:\n  - model: m\n    threds: 1\n    args: {seed: x}\n")
    pipeline, faults = read_pipeline(Path("p.yaml"))
    assert [str(fault) for fault in faults] == [
        "p.yaml:2: stages[0].name: is missing",
        "p.yaml:3: stages[0].threds: is not a known key; did you mean threads?",
    ]
    assert pipeline is not None
    assert pipeline.stages[0].args == {"seed": "x"}
    assert pipeline.stages[0].places == {"seed": "p.yaml:4: stages[0].args.seed"}


@pytest.mark.parametrize("lines", ["args:", "args: {max-model-len: auto}", "args: {seed: 0}"])
def test_stage_is_accepted(lines: str) -> None:
    assert stage_faults(lines) == []


def test_name_is_refused() -> None:
    rule = "must be 1 to 64 letters, digits, - and _, and start with a letter or digit"
    assert read("stages: [{name: 'a b', model: m}]\n") == (
        None,
        [f"p.yaml:1: stages[0].name a b: {rule}"],
    )
    assert read(f"stages: [{{name: a, model: {'m' * 300}}}]\n") == (
        None,
        [f"p.yaml:1: stages[0].model {'m' * 57}...: is longer than 256 characters"],
    )


def test_names_that_collide_are_refused() -> None:
    content = """\
stages:
  - {name: a, model: m, served_model_name: x}
  - {name: a, model: m, served_model_name: y}
  - {name: b, model: m, served_model_name: [x, c]}
  - {name: c, model: m}
"""
    assert read(content) == (
        None,
        [
            "p.yaml:3: stages[1].name a: is also the name of stages[0]",
            "p.yaml:4: stages[2].served_model_name x: also selects stages[0]",
            "p.yaml:4: stages[2].served_model_name c: also selects stages[3]",
        ],
    )


def test_all_faults_come_at_once_in_the_order_of_lines() -> None:
    content = "stages:\n  - name: a\n    kind: x\n  - model: m\n    threads: x\nzz: 1\n"
    _, faults = read(content)
    assert [fault.partition(": ")[0] for fault in faults] == [
        "p.yaml:2",
        "p.yaml:3",
        "p.yaml:4",
        "p.yaml:5",
        "p.yaml:6",
    ]

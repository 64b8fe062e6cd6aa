"""The plan: defaults of the CPU, nothing of them on CUDA, precedence, served names."""

from __future__ import annotations

import pytest

from engine_bridge.plan import RuntimePlan, StagePlan
from omni_cli.serve.plan import build_plan, default_kv_bytes, default_threads
from tests.omni_cli.serve.wishes import GIB, facts, wanted


def plan(
    pipeline: str | None = None, *, machine: dict[str, object], **given: object
) -> RuntimePlan:
    settings, stages = wanted(pipeline, **given)
    return build_plan(settings, stages, facts(stages, **machine))


def only(found: RuntimePlan) -> StagePlan:
    (stage,) = found.stages
    return stage


CUDA: dict[str, object] = {"platform": "cuda", "gpus": 4}
MIB = 2**20
# How the catalogue has the bundled model sample, call tools and write JSON.
TALK: dict[str, object] = {
    "enable_auto_tool_choice": True,
    "tool_call_parser": "hermes",
    "tool_strict_level": "parameter",
    "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
    "override_generation_config": {"temperature": 0.2},
}


def test_bundled_model_on_the_cpu() -> None:
    assert plan(machine={}) == RuntimePlan(
        stages=(
            StagePlan(
                name="smollm2-135m-instruct",
                model="smollm2-135m-instruct",
                model_path="/cache/models/smollm2-135m-instruct",
                served_names=("smollm2-135m-instruct",),
                vllm_args={
                    "enforce_eager": True,
                    "dtype": "bfloat16",
                    "kv_cache_memory_bytes": 256 * MIB,
                    "max_model_len": 8192,
                    **TALK,
                },
                executor="uni",
                threads=3,
            ),
        ),
        api_server_count=1,
        start_method="fork",
        ready_timeout_s=600.0,
        stop_timeout_s=5.0,
    )


def test_cuda_keeps_the_defaults_of_vllm() -> None:
    found = plan(machine=CUDA, target="org/model")
    assert (found.start_method, only(found).executor) == ("spawn", "mp")
    assert only(found).vllm_args == {}
    assert "kv_cache_memory_bytes" not in only(plan(machine=CUDA)).vllm_args


def test_runtime_settings_reach_the_plan() -> None:
    found = plan(
        machine={}, api_server_count=3, start_method="spawn", ready_timeout_s=9, stop_timeout_s=1
    )
    assert (found.api_server_count, found.start_method) == (3, "spawn")
    assert (found.ready_timeout_s, found.stop_timeout_s) == (9.0, 1.0)


def test_given_values_win() -> None:
    stage = only(
        plan(
            machine={},
            dtype="float32",
            enforce_eager=False,
            kv_cache_memory_bytes="64M",
            max_model_len="auto",
            threads=1,
            distributed_executor_backend="mp",
            seed=0,
        )
    )
    assert stage.vllm_args == {
        "dtype": "float32",
        "enforce_eager": False,
        "kv_cache_memory_bytes": 64 * MIB,
        "max_model_len": -1,
        "seed": 0,
        **TALK,
    }
    assert (stage.threads, stage.executor) == (1, "mp")


@pytest.mark.parametrize(
    ("pipeline", "given"),
    [
        (None, {"optimization_level": 3}),
        (None, {"optimization_level": 0}),
        (None, {"compilation_config": {"mode": 3}}),
        (None, {"cudagraph_capture_sizes": [1, 2]}),
        (None, {"max_cudagraph_capture_size": 8}),
        ("stages: [{name: a, model: org/m, args: {optimization-level: 1}}]", {}),
    ],
)
def test_default_of_eager_yields_to_whoever_says_how_to_compile(
    pipeline: str | None, given: dict[str, object]
) -> None:
    assert only(plan(pipeline, machine={}, **given)).vllm_args["enforce_eager"] is False
    eager = only(plan(pipeline, machine={}, enforce_eager=True, **given))
    assert eager.vllm_args["enforce_eager"] is True
    assert "enforce_eager" not in only(plan(pipeline, machine=CUDA, **given)).vllm_args


def test_default_of_eager_stands_in_the_stages_beside() -> None:
    text = """\
stages:
  - {name: a, model: m/x, args: {compilation-config: {mode: 3}}}
  - {name: b, model: m/y}
"""
    first, second = plan(text, machine={}).stages
    assert (first.vllm_args["enforce_eager"], second.vllm_args["enforce_eager"]) == (False, True)


def test_flag_wins_over_pipeline_and_pipeline_over_catalogue() -> None:
    text = """\
stages:
  - name: chat
    model: smollm2-135m-instruct
    threads: 2
    executor: mp
    args: {max-model-len: 1024, dtype: float32}
"""
    stage = only(plan(text, machine={}, dtype="float16", threads=1))
    assert stage.vllm_args["max_model_len"] == 1024
    assert stage.vllm_args["dtype"] == "float16"
    assert (stage.threads, stage.executor) == (1, "mp")


def test_tensor_parallel_stage_takes_processes_and_shares_the_cores() -> None:
    stage = only(plan(machine={"cores": 9}, tensor_parallel_size=2))
    assert (stage.executor, stage.threads) == ("mp", 4)


def test_two_stages_share_cores_and_memory() -> None:
    text = "stages:\n  - {name: a, model: /m/x}\n  - {name: b, model: org/y}\n"
    first, second = plan(text, machine={"cores": 5}).stages
    assert (first.threads, second.threads) == (2, 2)
    # 16 GiB less 2 GiB of weights and 4 processes of 320 MiB; half of that for two caches.
    assert first.vllm_args["kv_cache_memory_bytes"] == (14 * GIB - 4 * 320 * MIB) // 4 // MIB * MIB


@pytest.mark.parametrize(
    ("cores", "workers", "threads"), [(1, 1, 1), (2, 1, 1), (8, 1, 7), (8, 2, 3), (2, 4, 1)]
)
def test_default_threads(cores: int, workers: int, threads: int) -> None:
    assert default_threads(cores, workers) == threads


@pytest.mark.parametrize(
    ("available", "weights", "size"),
    [
        (None, 0, 512 * MIB),
        (100 * GIB, 0, 4 * GIB),
        (GIB, 2 * GIB, 256 * MIB),
        (6 * GIB, 2 * GIB, (4 * GIB - 3 * 320 * MIB) // 2),
    ],
)
def test_default_kv_bytes(available: int | None, weights: int, size: int) -> None:
    assert default_kv_bytes(available, weights, stages=1, frontends=1) == size


class TestServedNames:
    @pytest.mark.parametrize(
        ("target", "names", "stage"),
        [
            ("minilm-l6", ("minilm-l6",), "minilm-l6"),
            ("Qwen/Qwen2.5-0.5B", ("Qwen/Qwen2.5-0.5B",), "Qwen2-5-0-5B"),
            ("/models/My Model", ("My Model",), "My-Model"),
            ("/models/...", ("...",), "model"),
        ],
    )
    def test_target(self, target: str, names: tuple[str, ...], stage: str) -> None:
        found = only(plan(machine={}, target=target))
        assert (found.served_names, found.name) == (names, stage)

    def test_explicit_names_stand_once(self) -> None:
        stage = only(plan(machine={}, served_model_name=["a", "b", "a"]))
        assert stage.served_names == ("a", "b")

    def test_explicit_names_stand_alone(self) -> None:
        assert only(plan(machine={}, served_model_name=["a", "b"])).served_names == ("a", "b")

    @pytest.mark.parametrize(
        ("stages", "names"),
        [
            ("{name: chat, model: minilm-l6}", [("minilm-l6", "chat")]),
            ("{name: minilm-l6, model: minilm-l6}", [("minilm-l6",)]),
            ("{name: a, model: m/n}, {name: b, model: m/n}", [("a",), ("b",)]),
            (
                "{name: a, model: m/n}, {name: b, model: m/n, served_model_name: z}",
                [("m/n", "a"), ("z",)],
            ),
            (
                "{name: a, model: m/n}, {name: b, model: x/y, served_model_name: m/n}",
                [("a",), ("m/n",)],
            ),
            (
                "{name: a, model: minilm-l6}, {name: minilm-l6, model: x/y}",
                [("a",), ("x/y", "minilm-l6")],
            ),
        ],
    )
    def test_pipeline(self, stages: str, names: list[tuple[str, ...]]) -> None:
        found = plan(f"stages: [{stages}]\n", machine={})
        assert [stage.served_names for stage in found.stages] == names

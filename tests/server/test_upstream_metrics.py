from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import REGISTRY, Counter

from engine_bridge.metrics import Snapshot
from server.metrics import snapshot


@pytest.fixture
def upstream_metrics() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from server import upstream_metrics  # noqa: PLC0415
    yield upstream_metrics
    upstream_metrics._stage_registries.clear()


def make_stage(model: str) -> Counter:
    """What AsyncLLM does to the global registry."""
    from vllm.v1.metrics.prometheus import unregister_vllm_metrics

    unregister_vllm_metrics()
    counter = Counter("vllm:test_done", "Done.", ["model_name"])
    counter.labels(model)
    return counter


def done(found: Snapshot) -> dict[str, float]:
    (family,) = [family for family in found.families if family.name == "vllm:test_done"]
    return {sample.labels["model_name"]: sample.value for sample in family.samples}


def test_every_stage_keeps_its_series(upstream_metrics: Any) -> None:
    with upstream_metrics.collecting("chat"):
        chat = make_stage("talker")
    with upstream_metrics.collecting("embed"):
        embed = make_stage("embedder")
    chat.labels("talker").inc(2)
    embed.labels("embedder").inc(3)
    assert done(snapshot(upstream_metrics.registries())) == {"talker": 2, "embedder": 3}


def test_stage_that_fails_leaves_the_global_registry_clean(upstream_metrics: Any) -> None:
    before = set(REGISTRY._collector_to_names)

    def fail() -> None:
        with upstream_metrics.collecting("chat"):
            make_stage("talker")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert set(REGISTRY._collector_to_names) == before


def test_stage_made_again_replaces_its_series(upstream_metrics: Any) -> None:
    for _ in range(2):
        with upstream_metrics.collecting("chat"):
            make_stage("talker").labels("talker").inc()
    assert done(snapshot(upstream_metrics.registries())) == {"talker": 1}

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from engine_bridge.metrics import merge
from server.metrics import HttpMetrics, snapshot


def test_families_of_one_name_in_two_registries_are_joined() -> None:
    registries = []
    for model in ("chat", "embed"):
        registry = CollectorRegistry()
        Counter("vllm:done", "Done.", ["model_name"], registry=registry).labels(model).inc()
        registries.append(registry)
    (family,) = snapshot(registries).families
    assert [sample.labels["model_name"] for sample in family.samples] == ["chat", "embed"]


def test_process_series_and_creation_times_are_left_out() -> None:
    registry = CollectorRegistry()
    for name in ("process_open_fds", "python_info", "http_requests"):
        Gauge(name, "", registry=registry)
    Histogram("took", "", registry=registry)
    found = snapshot([registry])
    assert [family.name for family in found.families] == ["took"]
    assert not [s for s in found.families[0].samples if s.name.endswith("_created")]


def test_http_metrics_are_valid_text_after_the_merge() -> None:
    metrics = HttpMetrics()
    metrics.observe("/v1/models", "GET", 200, 0.02)
    metrics.observe("/v1/models", "GET", 200, 3.0)
    text = merge([snapshot([metrics.registry])], [])
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families["omni_http_requests"].samples[0].value == 2
    buckets = {
        sample.labels["le"]: sample.value
        for sample in families["omni_http_request_duration_seconds"].samples
        if sample.name.endswith("_bucket")
    }
    assert (buckets["0.01"], buckets["0.05"], buckets["5.0"], buckets["+Inf"]) == (0, 1, 2, 2)

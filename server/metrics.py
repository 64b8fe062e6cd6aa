"""What this process has counted: omni's own HTTP metrics, and the snapshot for the parent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import Metric

from engine_bridge.metrics import Family, Sample, Snapshot

__all__ = ["HttpMetrics", "snapshot"]

# Few, because each is a series per route and method: a fast answer, a short one, a long one, a
# very long one.
DURATION_BUCKETS_S = (0.01, 0.05, 0.25, 1.0, 5.0, 30.0, 120.0)

# Of one process, so without a meaning for a server made of several; or counted by upstream's
# instrumentator, which sees only the routes that are passed through, and which omni_http_*
# replaces.
DROPPED_PREFIXES = ("process_", "python_", "http_")


class HttpMetrics:
    """Counts answers. One per application.

    Attributes:
        registry: Where its series are.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "omni_http_requests",
            "HTTP requests that have ended; code 499 is a client that left before the answer.",
            ("route", "method", "code"),
            registry=self.registry,
        )
        self._duration = Histogram(
            "omni_http_request_duration_seconds",
            "Time from a request's first byte to its answer's last.",
            ("route", "method"),
            buckets=DURATION_BUCKETS_S,
            registry=self.registry,
        )

    def observe(self, route: str, method: str, code: int, seconds: float) -> None:
        """Count one request. ``route`` is a path pattern, never a client's path."""
        self._requests.labels(route, method, str(code)).inc()
        self._duration.labels(route, method).observe(seconds)


def snapshot(registries: Iterable[CollectorRegistry]) -> Snapshot:
    """Read every registry; families of one name are joined."""
    families: dict[str, Family] = {}
    for registry in registries:
        for metric in registry.collect():
            if metric.name.startswith(DROPPED_PREFIXES):
                continue
            samples = tuple(_samples(metric))
            known = families.get(metric.name)
            if known is not None:
                samples = known.samples + samples
            families[metric.name] = Family(metric.name, metric.type, metric.documentation, samples)
    return Snapshot(tuple(families.values()))


def _samples(metric: Metric) -> Iterator[Sample]:
    for sample in metric.samples:
        if not sample.name.endswith("_created"):
            yield Sample(sample.name, dict(sample.labels), float(sample.value))

"""Every stage's series in one process.

Upstream registers a stage's collectors in prometheus_client's global registry, and takes out every
``vllm:`` collector that it finds there when it makes the next stage's. So each stage's collectors
are moved, as soon as they are made, to a registry of their own; they count there as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry
from vllm.v1.metrics.prometheus import get_prometheus_registry

__all__ = ["collecting", "registries"]

_stage_registries: dict[str, CollectorRegistry] = {}


@contextmanager
def collecting(stage: str) -> Iterator[CollectorRegistry]:
    """Wrap the making of one stage's ``AsyncLLM``; what it registers goes to a registry of its own.

    One stage at a time: the body must not run concurrently with another stage's. A second time for
    the same stage replaces its registry.

    Yields:
        The registry, which is filled when the body has ended.
    """
    shared = get_prometheus_registry()
    before = set(shared._collector_to_names)
    registry = CollectorRegistry()
    try:
        yield registry
    finally:
        for collector in [c for c in shared._collector_to_names if c not in before]:
            shared.unregister(collector)
            registry.register(collector)
        _stage_registries[stage] = registry


def registries() -> list[CollectorRegistry]:
    """The stages' registries and the global one: all that upstream counts in this process."""
    return [*_stage_registries.values(), get_prometheus_registry()]

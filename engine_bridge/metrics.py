"""One truth for ``/metrics``: snapshots of every frontend's registry, merged into one text.

Each frontend counts what it has seen itself. Counters and histograms are therefore summed over the
ranks. What a scheduler alone knows (requests running, requests waiting, use of the KV cache)
reaches only one frontend per step, so a frontend's gauge of it is stale most of the time: those
families are dropped from snapshots and written from the numbers that the engine itself gave on the
control rank.

A rank that is gone must not take its counts along: the owner folds its last snapshot into a base
that it keeps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

__all__ = ["EngineGauges", "Family", "MetricsOwner", "Sample", "Snapshot", "merge"]

# Families whose samples only the control rank can know, with their help text.
CONTROL_GAUGES = {
    "vllm:num_requests_running": "Number of requests in model execution batches.",
    "vllm:num_requests_waiting": "Number of requests waiting to be processed.",
    "vllm:kv_cache_usage_perc": "KV-cache usage. 1 means 100 percent usage.",
}
# Stale in frontends for the same reason; the control rank does not report it, so it is left out.
DROPPED_GAUGES = frozenset({"vllm:num_requests_waiting_by_reason"})
CUMULATIVE = frozenset({"counter", "histogram", "summary", "gaugehistogram"})

SampleKey = tuple[str, tuple[tuple[str, str], ...]]


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One value; ``name`` carries its suffix (``_bucket``), labels carry neither pid nor rank."""

    name: str
    labels: dict[str, str]
    value: float


class Family(msgspec.Struct, frozen=True, array_like=True):
    """A metric with all its samples; ``type`` is a Prometheus type, ``name`` has no ``_total``."""

    name: str
    type: str
    help: str
    samples: tuple[Sample, ...]


class Snapshot(msgspec.Struct, frozen=True):
    """All families of one process at one moment."""

    families: tuple[Family, ...] = ()


class EngineGauges(msgspec.Struct, frozen=True, kw_only=True):
    """What one engine says of itself.

    Attributes:
        model_name: The stage's canonical served name, the ``model_name`` label of vLLM's own
            series.
        running: Requests in the running batch.
        waiting: Requests in the waiting queue.
        kv_cache_usage: Share of the KV cache in use, 0 to 1.
    """

    model_name: str
    running: int
    waiting: int
    kv_cache_usage: float


class _Merged:
    """A family while its samples are added up."""

    def __init__(self, family: Family) -> None:
        self.name = family.name
        self.type = family.type
        self.help = family.help
        self.values: dict[SampleKey, float] = {}

    def add(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            before = self.values.get(key)
            if before is None:
                self.values[key] = sample.value
            elif self.type in CUMULATIVE and "quantile" not in sample.labels:
                self.values[key] = before + sample.value
            else:
                self.values[key] = max(before, sample.value)

    def freeze(self) -> Family:
        samples = (Sample(name, dict(pairs), v) for (name, pairs), v in self.values.items())
        return Family(self.name, self.type, self.help, tuple(samples))


def _add_up(snapshots: Iterable[Snapshot]) -> dict[str, _Merged]:
    merged: dict[str, _Merged] = {}
    for snapshot in snapshots:
        for family in snapshot.families:
            if family.name in CONTROL_GAUGES or family.name in DROPPED_GAUGES:
                continue
            entry = merged.get(family.name)
            if entry is None:
                entry = merged[family.name] = _Merged(family)
            entry.add(family.samples)
    return merged


def merge(snapshots: Iterable[Snapshot], engine_gauges: Iterable[EngineGauges]) -> str:
    """Merge the ranks' snapshots and the engines' own gauges.

    Returns:
        Prometheus text exposition format 0.0.4, families sorted by name.
    """
    families = {name: entry.freeze() for name, entry in _add_up(snapshots).items()}
    families.update(_control_families(engine_gauges))
    return "".join(_render(families[name]) for name in sorted(families))


def _control_families(engine_gauges: Iterable[EngineGauges]) -> dict[str, Family]:
    rows: dict[str, list[Sample]] = {name: [] for name in CONTROL_GAUGES}
    for gauges in engine_gauges:
        labels = {"engine": "0", "model_name": gauges.model_name}
        values = (gauges.running, gauges.waiting, gauges.kv_cache_usage)
        for name, value in zip(CONTROL_GAUGES, values, strict=True):
            rows[name].append(Sample(name, labels, float(value)))
    return {
        name: Family(name, "gauge", CONTROL_GAUGES[name], tuple(samples))
        for name, samples in rows.items()
        if samples
    }


def _render(family: Family) -> str:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    kind = family.type if family.type in {"counter", "gauge", "histogram", "summary"} else "untyped"
    text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    lines += [f"{s.name}{_labels(s.labels)} {_number(s.value)}" for s in family.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = (f'{name}="{_escape(value)}"' for name, value in sorted(labels.items()))
    return "{" + ",".join(pairs) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))


class MetricsOwner:
    """The last snapshot of every rank, and the sums of those that are gone; in the parent."""

    def __init__(self) -> None:
        self._base = Snapshot()
        self._ranks: dict[int, Snapshot] = {}

    def update(self, rank: int, snapshot: Snapshot) -> None:
        """Take a rank's newest snapshot; it replaces the one before."""
        self._ranks[rank] = snapshot

    def forget(self, rank: int) -> None:
        """Fold a dead rank's last counters into the base, before its successor reports."""
        last = self._ranks.pop(rank, None)
        if last is None:
            return
        merged = _add_up((self._base, last))
        kept = (entry.freeze() for entry in merged.values() if entry.type in CUMULATIVE)
        self._base = Snapshot(tuple(kept))

    def render(self, engine_gauges: Iterable[EngineGauges]) -> str:
        """The whole text of ``/metrics``."""
        return merge((self._base, *self._ranks.values()), engine_gauges)

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from engine_bridge.metrics import EngineGauges, Family, MetricsOwner, Sample, Snapshot, merge

GAUGES = EngineGauges(model_name="chat", running=3, waiting=1, kv_cache_usage=0.25)


def counter(value: float, **labels: str) -> Family:
    return Family("done", "counter", "Done.", (Sample("done_total", labels, value),))


def histogram(low: float, high: float) -> Family:
    samples = (
        Sample("took_bucket", {"le": "1.0"}, low),
        Sample("took_bucket", {"le": "+Inf"}, high),
        Sample("took_sum", {}, high * 2),
        Sample("took_count", {}, high),
    )
    return Family("took", "histogram", "Took.", samples)


def gauge(name: str, value: float, **labels: str) -> Family:
    return Family(name, "gauge", "", (Sample(name, labels, value),))


def values(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def merged(*families: Iterable[Family], gauges: Iterable[EngineGauges] = ()) -> str:
    return merge([Snapshot(tuple(each)) for each in families], gauges)


class TestMerge:
    def test_counters_of_two_ranks_are_added_per_label_set(self) -> None:
        text = merged([counter(2, route="a")], [counter(3, route="a")], [counter(5, route="b")])
        assert values(text) == {
            ("done_total", (("route", "a"),)): 5,
            ("done_total", (("route", "b"),)): 5,
        }

    def test_histograms_of_two_ranks_are_added(self) -> None:
        found = values(merged([histogram(1, 2)], [histogram(3, 4)]))
        assert found[("took_bucket", (("le", "1.0"),))] == 4
        assert found[("took_bucket", (("le", "+Inf"),))] == 6
        assert found[("took_sum", ())] == 12
        assert found[("took_count", ())] == 6

    def test_buckets_keep_their_order(self) -> None:
        lines = [x for x in merged([histogram(1, 2)], [histogram(3, 4)]).splitlines() if "le=" in x]
        assert ['le="1.0"' in lines[0], 'le="+Inf"' in lines[1]] == [True, True]

    def test_other_gauges_are_the_largest(self) -> None:
        text = merged([gauge("info", 1, block="16")], [gauge("info", 1, block="16")])
        assert values(text) == {("info", (("block", "16"),)): 1}

    def test_engine_gauges_come_from_the_engine_never_from_a_rank(self) -> None:
        stale = gauge("vllm:num_requests_running", 99, model_name="chat", engine="0")
        reasons = gauge("vllm:num_requests_waiting_by_reason", 7, model_name="chat", engine="0")
        labels = (("engine", "0"), ("model_name", "chat"))
        assert values(merged([stale, reasons], gauges=[GAUGES])) == {
            ("vllm:num_requests_running", labels): 3,
            ("vllm:num_requests_waiting", labels): 1,
            ("vllm:kv_cache_usage_perc", labels): 0.25,
        }

    def test_text_names_counters_with_total_and_types(self) -> None:
        assert merged([counter(1)]) == (
            "# HELP done_total Done.\n# TYPE done_total counter\ndone_total 1.0\n"
        )

    @given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12))
    def test_any_label_value_survives(self, value: str) -> None:
        text = merged([counter(1, name=value)])
        assert values(text) == {("done_total", (("name", value),)): 1}

    def test_newline_quote_and_backslash_are_escaped(self) -> None:
        text = merged([counter(1, name='a"b\\c\nd')])
        assert values(text) == {("done_total", (("name", 'a"b\\c\nd'),)): 1}


class TestOwner:
    def test_update_replaces_the_rank_and_does_not_add(self) -> None:
        owner = MetricsOwner()
        owner.update(0, Snapshot((counter(2),)))
        owner.update(0, Snapshot((counter(3),)))
        assert values(owner.render([])) == {("done_total", ()): 3}

    def test_totals_do_not_go_back_when_a_rank_dies_twice(self) -> None:
        owner = MetricsOwner()
        for expected in (5, 10):
            owner.update(0, Snapshot((counter(5), histogram(1, 2), gauge("info", 1))))
            owner.forget(0)
            assert values(owner.render([]))[("done_total", ())] == expected
        owner.update(0, Snapshot((counter(1),)))
        assert values(owner.render([]))[("done_total", ())] == 11
        assert values(owner.render([]))[("took_count", ())] == 4

    def test_forgotten_gauge_is_gone(self) -> None:
        owner = MetricsOwner()
        owner.update(0, Snapshot((gauge("info", 1),)))
        owner.forget(0)
        owner.forget(0)
        assert owner.render([]) == ""


def test_snapshot_survives_the_channel() -> None:
    sent = Snapshot((counter(1, route="a"), histogram(1, 2)))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=Snapshot) == sent

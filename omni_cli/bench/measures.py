"""From the records of a load to what is said about the server. Pure; docs/bench.md has each formula
and where its definition is from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from omni_cli.bench.goodput import met
from omni_cli.bench.load import Ending, LoadResult
from omni_cli.bench.record import Outcome, Record
from omni_cli.bench.samples import DEFAULT_PERCENTILES, Distribution, summarise

__all__ = ["FailureCount", "Goodput", "Measures", "measure"]

LAG_PERCENTILES = (50.0, 99.0)
# A loop that is late (p99) by more than this share of the mean time between two chunks shapes the
# percentiles that it is to measure
MAX_LAG_SHARE = 0.25
# Below that it is the scheduler of any machine
MIN_LAG_S = 0.001
# Of a core; a single-threaded client with less than that left queues
MAX_BUSY_SHARE = 0.9
# Before that, opening the connections is most of what there is to do
MIN_BUSY_S = 1.0
# A request that is sent later than planned by this share of its end-to-end time was held up here
MAX_DELAY_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Failures of one kind, with the message of the first."""

    kind: str
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class Goodput:
    """Requests that met every limit.

    Attributes:
        share: Of all that ended, 0 to 1.
    """

    limits_ms: Mapping[str, float]
    met: int
    share: float
    requests_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What a load says about a server. Distributions are in seconds, over the requests that did not
    fail; None where there is nothing to tell.

    Attributes:
        duration_s: From the first sending to the last end, or to the stop.
        prompt_tokens: Of all good requests by the server's count; None if it did not count each.
        output_tokens: The same for answers.
        estimated: Requests of which it is not sure how many tokens each chunk held.
        mean_concurrency: Requests in flight, averaged over the duration.
        send_delay: From when a request was to be sent to when it was.
        notes: What a reader has to know before believing the numbers.
    """

    ended: Ending
    planned: int
    ok: int
    failed: int
    unfinished: int
    failures: tuple[FailureCount, ...]
    duration_s: float
    ttft: Distribution | None
    itl_token: Distribution | None
    itl_chunk: Distribution | None
    tpot: Distribution | None
    e2e: Distribution | None
    send_delay: Distribution | None
    prompt_tokens: int | None
    output_tokens: int | None
    estimated: int
    goodput: Goodput | None
    mean_concurrency: float
    peak_concurrency: int
    loop_lag: Distribution | None
    busy_share: float
    notes: tuple[str, ...]

    def per_second(self, amount: int | None) -> float | None:
        """An amount over the duration."""
        return None if amount is None or self.duration_s <= 0 else amount / self.duration_s

    @property
    def total_tokens(self) -> int | None:
        """Tokens that the server read and made."""
        if self.prompt_tokens is None:
            return None
        return self.prompt_tokens + (self.output_tokens or 0)


def measure(
    result: LoadResult,
    planned: int,
    *,
    limits_ms: Mapping[str, float] | None = None,
    percentiles: Sequence[float] = DEFAULT_PERCENTILES,
    expected_tokens: bool = False,
) -> Measures:
    """Draw the numbers from a load's records.

    Args:
        planned: Requests that there were to be.
        limits_ms: Of goodput, or None.
        percentiles: Which ones, 0 to 100.
        expected_tokens: Whether answers come as streams of tokens; an embedding does not.
    """
    good = [record for record in result.records if record.outcome is Outcome.OK]
    failed = [record for record in result.records if record.outcome is Outcome.FAILED]
    ended = [record for record in result.records if record.outcome is not Outcome.UNFINISHED]
    duration, mean, peak = _concurrency(result.records)

    def over(values: list[float | None], weights: list[int] | None = None) -> Distribution | None:
        return summarise([v for v in values if v is not None], percentiles, weights)

    counted = bool(good) and all(record.output_tokens is not None for record in good)
    by_token = _by_token(good, percentiles) if counted else None
    by_chunk = over([gap for record in good for gap in record.gaps_s])
    e2e = over([record.e2e_s for record in good])
    delays = over([_delay(record) for record in result.records])
    lag = summarise(result.lags_s, LAG_PERCENTILES)
    goodput = _goodput(ended, limits_ms, duration) if limits_ms else None
    estimated = sum(not record.exact for record in good) if counted else 0
    notes = [
        *_token_notes(good, estimated, goodput, limits_ms, expected_tokens),
        *_lag_notes(lag, by_chunk or e2e),
        *_busy_notes(result.busy_share, duration),
        *_delay_notes(delays, e2e),
    ]
    return Measures(
        ended=result.ended,
        planned=planned,
        ok=len(good),
        failed=len(failed),
        unfinished=len(result.records) - len(ended),
        failures=_failures(failed),
        duration_s=duration,
        ttft=over([record.ttft_s for record in good]) if expected_tokens else None,
        itl_token=by_token,
        itl_chunk=by_chunk,
        tpot=over([record.tpot_s for record in good]) if counted else None,
        e2e=e2e,
        send_delay=delays,
        prompt_tokens=_sum([record.prompt_tokens for record in good]),
        output_tokens=_sum([record.output_tokens for record in good]),
        estimated=estimated,
        goodput=goodput,
        mean_concurrency=mean,
        peak_concurrency=peak,
        loop_lag=lag,
        busy_share=result.busy_share,
        notes=tuple(notes),
    )


def _by_token(good: Sequence[Record], percentiles: Sequence[float]) -> Distribution | None:
    """Each gap counts once for each token at its end, which took its share of it. The gap before a
    chunk that holds no whole token belongs to the next one that does."""
    shares, weights = [], []
    for record in good:
        waited = 0.0
        for gap, tokens in zip(record.gaps_s, record.gap_tokens, strict=True):
            waited += gap
            if tokens > 0:
                shares.append(waited / tokens)
                weights.append(tokens)
                waited = 0.0
    return summarise(shares, percentiles, weights)


def _concurrency(records: Sequence[Record]) -> tuple[float, float, int]:
    """Duration in seconds, and requests in flight over it: mean and peak."""
    if not records:
        return 0.0, 0.0, 0
    begin = min(record.sent_s for record in records)
    end = max(record.sent_s + (record.took_s or 0.0) for record in records)
    spans = [
        (record.sent_s, end if record.took_s is None else record.sent_s + record.took_s)
        for record in records
    ]
    # An end before a start at the same moment: the one made room for the other
    steps = sorted([(start, 1) for start, _ in spans] + [(stop, -1) for _, stop in spans])
    peak = max(accumulate(step for _, step in steps))
    duration = end - begin
    busy = sum(stop - start for start, stop in spans)
    return duration, busy / duration if duration > 0 else 0.0, peak


def _failures(failed: Sequence[Record]) -> tuple[FailureCount, ...]:
    kinds: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for record in failed:
        if record.failure is not None:
            kinds[record.failure.kind] += 1
            examples.setdefault(record.failure.kind, record.failure.message)
    return tuple(FailureCount(kind, count, examples[kind]) for kind, count in kinds.most_common())


def _goodput(
    ended: Sequence[Record], limits_ms: Mapping[str, float], duration_s: float
) -> Goodput | None:
    verdicts = [met(record, limits_ms) for record in ended]
    if not verdicts or None in verdicts:
        return None
    count = sum(verdict is True for verdict in verdicts)
    rate = count / duration_s if duration_s > 0 else 0.0
    return Goodput(dict(limits_ms), count, count / len(verdicts), rate)


def _token_notes(
    good: Sequence[Record],
    estimated: int,
    goodput: Goodput | None,
    limits_ms: Mapping[str, float] | None,
    expected_tokens: bool,
) -> list[str]:
    notes = []
    silent = sum(record.output_tokens is None for record in good)
    if expected_tokens and silent:
        notes.append(
            f"the server sent no usage with {silent} of {len(good)} answers: nothing is said by "
            "token, since counting chunks is guessing"
        )
    if estimated and expected_tokens:
        notes.append(
            f"{estimated} of {len(good)} answers came in other pieces than single tokens, and the "
            "server does not say which: by token, their tokens are spread evenly over the pieces "
            "(--chunk-usage asks for counts)"
        )
    if limits_ms and good and goodput is None:
        notes.append("goodput cannot be told without token counts or times to the first token")
    return notes


def _lag_notes(lag: Distribution | None, measured: Distribution | None) -> list[str]:
    late = lag.percentiles[99.0] if lag is not None else 0.0
    if measured is None or late <= max(MIN_LAG_S, MAX_LAG_SHARE * measured.mean):
        return []
    return [
        f"this client was late: its event loop lagged by {1000 * late:.1f} ms (p99) where "
        f"{1000 * measured.mean:.1f} ms were measured; run it on another machine, or with less load"
    ]


def _busy_notes(busy_share: float, duration_s: float) -> list[str]:
    if busy_share <= MAX_BUSY_SHARE or duration_s < MIN_BUSY_S:
        return []
    share = f"{100 * busy_share:.0f}% of a core"
    return [f"this client was busy: {share}; the numbers may be its own"]


def _delay_notes(delay: Distribution | None, e2e: Distribution | None) -> list[str]:
    if delay is None or e2e is None or delay.mean <= MAX_DELAY_SHARE * e2e.mean:
        return []
    return [
        f"requests were sent {1000 * delay.mean:.0f} ms later than planned (mean), as there was no "
        "room among those in flight; the latencies count from the sending"
    ]


def _delay(record: Record) -> float | None:
    return None if record.scheduled_s is None else max(record.sent_s - record.scheduled_s, 0.0)


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None

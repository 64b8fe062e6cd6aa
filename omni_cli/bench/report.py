"""What a load has measured, as text for people and as one object for programs."""

from __future__ import annotations

from typing import Any

from omni_cli.bench.load import Ending
from omni_cli.bench.measures import Goodput, Measures
from omni_cli.bench.samples import Distribution
from omni_cli.terminal import one_line

__all__ = ["as_json", "as_text"]

MAX_EXAMPLE = 200  # characters of a server's message

_ENDINGS = {
    Ending.INTERRUPTED: "interrupted",
    Ending.MAX_SECONDS: "stopped by --max-seconds",
}


def as_json(measures: Measures) -> dict[str, Any]:
    """All numbers; docs/bench.md describes each key. Milliseconds where a name ends in ``_ms``."""
    m = measures
    return {
        "ended": str(m.ended),
        "requests": {
            "planned": m.planned,
            "ok": m.ok,
            "failed": m.failed,
            "unfinished": m.unfinished,
        },
        "failures": [
            {"kind": found.kind, "count": found.count, "example": found.example}
            for found in m.failures
        ],
        "duration_s": round(m.duration_s, 4),
        "ttft_ms": _ms(m.ttft),
        "itl_token_ms": _ms(m.itl_token),
        "itl_chunk_ms": _ms(m.itl_chunk),
        "tpot_ms": _ms(m.tpot),
        "e2e_ms": _ms(m.e2e),
        "send_delay_ms": _ms(m.send_delay),
        "tokens": {
            "prompt": m.prompt_tokens,
            "output": m.output_tokens,
            "estimated_answers": m.estimated,
        },
        "throughput": {
            "requests_per_s": _rounded(m.per_second(m.ok)),
            "output_tokens_per_s": _rounded(m.per_second(m.output_tokens)),
            "total_tokens_per_s": _rounded(m.per_second(m.total_tokens)),
        },
        "goodput": _goodput(m.goodput),
        "concurrency": {"mean": round(m.mean_concurrency, 3), "peak": m.peak_concurrency},
        "client": {"loop_lag_ms": _ms(m.loop_lag), "busy_share": round(m.busy_share, 4)},
        "notes": list(m.notes),
    }


def as_text(measures: Measures) -> str:
    """Failures first, then the notes, then the numbers; ends in a newline."""
    m = measures
    lines = [*_heading(m), *[f"note: {note}" for note in m.notes]]
    if m.ok:
        lines += ["", *_latencies(m), "", *_rates(m)]
    lines += ["", *_client(m)]
    return "\n".join(lines) + "\n"


def _heading(m: Measures) -> list[str]:
    ended = m.ok + m.failed
    planned = f" of {m.planned}" if ended != m.planned else ""
    stopped = f", {_ENDINGS[m.ended]} with {m.unfinished} in flight" if m.ended in _ENDINGS else ""
    requests = "request" if m.planned == 1 else "requests"
    load = f"{ended}{planned} {requests} in {m.duration_s:.2f} s{stopped}"
    if not m.failed:
        return [f"{load}: none failed"]
    lines = [f"FAILED: {m.failed} of {load}"]
    width = max(len(found.kind) for found in m.failures)
    for found in m.failures:
        example = one_line(found.example)
        if len(example) > MAX_EXAMPLE:
            example = f"{example[:MAX_EXAMPLE]}..."
        lines.append(f"  {found.count:>6} {found.kind:<{width}}  {example}")
    return [*lines, "the numbers below leave the failed ones out: do not believe them"]


def _latencies(m: Measures) -> list[str]:
    rows = [
        ("time to first token", m.ttft),
        ("inter-token, by token", m.itl_token),
        ("inter-token, by chunk", m.itl_chunk),
        ("time per output token", m.tpot),
        ("end to end", m.e2e),
        ("sent later than planned", m.send_delay),
    ]
    shown = [(name, found) for name, found in rows if found is not None]
    if not shown:
        return []
    numbers = list(shown[0][1].percentiles)
    heads = ["mean", *(f"p{number:g}" for number in numbers), "max"]
    lines = ["milliseconds".ljust(24) + "".join(head.rjust(11) for head in heads)]
    for name, found in shown:
        values = [found.mean, *(found.percentiles[number] for number in numbers), found.max]
        cells = "".join(f"{1000 * value:11.2f}" for value in values)
        lines.append(name.ljust(24) + cells)
    return lines


def _rates(m: Measures) -> list[str]:
    rows = [
        ("requests", m.ok, m.per_second(m.ok)),
        ("prompt tokens", m.prompt_tokens, m.per_second(m.prompt_tokens)),
        # Embeddings have none, though some servers count them
        ("output tokens", m.output_tokens or None, m.per_second(m.output_tokens)),
        ("all tokens", m.total_tokens, m.per_second(m.total_tokens)),
    ]
    lines = [f"{'':24}{'count':>11}{'per second':>13}"]
    for name, count, rate in rows:
        if count is not None and rate is not None:
            lines.append(f"{name:24}{count:11d}{rate:13.2f}")
    if m.goodput is not None:
        limits = " ".join(f"{name}:{limit:g}" for name, limit in m.goodput.limits_ms.items())
        lines.append(f"{'goodput':24}{m.goodput.met:11d}{m.goodput.requests_per_s:13.2f}")
        lines.append(f"  {100 * m.goodput.share:.1f}% of the requests were within {limits} (ms)")
    return lines


def _client(m: Measures) -> list[str]:
    lines = [f"in flight: {m.mean_concurrency:.2f} on average, {m.peak_concurrency} at most"]
    if m.loop_lag is not None:
        p50, p99 = (1000 * m.loop_lag.percentiles[number] for number in (50.0, 99.0))
        lines.append(
            f"this client: loop lag {p50:.2f} ms (p50), {p99:.2f} ms (p99), "
            f"{1000 * m.loop_lag.max:.2f} ms (max); {100 * m.busy_share:.0f}% of a core"
        )
    return lines


def _goodput(goodput: Goodput | None) -> dict[str, Any] | None:
    if goodput is None:
        return None
    return {
        "limits_ms": dict(goodput.limits_ms),
        "met": goodput.met,
        "share": round(goodput.share, 4),
        "requests_per_s": round(goodput.requests_per_s, 4),
    }


def _ms(found: Distribution | None) -> dict[str, float] | None:
    return None if found is None else found.as_json(scale=1000.0)


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 4)

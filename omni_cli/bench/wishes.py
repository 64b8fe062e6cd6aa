"""From the flags of `omni bench serve` to what load is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine_bridge.errors import UsageError
from omni_cli.bench.bounds import MAX_PROMPTS
from omni_cli.bench.goodput import parse_limits
from omni_cli.bench.prompts import Endpoint, Prompt, Span, random_prompts, read_dataset
from omni_cli.client.answer import JsonObject

__all__ = ["LoadWishes", "load_wishes", "parse_percentiles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWishes:
    """What load is asked for.

    Attributes:
        prompt: The prompt of a request, by its index; those of the warm-up follow the others.
        count: Requests that are measured.
        concurrency: Requests in flight at most; None for what a rate brings.
        rate: Requests per second, or None for as fast as there is room.
        warmup: Requests sent before, and left out of everything.
        fields: Of every request, beside its model and prompt.
        limits_ms: For goodput; empty for none.
        max_seconds: Of the whole, the warm-up included.
        described: What of this the report repeats.
    """

    endpoint: Endpoint
    model: str | None
    prompt: Callable[[int], Prompt]
    count: int
    concurrency: int | None
    rate: float | None
    warmup: int
    seed: int
    fields: JsonObject
    limits_ms: Mapping[str, float]
    percentiles: tuple[float, ...]
    max_seconds: float
    described: JsonObject


def load_wishes(
    *,
    endpoint: str,
    model: str | None,
    count: int | None,
    default_count: int,
    concurrency: int | None,
    rate: float | None,
    warmup: int,
    seed: int,
    max_seconds: float,
    input_len: str | None,
    output_len: str | None,
    default_length: str,
    dataset: Path | None,
    ignore_eos: bool,
    temperature: float | None,
    chunk_usage: bool,
    goodput: Sequence[str] | None,
    extra: Sequence[str],
    percentiles: str,
) -> LoadWishes:
    """Read what the flags say.

    Args:
        extra: Words that belong to no flag: further limits of goodput.

    Raises:
        UsageError: A value that cannot be one, or flags that contradict each other.
    """
    if extra and not goodput:
        raise UsageError("bench serve", extra[0], "is an argument, and it takes none")
    route = Endpoint(endpoint)
    span = Span.parse("--output-len", output_len or default_length)
    if dataset is None:
        words = Span.parse("--input-len", input_len or default_length)
        prompt = random_prompts(words, span, seed)
        found = default_count
    else:
        if input_len is not None:
            raise UsageError("--input-len", input_len, "is what the dataset decides")
        prompts = _dataset(dataset, route, span, count or MAX_PROMPTS)
        prompt = _in_turn(prompts)
        found = len(prompts)
    count = count or found
    return LoadWishes(
        endpoint=route,
        model=model,
        prompt=prompt,
        count=count,
        concurrency=concurrency,
        rate=rate,
        warmup=warmup,
        seed=seed,
        fields=_fields(route, ignore_eos, temperature, chunk_usage),
        limits_ms=parse_limits([*(goodput or ()), *extra]),
        percentiles=parse_percentiles(percentiles),
        max_seconds=max_seconds,
        described={
            "num_prompts": count,
            "concurrency": concurrency,
            "request_rate": rate,
            "warmup": warmup,
            "seed": seed,
            "dataset": None if dataset is None else str(dataset),
            "input_len": None if dataset else input_len or default_length,
            "output_len": str(span),
            "ignore_eos": ignore_eos,
        },
    )


def parse_percentiles(text: str) -> tuple[float, ...]:
    """Read ``50,90,99.9``, in ascending order and each once.

    Raises:
        UsageError: One is none.
    """
    try:
        numbers = sorted({float(part) for part in text.replace(",", " ").split()})
    except ValueError as error:
        raise UsageError("--percentiles", text, "is no list of numbers") from error
    if not numbers or not all(0 <= number <= 100 for number in numbers):
        raise UsageError("--percentiles", text, "must be numbers from 0 to 100, like 50,99")
    return tuple(numbers)


def _dataset(path: Path, endpoint: Endpoint, span: Span, limit: int) -> list[Prompt]:
    if span.low != span.high:
        raise UsageError("--output-len", span, "cannot be a range with --dataset")
    return read_dataset(path, endpoint, span.high, limit)


def _in_turn(prompts: Sequence[Prompt]) -> Callable[[int], Prompt]:
    return lambda index: prompts[index % len(prompts)]


def _fields(
    endpoint: Endpoint, ignore_eos: bool, temperature: float | None, chunk_usage: bool
) -> JsonObject:
    if not endpoint.streams:
        return {}
    usage: JsonObject = {"include_usage": True}
    if chunk_usage:
        usage["continuous_usage_stats"] = True
    fields: JsonObject = {"stream": True, "stream_options": usage}
    if ignore_eos:
        fields["ignore_eos"] = True
    if temperature is not None:
        fields["temperature"] = temperature
    return fields

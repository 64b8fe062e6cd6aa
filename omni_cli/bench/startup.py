"""What `omni bench startup` does, as one call: start, measure, stop, in turn with another server if
there is one to compare with."""

from __future__ import annotations

import json
import os
import shlex
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from engine_bridge.errors import UsageError
from omni_cli.bench.launch import Start, answers, free_port, measure_start
from omni_cli.terminal import Terminal

__all__ = ["Side", "bench_startup", "omni_side", "other_side"]

DONE, INTERRUPTED = 0, 130

_LOOPBACK = "127.0.0.1"
PORT = "{port}"  # stands for a free port in a command and in its ready address


@dataclass(frozen=True, slots=True)
class Side:
    """A server to start.

    Attributes:
        name: As which the report calls it.
        command: Its words; ``{port}`` in them stands for a port.
        ready_url: Answers 200 once it is ready; may hold ``{port}`` as well.
        api_key: What it asks for there, or None.
    """

    name: str
    command: tuple[str, ...]
    ready_url: str
    api_key: str | None = field(default=None, repr=False)

    def measure(self, timeout_s: float) -> Start:
        """One start on a free port.

        Raises:
            StartError: It did not become ready in time.
        """
        port = str(free_port())
        words = [word.replace(PORT, port) for word in self.command]
        url = self.ready_url.replace(PORT, port)
        return measure_start(
            self.name, words, partial(answers, url, api_key=self.api_key), timeout_s=timeout_s
        )


@dataclass(slots=True)
class _Results:
    """Starts by the side's name, in order."""

    starts: dict[str, list[Start]] = field(default_factory=dict)
    interrupted: bool = False


def omni_side(words: Sequence[str]) -> Side:
    """``omni serve`` with these words; on a free port unless they name one."""
    host, port = _value_of(words, "--host"), _value_of(words, "--port")
    command = [sys.executable, "-m", "omni_cli.main", "serve", *words]
    command += [] if host else ["--host", _LOOPBACK]
    command += [] if port else ["--port", PORT]
    asked = _LOOPBACK if host in (None, "0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    scheme = "https" if _value_of(words, "--ssl-certfile") else "http"
    url = f"{scheme}://{asked}:{port or PORT}/readyz"
    key = _value_of(words, "--api-key") or os.environ.get("OMNI_API_KEY")
    key = key or _first_key(_value_of(words, "--api-key-file"))
    return Side("omni serve", tuple(command), url, key)


def other_side(command: str, ready_url: str | None) -> Side:
    """The server to compare with.

    Args:
        command: As a shell has it; no shell runs it.
        ready_url: None for /health at ``{port}``.

    Raises:
        UsageError: It is no command, or it is not said where it will be ready.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError("--against", command, f"is no command: {error}") from error
    if not words:
        raise UsageError("--against", None, "is empty")
    if ready_url is None:
        if PORT not in command:
            way_out = "write {port} where its port belongs, or give --against-ready URL"
            raise UsageError("--against", command, "does not say where it listens", way_out)
        ready_url = f"http://127.0.0.1:{PORT}/health"
    if not ready_url.startswith(("http://", "https://")):
        raise UsageError("--against-ready", ready_url, "is no http address")
    return Side(words[0] if PORT in words[0] else _short(words), tuple(words), ready_url)


def bench_startup(
    sides: Sequence[Side], *, pairs: int, warmup: int, timeout_s: float, as_object: bool
) -> int:
    """Start each side ``pairs`` times, the order changing each time, and print what was measured.

    Args:
        sides: One, or two to compare; the first is ours.
        warmup: Starts of each side before, which fill the caches and count for nothing.

    Returns:
        The exit code: 0, or 130 after a Ctrl-C, with what was measured until then.

    Raises:
        UsageError: `omni serve` refused its words.
        StartError: One did not become ready.
    """
    terminal = Terminal()
    results = _Results({side.name: [] for side in sides})
    try:
        for _ in range(warmup):
            for side in sides:
                terminal.progress(f"warming up: {side.name}")
                side.measure(timeout_s)
        for index in range(pairs):
            for side in sides if index % 2 == 0 else sides[::-1]:
                terminal.progress(f"start {index + 1} of {pairs}: {side.name}")
                results.starts[side.name].append(side.measure(timeout_s))
    except KeyboardInterrupt:
        results.interrupted = True
    finally:
        terminal.progress("")
    found = _as_json(sides, results)
    terminal.out.write(f"{json.dumps(found)}\n" if as_object else _as_text(found))
    return INTERRUPTED if results.interrupted else DONE


def _as_json(sides: Sequence[Side], results: _Results) -> dict[str, Any]:
    """All starts, their medians, and the medians of the ratios of the whole pairs."""
    shown = []
    for side in sides:
        starts = results.starts[side.name]
        times = [round(start.ready_s, 3) for start in starts]
        sizes = [round(start.pss_bytes / 1e6, 1) for start in starts]
        shown.append(
            {
                "name": side.name,
                "command": _shown(side),
                "ready_s": times,
                "pss_mb": sizes,
                "median_ready_s": statistics.median(times) if times else None,
                "median_pss_mb": statistics.median(sizes) if sizes else None,
            }
        )
    return {
        "interrupted": results.interrupted,
        "sides": shown,
        "ratio": _ratios(*results.starts.values()) if len(sides) == 2 else None,
    }


def _shown(side: Side) -> str:
    """A side's command as a line, without its key."""
    line = shlex.join(side.command)
    return line.replace(side.api_key, "***") if side.api_key else line


def _ratios(ours: list[Start], others: list[Start]) -> dict[str, float] | None:
    """Ours over the other's, pair by pair, since machines are noisy; then the median."""
    pairs = list(zip(ours, others, strict=False))
    if not pairs:
        return None

    def middle(value: Callable[[Start], float]) -> float:
        return round(statistics.median(value(a) / max(value(b), 1e-9) for a, b in pairs), 4)

    return {
        "ready": middle(lambda start: start.ready_s),
        "pss": middle(lambda start: start.pss_bytes),
    }


def _as_text(found: dict[str, Any]) -> str:
    sides = found["sides"]
    width = max(len(side["name"]) for side in sides)
    lines = ["interrupted"] if found["interrupted"] else []
    lines.append(f"{'':{width}}  starts  ready (median, range), s  memory (PSS, median), MB")
    for side in sides:
        times = side["ready_s"]
        if not times:
            lines.append(f"{side['name']:{width}}  {0:6d}")
            continue
        ready = f"{side['median_ready_s']:.2f} ({min(times):.2f} to {max(times):.2f})"
        lines.append(
            f"{side['name']:{width}}  {len(times):6d}  {ready:24}  {side['median_pss_mb']:24.0f}"
        )
    ratio = found["ratio"]
    if ratio is not None:
        lines.append(
            f"{sides[0]['name']} / {sides[1]['name']}, median of the pairs: "
            f"ready {ratio['ready']:.3f}, memory {ratio['pss']:.3f}"
        )
    return "\n".join(lines) + "\n"


def _value_of(words: Sequence[str], flag: str) -> str | None:
    """What the words give for a flag, in either spelling; the last one counts."""
    found = None
    for index, word in enumerate(words):
        if word == flag:
            found = next(iter(words[index + 1 :]), None)
        elif word.startswith(f"{flag}="):
            found = word.removeprefix(f"{flag}=")
    return found


def _first_key(path: str | None) -> str | None:
    """A key of a key file; None if it cannot be read, which the server itself will say."""
    if path is None:
        return None
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError):
        return None
    keys = (line.strip() for line in lines)
    return next((key for key in keys if key and not key.startswith("#")), None)


def _short(words: Sequence[str]) -> str:
    """A name for a command: the module that python runs, or the program."""
    if "-m" in words[1:-1]:
        return words[words.index("-m") + 1]
    return words[0].rpartition("/")[2]

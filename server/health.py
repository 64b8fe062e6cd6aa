"""What the liveness, readiness and start-up probes answer.

Pure; the parent uses it too, before any frontend is up.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import msgspec

from engine_bridge.status import RuntimeStatus
from server.error_shape import error_body

__all__ = ["RETRY_AFTER_S", "Answer", "livez", "readyz", "startupz", "waiting"]

# Seconds after which a client is told to try again. A warm start takes about ten; short, so that
# nobody oversleeps it.
RETRY_AFTER_S = 2

_DEAD = frozenset({"failed", "stopped"})


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer but for the headers that every answer carries. The body is JSON."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def _answer(status: int, content: dict[str, object]) -> Answer:
    headers = () if status < 500 else (("retry-after", str(RETRY_AFTER_S)),)
    return Answer(status, msgspec.json.encode(content), headers)


def livez() -> Answer:
    """The process answers, whatever the state of anything else."""
    return _answer(200, {"status": "alive"})


def readyz(status: RuntimeStatus) -> Answer:
    """200 when every stage and every frontend is ready, else 503 that names those that are not."""
    late = status.waiting_for()
    children = {
        "stages": dict(status.stages),
        "frontends": {str(rank): state for rank, state in enumerate(status.frontends)},
    }
    if not late:
        return _answer(200, {"status": "ready", **children})
    return _answer(503, {"status": "not ready", "waiting_for": late, **children})


def startupz(status: RuntimeStatus) -> Answer:
    """The phases of the start with their seconds; 200 once everything is ready, 503 until then."""
    late = status.waiting_for()
    content: dict[str, object] = {
        "status": "started" if not late else "starting",
        "elapsed_s": round(_elapsed_s(status), 3),
        "phases": [
            {
                "name": phase.name,
                "state": "done" if phase.ended_at is not None else "running",
                "elapsed_s": round(phase.elapsed_s(), 3),
            }
            for phase in status.phases
        ],
    }
    if late:
        content["waiting_for"] = late
    return _answer(503 if late else 200, content)


def waiting(status: RuntimeStatus) -> Answer:
    """503 for every other path while the server starts, in the OpenAI error shape."""
    late = ", ".join(status.waiting_for()) or "the first frontend"
    dead = [name for name, state in status.stages.items() if state in _DEAD]
    state = f"stage {dead[0]} has failed" if dead else f"the server is starting, waiting for {late}"
    body = error_body("openai", 503, f"{state}; see /startupz")
    return Answer(503, body, (("retry-after", str(RETRY_AFTER_S)),))


def _elapsed_s(status: RuntimeStatus) -> float:
    """From the start to the last phase's end, or until now while one is still running."""
    ends = [phase.ended_at for phase in status.phases if phase.ended_at is not None]
    running = not status.phases or len(ends) < len(status.phases) or not status.ready
    return (time.monotonic() if running else max(ends)) - status.started_at

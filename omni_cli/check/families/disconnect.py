"""``disconnect``: the work for a client that has left stops.

Seen from outside only where the server tells how many requests it is working on.
"""

from __future__ import annotations

import re
import time
from functools import partial

from omni_cli.check import rules
from omni_cli.check.apis import CHAT, COMPLETIONS, GENERATE, Api
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check, Fault, Skip
from omni_cli.check.session import Session
from omni_cli.check.wire import Answer, Request, Unreachable

__all__ = ["CHECKS"]

# Gauges of running requests that servers are known to have
GAUGES = ("vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing")
# Until a request shows in the gauge, and until it is gone from it after its client has left. A
# gauge may be some seconds old
SEEN_TIMEOUT_S = 5.0
GONE_TIMEOUT_S = 5.0
POLL_S = 0.05
# Of the answer that nobody waits for: minutes on a CPU. Bounded, because a server that does not
# stop works on it
MOST_TOKENS = 16_000
DEFAULT_TOKENS = 1500
# Left of the context for the prompt
PROMPT_TOKENS = 300
ENDLESS = "Count from one to ten thousand, in words."

_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{[^\n]*\})?[ \t]+(\S+)")


def running(metrics: str) -> float | None:
    """The running requests in a text of Prometheus metrics, over all series; None if there is no
    such gauge."""
    found = [match for line in metrics.splitlines() if (match := _SAMPLE.match(line))]
    for name in GAUGES:
        values = [match[2] for match in found if match[1] == name]
        if values:
            try:
                return sum(float(value) for value in values)
            except ValueError:
                return None
    return None


def _gauge(session: Session) -> float | None:
    answer = session.send(Request("GET", "/metrics"))
    return running(answer.text) if answer.status == 200 and not answer.broken else None


def _becomes(session: Session, wanted: bool, timeout_s: float) -> bool:
    """Whether the gauge shows work (or none) within some time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < min(deadline, session.deadline):
        found = _gauge(session)
        if found is not None and bool(found) is wanted:
            return True
        time.sleep(POLL_S)
    return False


def _leave(api: Api, stream: bool, session: Session) -> str:
    if _gauge(session) is None:
        raise Skip(f"/metrics has no gauge of running requests ({', '.join(GAUGES)})")
    if not _becomes(session, False, GONE_TIMEOUT_S):
        raise Skip("the server works on other requests")
    request = session.request(api, _endless(api, stream, session))
    try:
        connection = session.wire.connect(session.deadline)
    except Unreachable as error:
        raise Fault("a connection", str(error), Answer(request)) from error
    began = time.monotonic()
    with connection:
        session.wire.start(connection, request, session.deadline)
        if not _becomes(session, True, SEEN_TIMEOUT_S):
            raise Skip("the request never showed in the gauge")
    left = time.monotonic()
    if not _becomes(session, False, GONE_TIMEOUT_S):
        expected = f"no running request {GONE_TIMEOUT_S:g} s after the client left"
        raise Fault(expected, "it runs on", Answer(request))
    return f"left after {left - began:.1f} s, gone {time.monotonic() - left:.1f} s later"


def _endless(api: Api, stream: bool, session: Session) -> dict[str, object]:
    context = session.context(api)
    tokens = DEFAULT_TOKENS if context is None else min(context - PROMPT_TOKENS, MOST_TOKENS)
    if tokens < 1:
        raise Skip(f"the context of {context} tokens is too short")
    body = session.body(api, **{api.limit: tokens, api.prompt: api.worded(ENDLESS)})
    if api in (CHAT, COMPLETIONS):
        body["ignore_eos"] = True  # what the servers with such a gauge know
    if stream:
        body["stream"] = True
    return body


CHECKS = tuple(
    Check(
        Family.DISCONNECT,
        f"{api.name}.{'stream' if stream else 'plain'}",
        f"{api.name}: a client that leaves {'a stream' if stream else 'before the answer'}",
        rules.WORKS_ON,
        partial(_leave, api, stream),
    )
    for api in GENERATE
    for stream in (False, True)
)

"""``limits``: what no server can want is refused at once, and not waited for."""

from __future__ import annotations

import time

from omni_cli.check import rules
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check, Fault, Skip
from omni_cli.check.session import Session, came
from omni_cli.check.wire import Answer, Request

__all__ = ["CHECKS"]

# Twice the largest bound of common servers
HUGE_HEADER_BYTES = 2 * 1024 * 1024
# Announced, not sent
HUGE_BODY_BYTES = 2**40
# A refusal needs no work. Less than a check may take, so that a slow one is told from a hang
REFUSAL_TIMEOUT_S = 10.0


def _header(session: Session) -> str:
    size = HUGE_HEADER_BYTES
    head = rf"GET /v1/models HTTP/1.1\r\nhost: x\r\nx-filler: %0{size}d\r\n\r\n"
    request = Request(
        "GET",
        "/v1/models",
        headers={"x-filler": "0" * size},
        head_shell=f"printf '{head}' 0",
    )
    return _require_refusal(_impatient(session, request))


def _body(session: Session) -> str:
    served = session.served()
    if not served:
        raise Skip("no API is served")
    api = served[0]
    request = session.request(api, session.body(api), declared_length=HUGE_BODY_BYTES)
    return _require_refusal(_impatient(session, request))


def _impatient(session: Session, request: Request) -> Answer:
    session.deadline = min(session.deadline, time.monotonic() + REFUSAL_TIMEOUT_S)
    return session.send(request)


def _require_refusal(answer: Answer) -> str:
    """A 4xx, or a connection that is closed without a word, which the RFC allows."""
    if answer.timed_out or (answer.status and not 400 <= answer.status < 500):
        shown = f"status {answer.status}" if answer.status < 300 and answer.status else came(answer)
        raise Fault("a 4xx status at once", shown, answer)
    return f"{answer.status or 'the connection was closed'}"


CHECKS = (
    Check(
        Family.LIMITS,
        "header",
        f"a header of {HUGE_HEADER_BYTES // 2**20} MiB is refused",
        rules.STATUS_431,
        _header,
    ),
    Check(
        Family.LIMITS,
        "body",
        f"a body of {HUGE_BODY_BYTES // 2**40} TiB is refused before it comes",
        rules.STATUS_413,
        _body,
    ),
)

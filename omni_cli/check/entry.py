"""``omni check``: find the server, run the checks, report."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine_bridge.errors import ClientError, UsageError
from omni_cli.check.catalogue import ALL
from omni_cli.check.family import Family
from omni_cli.check.outcome import Check, Fault, Skip
from omni_cli.check.report import Report
from omni_cli.check.runner import MAX_RUN_S, run_checks
from omni_cli.check.session import Session
from omni_cli.check.wire import Answer, Request, Unreachable, Wire
from omni_cli.client.address import Address
from omni_cli.client.trust import Trust
from omni_cli.terminal import Terminal

if TYPE_CHECKING:
    import ssl

__all__ = ["check"]

DONE = 0
FAILED = 1
NOT_REACHABLE = 3
INTERRUPTED = 130
# Between two looks at a server that is starting
POLL_S = 0.5


def check(
    *,
    url: str,
    api_key: str | None,
    model: str | None,
    families: Sequence[Family],
    timeout_s: float,
    as_json: bool,
    ca_file: Path | None = None,
    insecure: bool = False,
) -> int:
    """Check a server and print the report.

    Args:
        families: Those to check; all if empty.
        timeout_s: For each check.

    Returns:
        0 if no check failed, 1 if one did, 3 if there is no server, 130 after a Ctrl-C, with what
        was found until then.

    Raises:
        UsageError: The address, the key or the file of certificates cannot be used.
        ClientError: The server asks for another key, or the model is not served.
    """
    terminal = Terminal()
    address = Address.parse(url)
    trust = Trust(ca_file=ca_file, insecure=insecure)
    trust.check()
    _require_sendable(api_key)
    wire = Wire(address.base, api_key or None, _context(trust) if address.is_secure else None)
    session = Session(wire, model)
    began = time.monotonic()
    fault, first = _await(session, timeout_s, terminal, address.shown)
    if fault:
        terminal.error(f"{address.shown}: {fault}")
        return NOT_REACHABLE
    _require_let_in(first, api_key, address.shown)
    _require_served(session, model, address.shown, timeout_s)
    checks = [each for each in ALL if not families or each.family in families]
    if not terminal.err.moves:  # nothing else will be said until the end
        bounds = f"at most {timeout_s:g} s each and {MAX_RUN_S / 60:g} min in all"
        terminal.note(f"{len(checks)} checks of {address.shown}, {bounds}")
    results = run_checks(
        session,
        checks,
        timeout_s=timeout_s,
        shown_base=address.shown,
        tell=lambda each: _tell(each, terminal),
    )
    terminal.progress("")
    interrupted = len(results) < len(checks)
    report = Report(
        url=address.shown,
        server=first.header("server") if first else "",
        model=session.found_model if interrupted else _model(session),
        results=tuple(results),
        requests=wire.sent,
        elapsed_s=time.monotonic() - began,
        planned=len(checks),
    )
    if as_json:
        terminal.out.write(f"{json.dumps(report.as_json())}\n")
    else:
        terminal.out.show("".join(f"{line}\n" for line in report.lines(terminal.out.styled)))
    if interrupted:
        return INTERRUPTED
    return FAILED if report.verdict == "failed" else DONE


def _require_sendable(key: str | None) -> None:
    if key and not (key.isascii() and key.isprintable() and key.strip() == key):
        raise UsageError(
            "--api-key", None, "a header cannot carry this key", "is it the whole key?"
        )


def _context(trust: Trust) -> ssl.SSLContext:
    import ssl  # noqa: PLC0415 - late: plain HTTP has no use for it

    found = trust.context()
    if isinstance(found, ssl.SSLContext):
        return found
    context = ssl.create_default_context()
    if not found:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _await(
    session: Session, timeout_s: float, terminal: Terminal, shown: str
) -> tuple[str, Answer | None]:
    """Wait for a server that says it is starting; why it cannot be checked, and its answer."""
    end = time.monotonic() + timeout_s
    try:
        while True:
            now = time.monotonic()
            answer = session.wire.send(Request("GET", "/v1/models"), now + timeout_s)
            if answer.status != 503 or not answer.header("retry-after"):
                terminal.progress("")
                return _no_http(answer, timeout_s, session.wire.base), answer
            if now > end:
                return f"is still not ready after {timeout_s:g} s; try again later", answer
            terminal.progress(f"{shown} is not ready yet")
            time.sleep(POLL_S)
    except Unreachable as error:
        return f"cannot be reached: {error}; {error.way_out}", None


def _no_http(answer: Answer, timeout_s: float, base: str) -> str:
    """Why what listens there is no HTTP server; empty if it is one."""
    if answer.status:
        return ""
    if answer.timed_out:
        return f"sent nothing for {timeout_s:g} s; is it an HTTP server, and does it need longer?"
    hint = "is --url right?" if base.startswith("https:") else "is it https://?"
    return f"something listens there, and sends no HTTP answer; {hint}"


def _require_let_in(first: Answer | None, key: str | None, shown: str) -> None:
    """Every check would fail otherwise, and none would say anything about the server."""
    if first is not None and first.status in (401, 403):
        reason = "the server refused the API key" if key else "the server asks for an API key"
        raise ClientError(shown, reason, "give it with --api-key or OMNI_API_KEY")


def _require_served(session: Session, model: str | None, shown: str, timeout_s: float) -> None:
    if model is None:
        return
    session.begin(timeout_s)
    names = session.ids()
    if names and model not in names:
        raise ClientError(
            shown, f"model {model} is not served there", f"served: {', '.join(names)}"
        )


def _model(session: Session) -> str:
    """The model of the first API that answers."""
    try:
        served = session.served()
        return session.model(served[0]) if served else ""
    except (Fault, Skip):
        return ""


def _tell(each: Check, terminal: Terminal) -> None:
    """On a terminal only: elsewhere every check would be a line of its own."""
    if terminal.err.moves:
        terminal.progress(f"{each.family.value}: {each.title}")

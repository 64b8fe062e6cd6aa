"""Runs checks one after the other; whatever a server does, each ends in its time with a result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from omni_cli.check.curl import curl_line
from omni_cli.check.outcome import Check, Fault, Outcome, Result, Skip, excerpt
from omni_cli.check.session import Session

__all__ = ["MAX_RUN_S", "MAX_SILENT", "run_checks"]

# Of a whole run; a check takes at most its own time more
MAX_RUN_S = 900.0
# Checks in a row to which nothing at all was answered, until the server counts as gone
MAX_SILENT = 5

# What reading an answer of another shape than expected raises, in spite of all care
_MISREAD = (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError)


def run_checks(
    session: Session,
    checks: Iterable[Check],
    *,
    timeout_s: float,
    shown_base: str,
    tell: Callable[[Check], None] = lambda check: None,
) -> list[Result]:
    """Run them all, and return one result each, in order; after a Ctrl-C those that there are.

    Args:
        timeout_s: For each check, all its requests together.
        shown_base: The server's address for the curl lines.
        tell: Called before each check.
    """
    results: list[Result] = []
    silent = 0
    end = time.monotonic() + MAX_RUN_S
    for check in checks:
        if silent >= MAX_SILENT:
            reason = f"the server answered nothing to {MAX_SILENT} checks in a row"
            results.append(Result(check, "skip", reason))
            continue
        if time.monotonic() > end:
            results.append(Result(check, "skip", f"the run has taken its {MAX_RUN_S:g} s"))
            continue
        try:
            tell(check)
            result = _run(session, check, timeout_s, shown_base)
        except KeyboardInterrupt:
            break
        results.append(result)
        last = session.last
        if last is not None:  # nothing was asked otherwise
            silent = silent + 1 if result.outcome == "fail" and last.status == 0 else 0
    return results


def _run(session: Session, check: Check, timeout_s: float, shown_base: str) -> Result:
    began = time.monotonic()
    session.begin(timeout_s)

    def ended(outcome: Outcome, **facts: str) -> Result:
        return Result(check, outcome, **facts, elapsed_s=time.monotonic() - began)

    try:
        return ended("pass", reason=excerpt(check.run(session)))
    except Skip as skip:
        return ended("skip", reason=excerpt(str(skip)))
    except Fault as caught:
        fault = caught
    except _MISREAD as error:
        misread = f"{type(error).__name__}: {error}"
        fault = Fault("an answer of the documented shape", misread, session.last)
    curl = ""
    if fault.answer is not None:
        curl = curl_line(shown_base, fault.answer.request, has_key=bool(session.wire.key))
    return ended("fail", expected=excerpt(fault.expected), came=excerpt(fault.came), curl=curl)

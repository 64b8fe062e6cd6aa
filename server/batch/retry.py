"""When a line is tried again, and after how long.

Tried again: an answer that says the server was busy, starting or broken (408, 425, 429 and every
5xx but 501 and 505), and a connection that could not be made or that broke. A server that names a
time in Retry-After gets it, within a bound. Not tried again: a wait that ran out, since the next
would as well, and every other answer.
"""

from __future__ import annotations

import email.utils
import random
import time

from server.batch.results import Answer

__all__ = ["may_retry", "retry_delay_s"]

RETRIED_CLIENT_ERRORS = frozenset({408, 425, 429})
FINAL_SERVER_ERRORS = frozenset({501, 505})
FIRST_DELAY_S = 0.5
MAX_DELAY_S = 30.0
# A server that asks for more is asked again all the same.
MAX_RETRY_AFTER_S = 300.0


def may_retry(answer: Answer) -> bool:
    """Whether the same request may get another answer later."""
    status = answer.status
    return status in RETRIED_CLIENT_ERRORS or (500 <= status and status not in FINAL_SERVER_ERRORS)


def retry_delay_s(attempt: int, retry_after: str = "") -> float:
    """Seconds to wait before the next attempt.

    Args:
        attempt: Attempts that have failed, from 1.
        retry_after: The answer's header, seconds or a date; empty if there was none.
    """
    asked = _seconds(retry_after)
    if asked is not None:
        return min(asked, MAX_RETRY_AFTER_S)
    doubled: float = FIRST_DELAY_S * 2 ** (min(attempt, 16) - 1)
    # Lines that failed together come back apart.
    return min(doubled, MAX_DELAY_S) * random.uniform(0.5, 1.0)


def _seconds(retry_after: str) -> float | None:
    if not retry_after:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None

"""What may stand in ``x-request-id``."""

from __future__ import annotations

__all__ = ["MAX_REQUEST_ID_CHARS", "valid_request_id"]

# An id ends up in logs, in error messages and in every engine message: long enough for any tracing
# system's.
MAX_REQUEST_ID_CHARS = 128

_VISIBLE = frozenset(range(0x21, 0x7F))


def valid_request_id(value: bytes, max_chars: int) -> bool:
    """Whether a client's id is taken as it is: 1 to ``max_chars`` visible ASCII characters."""
    return 0 < len(value) <= max_chars and _VISIBLE.issuperset(value)

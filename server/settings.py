"""What the composition root tells a frontend; nothing in this package reads the environment."""

from __future__ import annotations

from dataclasses import dataclass

from server.request_id import MAX_REQUEST_ID_CHARS

__all__ = ["FrontendSettings"]

# A chat history of a million tokens is a few megabytes; pictures and sound travel inside the body
# as base64.
MAX_BODY_BYTES = 64 * 1024 * 1024
# Between two pieces of one request body. A client that is slower holds a connection for nothing.
BODY_IDLE_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontendSettings:
    """Settings of one frontend.

    Attributes:
        rank: This frontend's client rank, 0 to ``api_server_count - 1``; sent in ``x-omni-rank``.
        api_server_count: Number of frontends in the run.
        version: omni's own version.
        max_body_bytes: Larger request bodies get 413, before they are parsed.
        body_idle_timeout_s: A body that makes no progress for so long gets 408.
        max_request_id_chars: A longer ``x-request-id`` is replaced by a new one.
    """

    rank: int
    api_server_count: int
    version: str
    max_body_bytes: int = MAX_BODY_BYTES
    body_idle_timeout_s: float = BODY_IDLE_TIMEOUT_S
    max_request_id_chars: int = MAX_REQUEST_ID_CHARS

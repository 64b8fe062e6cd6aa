"""What the composition root tells a frontend; nothing in this package reads the environment."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from server.request_id import MAX_REQUEST_ID_CHARS

__all__ = [
    "MAX_BODY_BYTES",
    "MAX_HEADER_COUNT",
    "MAX_HEAD_BYTES",
    "Cors",
    "FrontendSettings",
    "HttpPlan",
    "Tls",
]

# A chat history of a million tokens is a few megabytes; pictures and sound travel inside the body
# as base64.
MAX_BODY_BYTES = 64 * 1024 * 1024
# Between two pieces of one request body. A client that is slower holds a connection for nothing.
BODY_IDLE_TIMEOUT_S = 30.0
# Line and headers of one request.
MAX_HEAD_BYTES = 64 * 1024
MAX_HEADER_COUNT = 128


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """What the listening socket speaks TLS with; the files are read again when they change.

    Attributes:
        certfile: PEM file of the certificate chain.
        keyfile: PEM file of its private key.
        ca_certs: PEM file of the authorities that sign clients' certificates, or None.
        cert_reqs: ``ssl.CERT_NONE``, ``CERT_OPTIONAL`` or ``CERT_REQUIRED``, as a number.
        ciphers: OpenSSL's cipher list, or None for its default.
    """

    certfile: str
    keyfile: str
    ca_certs: str | None = None
    cert_reqs: int = 0
    ciphers: str | None = None


class Cors(msgspec.Struct, frozen=True, kw_only=True):
    """Which web pages of other origins may call (Fetch standard, CORS protocol).

    Attributes:
        origins: Allowed origins; ``*`` allows all.
        methods: Allowed methods; ``*`` allows all.
        headers: Allowed request headers; ``*`` allows all.
        credentials: Whether cookies and the like may be sent.
    """

    origins: tuple[str, ...]
    methods: tuple[str, ...] = ("*",)
    headers: tuple[str, ...] = ("*",)
    credentials: bool = False


class HttpPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How every frontend of a run, and the parent before them, speaks HTTP.

    Attributes:
        key_hashes: SHA-256 of each API key, hexadecimal; empty if no key is asked for.
        allowed_hosts: Names that a Host header may carry, without port; ``*.example.org`` matches
            every name below; empty if any may.
        tls: None for plain HTTP.
        cors: None if pages of other origins may not call.
        root_path: Prefix under which a proxy publishes the server, or empty.
        docs: Whether ``/docs`` and ``/openapi.json`` are served.
        max_body_bytes: Larger request bodies get 413, before they are parsed.
        max_head_bytes: A longer request line with its headers gets 431.
        max_header_count: More headers get 431.
        max_request_id_chars: A longer ``x-request-id`` is replaced by a new one.
    """

    key_hashes: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    tls: Tls | None = None
    cors: Cors | None = None
    root_path: str = ""
    docs: bool = True
    max_body_bytes: int = MAX_BODY_BYTES
    max_head_bytes: int = MAX_HEAD_BYTES
    max_header_count: int = MAX_HEADER_COUNT
    max_request_id_chars: int = MAX_REQUEST_ID_CHARS


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontendSettings:
    """Settings of one frontend.

    Attributes:
        rank: This frontend's client rank, 0 to ``api_server_count - 1``; sent in ``x-omni-rank``.
        api_server_count: Number of frontends in the run.
        version: omni's own version.
        http: The same for all frontends.
        body_idle_timeout_s: A body that makes no progress for so long gets 408.
    """

    rank: int
    api_server_count: int
    version: str
    http: HttpPlan = field(default_factory=HttpPlan)
    body_idle_timeout_s: float = BODY_IDLE_TIMEOUT_S

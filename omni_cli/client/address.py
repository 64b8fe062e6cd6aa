"""A server's address, as the user may spell it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from engine_bridge.errors import UsageError

__all__ = ["Address"]

_WAY_OUT = "give it like http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is: scheme, host, port and perhaps a prefix, without ``/v1`` and without a
    final slash.

    Attributes:
        base: The address that requests go to; may carry a user and password.
        shown: The same for people's eyes, without them.
    """

    base: str
    shown: str
    is_secure: bool
    is_loopback: bool

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read an address; ``http://`` and ``/v1`` may be left out or given.

        Raises:
            UsageError: It is none.
        """
        text = text.strip()
        parts = _split(text, text if "://" in text else f"http://{text}")
        path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
        host = parts.netloc.rpartition("@")[2]
        return cls(
            base=f"{parts.scheme}://{parts.netloc}{path}",
            shown=f"{parts.scheme}://{host}{path}",
            is_secure=parts.scheme == "https",
            is_loopback=parts.hostname == "localhost"
            or parts.hostname == "::1"
            or str(parts.hostname).startswith("127."),
        )

    def api(self, path: str) -> str:
        """The address of a route of the OpenAI API."""
        return f"{self.base}/v1{path}"

    def root(self, path: str) -> str:
        """The address of one of the server's own routes."""
        return f"{self.base}{path}"


def _split(given: str, text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise UsageError("--url", given, f"is no address: {error}", _WAY_OUT) from error
    if parts.scheme not in ("http", "https"):
        raise UsageError("--url", given, f"cannot speak {parts.scheme}", _WAY_OUT)
    printable = text.isprintable() and not any(char.isspace() for char in text)
    if not parts.hostname or not printable or port == 0:
        raise UsageError("--url", given, "names no server", _WAY_OUT)
    if parts.query or parts.fragment:
        raise UsageError("--url", given, "must not carry a query or a fragment", _WAY_OUT)
    return parts

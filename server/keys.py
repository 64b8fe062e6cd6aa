"""API keys. Standard library only: the parent asks for them too, before any frontend is up."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import sha256

__all__ = ["KEY_HEADERS", "KeyRing", "RawHeaders"]

# Names in lower case, as ASGI and h11 give them.
RawHeaders = Iterable[tuple[bytes, bytes]]

# Where a request may carry its key. Whatever reads a request after the check does not see them.
KEY_HEADERS = (b"authorization", b"x-api-key")

MISSING = (
    "This server asks for an API key: send it as `Authorization: Bearer KEY` or `x-api-key: KEY`."
)
REPEATED = "The request has several Authorization or x-api-key headers; send one of each at most."
WRONG = "The API key is not one of this server's."


class KeyRing:
    """The keys of one server; asks for none if there is none.

    Args:
        hashes: SHA-256 of each key, hexadecimal.
    """

    def __init__(self, hashes: Iterable[str]) -> None:
        self._digests = [bytes.fromhex(each) for each in hashes]

    def problem(self, headers: RawHeaders) -> str | None:
        """Why a request is not let in, without a word of what it sent; None if it is.

        The time that the comparison takes depends on the number and length of what was sent, not
        on how much of a key was right.
        """
        if not self._digests:
            return None
        bearer, plain = ([v for n, v in headers if n == name] for name in KEY_HEADERS)
        if len(bearer) > 1 or len(plain) > 1:
            return REPEATED
        keys = [key for key in (*map(_token, bearer), *plain) if key]
        if not keys:
            return MISSING
        known = False
        for key in keys:
            digest = sha256(key).digest()
            for kept in self._digests:
                known |= hmac.compare_digest(digest, kept)
        return None if known else WRONG


def _token(authorization: bytes) -> bytes:
    """The key of ``Bearer KEY`` (RFC 6750), or nothing for another scheme."""
    scheme, _, token = authorization.partition(b" ")
    return token.strip(b" \t") if scheme.lower() == b"bearer" else b""

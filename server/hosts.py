"""Which names a request may address the server by.

A page of another site can point a name of its own at this machine (DNS rebinding) and then read
what a server on it answers: to the browser both are one origin. Only the Host header tells them
apart. Light: the parent checks it too, before any frontend is up.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from engine_bridge.errors import UsageError
from server.keys import RawHeaders

__all__ = ["ANY_HOST", "HostList", "canonical_host"]

# The pattern that allows every name.
ANY_HOST = "*"
# DNS's own bound on a name (RFC 1035), which no address exceeds.
MAX_HOST_CHARS = 253

# A name or an IPv4 address, or an IPv6 address in brackets; then perhaps a port. Underscores stand
# in names of containers.
_HOST = re.compile(rb"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?")
_PATTERN = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*")

MISSING = "The request has no Host header."
REPEATED = "The request has several Host headers."
MALFORMED = "The Host header is neither a name nor an address."


class HostList:
    """The names of one server; any name will do if the list is empty.

    Args:
        patterns: Names and addresses without port; ``*.example.org`` matches every name below
            ``example.org`` but not itself.

    Raises:
        UsageError: If a pattern is none of these.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        canonical = {canonical_host(pattern) for pattern in patterns}
        self._any = not canonical or ANY_HOST in canonical
        self._names = frozenset(canonical)
        self._suffixes = tuple(name[1:] for name in canonical if name.startswith("*."))

    def problem(self, headers: RawHeaders) -> str | None:
        """Why a request is refused, or None."""
        if self._any:
            return None
        given = [value for name, value in headers if name == b"host"]
        if len(given) != 1:
            return REPEATED if given else MISSING
        host = _name_of(given[0])
        if host is None:
            return MALFORMED if given[0] else MISSING
        if host in self._names or host.endswith(self._suffixes):
            return None
        return f"This server does not go by the name {host}; --allowed-hosts {host} would allow it."


def canonical_host(pattern: str) -> str:
    """One spelling for each allowed name: lower case, no dot at the end, addresses compressed.

    Args:
        pattern: A name, an address with or without brackets, ``*.name`` or ``*``; no port.

    Raises:
        UsageError: If it is none of these.
    """
    lower = pattern.lower().removesuffix(".")
    if lower == ANY_HOST:
        return lower
    name = _compressed(lower.strip("[]")) if ":" in lower else _name(lower)
    if name is None:
        reason, way_out = "is neither a name nor an address", "leave scheme, port and path out"
        raise UsageError("--allowed-hosts", pattern, reason, way_out)
    return name


def _name_of(host: bytes) -> str | None:
    """A Host header's name without the port, in the one spelling, or None if it is malformed."""
    found = _HOST.fullmatch(host)
    if found is None or len(host) > MAX_HOST_CHARS + len(":65535"):
        return None
    name = found["name"].decode("ascii").lower()
    return _compressed(name.strip("[]")) if name.startswith("[") else _name(name.removesuffix("."))


def _name(text: str) -> str | None:
    return text if len(text) <= MAX_HOST_CHARS and _PATTERN.fullmatch(text) else None


def _compressed(address: str) -> str | None:
    try:
        return f"[{ipaddress.IPv6Address(address).compressed}]"
    except ValueError:
        return None

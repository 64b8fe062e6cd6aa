"""What a request must have before anything else looks at it: a name that is the server's, and a
key.

Both are asked for of every path, known or not, and of every method; only ``GET`` and ``HEAD`` of
``/livez``, spelt exactly so, need no key, so that a probe can tell whether the process lives. The
path is compared as the client sent it: nothing is decoded, joined or cut but the prefix under which
a proxy publishes the server. Light: the parent asks too, before any frontend is up.
"""

from __future__ import annotations

from server.error_shape import Family, error_body, family_of
from server.health import Answer
from server.hosts import HostList
from server.keys import KeyRing, RawHeaders
from server.settings import HttpPlan

__all__ = ["Gate", "split_target"]

_OPEN_PATH = b"/livez"
_OPEN_METHODS = frozenset({"GET", "HEAD"})


class Gate:
    """The same answers from the parent and from every frontend."""

    def __init__(self, http: HttpPlan) -> None:
        self._hosts = HostList(http.allowed_hosts)
        self._keys = KeyRing(http.key_hashes)
        prefix = http.root_path.strip("/").encode()
        self._prefix = b"/" + prefix if prefix else b""

    def inner_path(self, raw_path: bytes) -> bytes:
        """A path without the proxy's prefix, where it has it. The prefix is taken off once."""
        rest = raw_path.removeprefix(self._prefix)
        return rest if rest.startswith(b"/") else raw_path

    def family(self, target: bytes) -> Family:
        """In whose shape a request with this target is refused."""
        path = self.inner_path(split_target(target)[0])
        return family_of(path.decode("ascii", "replace"))

    def wrong_host(self, path: bytes, headers: RawHeaders) -> Answer | None:
        """400 for a request that addresses another host, or None.

        Args:
            path: As ``inner_path`` gives it, without the query.
            headers: Names in lower case.
        """
        problem = self._hosts.problem(headers)
        return None if problem is None else _answer(400, path, problem)

    def refusal(self, method: str, path: bytes, headers: RawHeaders) -> Answer | None:
        """The answer to a request that is not let in: 400 or 401. None if it is let in.

        Args:
            method: In upper case; empty for a WebSocket handshake.
            path: As ``inner_path`` gives it, without the query.
            headers: Names in lower case.
        """
        wrong = self.wrong_host(path, headers)
        if wrong is not None or (path == _OPEN_PATH and method in _OPEN_METHODS):
            return wrong
        problem = self._keys.problem(headers)
        if problem is None:
            return None
        return _answer(401, path, problem, ("www-authenticate", "Bearer"))


def split_target(target: bytes) -> tuple[bytes, bytes | None]:
    """A request's target as path and authority; the latter is None unless the client sent one.

    ``GET http://host/path`` overrules the Host header (RFC 9112, 3.2.2).
    """
    path = target.split(b"?", 1)[0].split(b"#", 1)[0]
    if path.startswith(b"/") or b"://" not in path:
        return path, None
    authority, slash, rest = path.split(b"://", 1)[1].partition(b"/")
    return slash + rest, authority


def _answer(status: int, path: bytes, message: str, *headers: tuple[str, str]) -> Answer:
    family = family_of(path.decode("ascii", "replace"))
    return Answer(status, error_body(family, status, message), headers)

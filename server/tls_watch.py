"""Certificates that change while the server runs.

Every ``RELOAD_INTERVAL_S`` a frontend reads the files, a few kilobytes, and compares. That needs no
library and no thread, and sees every way in which certificates are renewed: written in place,
renamed over, or a link swapped above them as Kubernetes does, of which a watch on the file itself
would hear nothing; also a second write within one tick of the file system's clock, which ``stat``
would miss. What has changed is first tried in a context of its own; connections that are open keep
theirs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Callable
from hashlib import sha256

from engine_bridge.errors import UsageError
from server.settings import Tls
from server.tls import MAX_PEM_BYTES, build_context

__all__ = ["RELOAD_INTERVAL_S", "TlsWatch"]

logger = logging.getLogger(__name__)

# A changed certificate is served to new connections after at most this time, plus the time that a
# pair takes to be whole.
RELOAD_INTERVAL_S = 1.0

_Stamp = tuple[bytes | None, ...]


class TlsWatch:
    """The context for new connections, and a look at its files from time to time.

    Args:
        tls: The files.

    Attributes:
        context: Replaced, never changed, when the files have.

    Raises:
        UsageError: As ``build_context``.
    """

    def __init__(self, tls: Tls) -> None:
        self._tls = tls
        self._files = [file for file in (tls.certfile, tls.keyfile, tls.ca_certs) if file]
        # Taken before the files are read: what changes in between is seen at the next look.
        self._seen = self._stamp()
        self._failed: _Stamp | None = None
        self.context = build_context(tls)

    async def run(self, changed: Callable[[ssl.SSLContext], None]) -> None:
        """Look for ever; ``changed`` is told every new context."""
        while True:
            await asyncio.sleep(RELOAD_INTERVAL_S)
            if self.look():
                changed(self.context)

    def look(self) -> bool:
        """Whether there is a new context.

        A pair that does not fit is most likely being written. It is tried at every look, and told
        once, at the second look that finds the same files.
        """
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        try:
            self.context = build_context(self._tls)
        except UsageError as error:
            if stamp == self._failed:
                logger.warning("the certificate in use is kept: %s", error)
                self._seen = stamp
            self._failed = stamp
            return False
        self._seen = stamp
        logger.info("serving the changed certificate of %s", self._tls.certfile)
        return True

    def _stamp(self) -> _Stamp:
        return tuple(_stamp_of(file) for file in self._files)


def _stamp_of(file: str) -> bytes | None:
    """A digest of the content; None if it cannot be read."""
    try:
        # Without waiting, should it be a named pipe now.
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as opened:
            return sha256(opened.read(MAX_PEM_BYTES) or b"").digest()
    except OSError:
        return None

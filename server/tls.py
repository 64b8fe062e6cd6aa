"""TLS on the listening socket, and certificates that change while the server runs.

Every ``RELOAD_INTERVAL_S`` a frontend looks at the files with ``stat``, through symbolic links.
That needs no library and no thread, and sees every way in which certificates are renewed: written
in place, renamed over, or a link swapped above them as Kubernetes does, of which a watch on the
file itself would hear nothing. What has changed is first tried in a context of its own; connections
that are open keep theirs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import stat
from collections.abc import Callable

import msgspec

from engine_bridge.errors import UsageError
from server.settings import Tls

__all__ = ["RELOAD_INTERVAL_S", "TlsWatch", "build_context", "check_tls"]

logger = logging.getLogger(__name__)

# A changed certificate is served to new connections after at most this time, plus the time that a
# pair takes to be whole.
RELOAD_INTERVAL_S = 1.0
# A bundle of every public authority is a quarter of this.
MAX_PEM_BYTES = 1024 * 1024
# Round trips of a handshake between two contexts in memory; TLS 1.2 takes two.
MAX_ROUND_TRIPS = 8

CERTFILE, KEYFILE = "--ssl-certfile", "--ssl-keyfile"
CA_CERTS, CIPHERS = "--ssl-ca-certs", "--ssl-ciphers"

_Stamp = tuple[tuple[int, ...] | None, ...]


class _Encrypted(Exception):
    """OpenSSL wants a pass phrase; it would otherwise ask the terminal for it."""


def build_context(tls: Tls) -> ssl.SSLContext:
    """A context for the server's side: TLS 1.2 at least, HTTP/1.1.

    Raises:
        UsageError: If a file cannot be read or is not PEM, the key is encrypted or belongs to
            another certificate, or no cipher is left. It names the file.
    """
    _check_pem(tls.certfile, CERTFILE, b"CERTIFICATE-----", "certificate")
    _check_pem(tls.keyfile, KEYFILE, b"PRIVATE KEY-----", "private key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A renegotiation costs the server far more than the client.
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(tls.certfile, tls.keyfile, password=_no_pass_phrase)
    except _Encrypted:
        way_out = "decrypt it: openssl pkey -in KEY -out PLAIN_KEY"
        reason = "is encrypted, and nobody is asked for a pass phrase"
        raise UsageError(KEYFILE, tls.keyfile, reason, way_out) from None
    except ssl.SSLError as error:
        raise _pair_error(tls, error) from error
    if tls.ca_certs is not None:
        _check_pem(tls.ca_certs, CA_CERTS, b"CERTIFICATE-----", "certificate")
        try:
            context.load_verify_locations(tls.ca_certs)
        except ssl.SSLError as error:
            raise UsageError(CA_CERTS, tls.ca_certs, _reason(error)) from error
    context.verify_mode = ssl.VerifyMode(tls.cert_reqs)
    if tls.ciphers is not None:
        try:
            context.set_ciphers(tls.ciphers)
        except ssl.SSLError as error:
            reason = "selects no cipher that OpenSSL has"
            raise UsageError(
                CIPHERS, tls.ciphers, reason, "`openssl ciphers` lists them"
            ) from error
    return context


def check_tls(tls: Tls) -> str | None:
    """Find out before the start whether a client could connect.

    Returns:
        What clients will complain about (a certificate that has expired or is not valid yet), as
        one sentence without full stop; None if there is nothing.

    Raises:
        UsageError: As ``build_context``.
    """
    # Whether clients' certificates are asked for does not matter here, and we have none.
    server = build_context(msgspec.structs.replace(tls, ca_certs=None, cert_reqs=ssl.CERT_NONE))
    if tls.ca_certs is not None:
        build_context(tls)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    # The certificate is its own authority: what is left to find fault with is the certificate.
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.load_verify_locations(tls.certfile)
    try:
        _shake_hands(server, client)
    except ssl.SSLCertVerificationError as error:
        return f"{CERTFILE} {tls.certfile}: {error.verify_message}"
    except ssl.SSLError as error:
        return f"{CERTFILE} {tls.certfile}: a handshake fails ({_reason(error)})"
    return None


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


def _stamp_of(file: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _check_pem(file: str, flag: str, mark: bytes, what: str) -> None:
    """Say what OpenSSL does not: which of the files it could not read, and why."""
    try:
        # A named pipe would block, and could not be read a second time.
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise UsageError(flag, file, "is not a regular file")
        with open(file, "rb") as opened:
            text = opened.read(MAX_PEM_BYTES + 1)
    except OSError as error:
        raise UsageError(flag, file, f"cannot be read ({error.strerror})") from error
    if len(text) > MAX_PEM_BYTES:
        raise UsageError(flag, file, f"is larger than {MAX_PEM_BYTES} bytes")
    if mark not in text:
        raise UsageError(flag, file, f"holds no {what} in PEM form")


def _no_pass_phrase() -> str:
    raise _Encrypted


def _pair_error(tls: Tls, error: ssl.SSLError) -> UsageError:
    if error.reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
        reason = f"does not belong to the certificate in {tls.certfile}"
        return UsageError(KEYFILE, tls.keyfile, reason, "name the key that it was made with")
    both = f"{tls.certfile} with {KEYFILE} {tls.keyfile}"
    return UsageError(CERTFILE, both, f"cannot be used ({_reason(error)})")


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).lower().replace("_", " ")


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """A handshake in memory.

    Raises:
        ssl.SSLError: If a side refuses.
    """
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(down, up, server_side=False),
        server.wrap_bio(up, down, server_side=True),
    ]
    for _ in range(MAX_ROUND_TRIPS):
        for side in list(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            sides.remove(side)
        if not sides:
            return

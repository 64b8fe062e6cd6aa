"""TLS on the listening socket: the context, and what is wrong with the files before the start.

Light: the command checks with it before anything is imported that takes time.
"""

from __future__ import annotations

import os
import ssl
import stat

from engine_bridge.errors import UsageError
from server.settings import Tls

__all__ = ["MAX_PEM_BYTES", "build_context", "check_tls", "is_trusted"]

# A bundle of every public authority is a quarter of this.
MAX_PEM_BYTES = 1024 * 1024
# Round trips of a handshake between two contexts in memory; TLS 1.2 takes two.
MAX_ROUND_TRIPS = 8

CERTFILE, KEYFILE = "--ssl-certfile", "--ssl-keyfile"
CA_CERTS, CERT_REQS, CIPHERS = "--ssl-ca-certs", "--ssl-cert-reqs", "--ssl-ciphers"


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
    except OSError as error:  # ssl.SSLError is one
        raise _pair_error(tls, error) from error
    _ask_clients(context, tls)
    if tls.ciphers is not None:
        try:
            context.set_ciphers(tls.ciphers)
        except ssl.SSLError as error:
            reason, way_out = "selects no cipher that OpenSSL has", "`openssl ciphers` lists them"
            raise UsageError(CIPHERS, tls.ciphers, reason, way_out) from error
    return context


def check_tls(tls: Tls) -> str | None:
    """Find out before the start whether a client could connect.

    Returns:
        What clients will complain about (a certificate that has expired or is not valid yet), as
        one sentence without full stop; None if there is nothing.

    Raises:
        UsageError: As ``build_context``.
    """
    server = build_context(tls)
    server.verify_mode = ssl.CERT_NONE  # the client below has no certificate
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


def is_trusted(tls: Tls) -> bool:
    """Whether a client of this machine believes the certificate without being told to; its names
    are not looked at.

    Raises:
        UsageError: As ``build_context``.
    """
    server = build_context(tls)
    server.verify_mode = ssl.CERT_NONE
    client = ssl.create_default_context()
    client.check_hostname = False
    try:
        _shake_hands(server, client)
    except ssl.SSLError:
        return False
    return True


def _ask_clients(context: ssl.SSLContext, tls: Tls) -> None:
    """Ask clients for certificates, if it is wanted."""
    mode = ssl.VerifyMode(tls.cert_reqs)
    if tls.ca_certs is not None:
        _check_pem(tls.ca_certs, CA_CERTS, b"CERTIFICATE-----", "certificate")
        try:
            context.load_verify_locations(tls.ca_certs)
        except OSError as error:
            reason = f"cannot be used ({_reason(error)})"
            raise UsageError(CA_CERTS, tls.ca_certs, reason) from error
    elif mode != ssl.CERT_NONE:
        reason = "asks clients for certificates that nobody has signed"
        raise UsageError(CERT_REQS, tls.cert_reqs, reason, f"name their authority with {CA_CERTS}")
    context.verify_mode = mode


def _check_pem(file: str, flag: str, mark: bytes, what: str) -> None:
    """Say what OpenSSL does not: which of the files it could not read, and why."""
    try:
        # A named pipe would block, and could not be read a second time.
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise UsageError(flag, file, "is not a regular file")
        with open(file, "rb") as opened:
            text = opened.read(MAX_PEM_BYTES + 1)
    except OSError as error:
        raise UsageError(flag, file, f"cannot be read: {error.strerror}") from error
    if len(text) > MAX_PEM_BYTES:
        raise UsageError(flag, file, f"is larger than {MAX_PEM_BYTES} bytes")
    if mark not in text:
        raise UsageError(flag, file, f"holds no {what} in PEM form")


def _no_pass_phrase() -> str:
    raise _Encrypted


def _pair_error(tls: Tls, error: OSError) -> UsageError:
    if isinstance(error, ssl.SSLError) and error.reason in (
        "KEY_VALUES_MISMATCH",
        "KEY_TYPE_MISMATCH",
    ):
        reason = f"does not belong to the certificate in {tls.certfile}"
        return UsageError(KEYFILE, tls.keyfile, reason, "name the key that it was made with")
    both = f"{tls.certfile} with {KEYFILE} {tls.keyfile}"
    return UsageError(CERTFILE, both, f"cannot be used ({_reason(error)})")


def _reason(error: OSError) -> str:
    told = (error.reason if isinstance(error, ssl.SSLError) else error.strerror) or str(error)
    return told.lower().replace("_", " ")


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

"""Certificates for tests, made in a moment: elliptic curves, so that no test waits for primes."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from server.settings import Tls

__all__ = ["Pair", "make_pair", "serial_of"]


@dataclass(frozen=True)
class Pair:
    """A certificate for localhost and 127.0.0.1, signed by itself, and its key; both PEM."""

    certificate: bytes
    key: bytes
    serial: int

    def write(self, folder: Path, name: str = "server") -> Tls:
        """Write both files; what was there is written over in place."""
        certfile, keyfile = folder / f"{name}.crt", folder / f"{name}.key"
        certfile.write_bytes(self.certificate)
        keyfile.write_bytes(self.key)
        return Tls(certfile=str(certfile), keyfile=str(keyfile))


def make_pair(*, pass_phrase: str | None = None, ends_in_days: int = 30) -> Pair:
    """A new pair; its serial number is random.

    Args:
        pass_phrase: Encrypts the key.
        ends_in_days: Negative for one that has expired.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=60))
        .not_valid_after(now + timedelta(days=ends_in_days))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    cipher = BestAvailableEncryption(pass_phrase.encode()) if pass_phrase else NoEncryption()
    return Pair(
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, cipher),
        certificate.serial_number,
    )


def serial_of(der: bytes | None) -> int:
    """The serial number of a certificate as ``getpeercert(binary_form=True)`` gives it."""
    assert der is not None
    return x509.load_der_x509_certificate(der).serial_number

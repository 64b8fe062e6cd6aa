"""From the settings to what every frontend, and the parent before them, is told about HTTP."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from engine_bridge.errors import UsageError
from omni_cli.serve.keys import KEY_FILE, read_by_others, read_key_file
from omni_cli.serve.problems import Problem
from server.hosts import ANY_HOST, canonical_host
from server.settings import Cors, HttpPlan, Tls

if TYPE_CHECKING:
    from omni_cli.serve.settings import SecuritySettings, ServeSettings

__all__ = ["LOOPBACK_HOSTS", "default_hosts", "exposures", "http_plan", "is_loopback"]

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")


def http_plan(settings: ServeSettings, bound: str) -> tuple[HttpPlan, list[Problem]]:
    """Build the plan, and read the files of keys.

    Args:
        settings: Checked settings.
        bound: The address that the socket is bound to.

    Returns:
        The plan, and what is wrong with keys and names; a plan with problems must not be used.
    """
    security, http = settings.security, settings.http
    keys = security.api_key
    problems: list[Problem] = []
    for path in security.api_key_file:
        subject, origin = settings.subject(KEY_FILE), settings.origin(KEY_FILE)
        more, faults = read_key_file(path, subject, origin)
        keys = tuple(dict.fromkeys(keys + more))
        problems += faults
    plan = HttpPlan(
        key_hashes=keys,
        allowed_hosts=_allowed_hosts(settings, bound, problems),
        tls=_tls(security),
        cors=_cors(security),
        root_path=http.root_path or "",
        docs=not http.disable_fastapi_docs,
        max_body_bytes=http.max_body_bytes,
        max_head_bytes=http.h11_max_incomplete_event_size,
        max_header_count=http.h11_max_header_count,
    )
    return plan, problems


def exposures(settings: ServeSettings, http: HttpPlan, bound: str) -> Iterator[str]:
    """Sentences about what others could do with this server; they keep nothing from starting.

    Args:
        settings: Checked settings.
        http: Made of them.
        bound: The address that the socket is bound to.
    """
    locked = http.key_hashes or (http.tls and http.tls.cert_reqs == ssl.CERT_REQUIRED)
    if not locked and not is_loopback(bound):
        yield (
            f"{settings.subject('host')} {settings.http.host}: other machines may call the server, "
            "and no key is asked for; give one with --api-key-file"
        )
    for path in settings.security.api_key_file:
        if read_by_others(path):
            yield (
                f"{settings.subject(KEY_FILE)} {path}: can be read by every user of this machine; "
                f"chmod 600 {path}"
            )


def default_hosts(host: str, bound: str) -> tuple[str, ...]:
    """The names that a Host header may carry unless the user lists them; empty if any may.

    A server that listens on this machine alone is spoken to by the names of this machine: any other
    name is a page that had its own name point here (DNS rebinding).

    Args:
        host: The host to listen on, as written.
        bound: The address it stands for.
    """
    if not is_loopback(bound):
        return ()
    return tuple(dict.fromkeys((*LOOPBACK_HOSTS, *map(canonical_host, (host, bound)))))


def _allowed_hosts(settings: ServeSettings, bound: str, problems: list[Problem]) -> tuple[str, ...]:
    given = settings.security.allowed_hosts
    if given is None:
        return default_hosts(settings.http.host, bound)
    names = []
    for name in given:
        try:
            names.append(canonical_host(name))
        except UsageError as error:
            subject, origin = settings.subject("allowed_hosts"), settings.origin("allowed_hosts")
            problems.append(replace(Problem.of(error, origin), subject=subject))
    return () if ANY_HOST in names else tuple(dict.fromkeys(names))


def is_loopback(address: str) -> bool:
    """Whether an address reaches this machine only."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _tls(security: SecuritySettings) -> Tls | None:
    if security.ssl_certfile is None or security.ssl_keyfile is None:
        return None
    return Tls(
        certfile=security.ssl_certfile,
        keyfile=security.ssl_keyfile,
        ca_certs=security.ssl_ca_certs,
        cert_reqs=security.ssl_cert_reqs,
        ciphers=security.ssl_ciphers,
    )


def _cors(security: SecuritySettings) -> Cors | None:
    if not security.allowed_origins:
        return None
    return Cors(
        origins=security.allowed_origins,
        methods=security.allowed_methods,
        headers=security.allowed_headers,
        credentials=security.allow_credentials,
    )

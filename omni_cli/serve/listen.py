"""The listening socket. It is bound before anything heavy, and the bind that proves the port is
the bind that serves.

Two processes may both bind a port with SO_REUSEADDR as long as neither listens, so the proof is
the listen.
"""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

from engine_bridge.errors import UsageError

__all__ = ["BACKLOG", "bind_listener", "holder_of", "resolve", "url_of"]

# Connections that wait while every frontend is busy or being replaced; Linux cuts it to
# net.core.somaxconn (4096).
BACKLOG = 2048

# Reading whose process holds a port looks at every open file of every process that we may look at.
MAX_PROCESSES_SEARCHED = 4096
# Addresses on which a server listens but to which nobody connects.
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}


def bind_listener(
    host: str, port: int, *, host_subject: str = "--host", port_subject: str = "--port"
) -> socket.socket:
    """Bind and listen; the caller owns the socket.

    Args:
        host: A name, an IPv4 or an IPv6 address; the latter may stand in brackets.
        port: 0 takes any free port.
        host_subject: How the user spelt the host (``--host``, ``OMNI_HOST``), for the error.
        port_subject: How the user spelt the port.

    Raises:
        UsageError: If the host does not resolve or is not an address of this machine, or the port
            is taken or needs more rights.
    """
    family, address = resolve(host, host_subject)
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # `::` then serves IPv4 as well, whatever the machine's default is.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind((address[0], port, *address[2:]))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _usage_error(error, host, port, host_subject, port_subject) from error
    return listener


def url_of(address: tuple[object, ...], scheme: str = "http") -> str:
    """The address to type into a client; for a wildcard address that of the loopback.

    Args:
        address: As ``getsockname`` gives it, of either family.
        scheme: ``https`` where the socket speaks TLS.
    """
    host, port = str(address[0]), address[1]
    host = WILDCARDS.get(host, f"[{host}]" if ":" in host else host)
    return f"{scheme}://{host}:{port}"


def resolve(
    host: str, subject: str = "--host"
) -> tuple[socket.AddressFamily, tuple[str | int | bytes, ...]]:
    """The family and the address, as for ``bind``, that a host stands for.

    Raises:
        UsageError: If it does not resolve.
    """
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    flags = socket.AI_PASSIVE
    try:
        found = socket.getaddrinfo(bare, 0, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a host name"
        way_out = "use 127.0.0.1 for this machine alone, 0.0.0.0 for every interface"
        raise UsageError(subject, host, f"does not resolve ({reason})", way_out) from error
    # `localhost` is both; IPv4 first, since that is what the default address and most clients use.
    family, _, _, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    return family, address


def _usage_error(
    error: OSError, host: str, port: int, host_subject: str, port_subject: str
) -> UsageError:
    free = "choose another, or 0 for any free one"
    match error.errno:
        case errno.EADDRINUSE:
            holder = holder_of(port)
            reason = f"is in use by {holder}" if holder else "is in use"
            return UsageError(port_subject, port, reason, free)
        case errno.EACCES | errno.EPERM:
            return UsageError(port_subject, port, "needs more rights than you have", free)
        case errno.EADDRNOTAVAIL | errno.EAFNOSUPPORT:
            reason = "is not an address of this machine"
            return UsageError(host_subject, host, reason, "use 127.0.0.1 or 0.0.0.0")
    return UsageError(port_subject, port, f"cannot be bound ({error.strerror})", free)


def holder_of(port: int) -> str | None:
    """The process that listens on a port, if /proc tells us: ``python (pid 123)``."""
    inodes = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _inodes(table, port)}
    if not inodes:
        return None
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return None
    return next(
        (name for pid in pids[:MAX_PROCESSES_SEARCHED] if (name := _name(pid, inodes))), None
    )


def _inodes(table: str, port: int) -> list[str]:
    try:
        lines = Path("/proc/net", table).read_text().splitlines()[1:]
    except OSError:
        return []
    rows = [line.split() for line in lines]
    # Columns: sl, local address:port, remote, state (0A is LISTEN), ..., inode at 9.
    return [row[9] for row in rows if row[3] == "0A" and int(row[1].rsplit(":", 1)[1], 16) == port]


def _name(pid: int, inodes: set[str]) -> str | None:
    folder = Path("/proc", str(pid))
    try:
        held = any(os.readlink(folder / "fd" / fd) in inodes for fd in os.listdir(folder / "fd"))
        return f"{(folder / 'comm').read_text().strip()} (pid {pid})" if held else None
    except OSError:  # it has ended, or belongs to somebody else
        return None

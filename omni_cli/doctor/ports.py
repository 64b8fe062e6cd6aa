"""Who holds the port on which `omni serve` would listen."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from omni_cli.doctor.finding import Finding, note, ok
from omni_cli.serve.listen import holder_of

__all__ = ["ports"]

HOST = "127.0.0.1"


def ports(wanted: int, origin: str) -> Iterator[Finding]:
    """Whether the port is free.

    Args:
        origin: Where the number is from, for the text.
    """
    name = f"port {wanted}"
    try:
        with socket.socket() as probe:
            # As the server does; nothing listens, so nobody is kept waiting.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, wanted))
            taken = False
    except PermissionError:
        yield note(name, f"({origin}) needs more rights than you have", "choose one above 1023")
        return
    except OSError:
        taken = True
    holder = holder_of(wanted)
    if holder is None and not taken:
        yield ok(name, f"({origin}) is free")
        return
    shown = holder or "a process that cannot be seen from here"
    yield note(name, f"({origin}) is held by {shown}", "end it, or start with another --port")

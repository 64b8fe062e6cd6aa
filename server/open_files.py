"""How many connections a frontend may hold: each takes a descriptor."""

from __future__ import annotations

import resource

__all__ = ["MAX_OPEN_FILES", "raise_open_files"]

# vLLM's own number. The 1024 that most systems begin with are used up by as many clients that say
# nothing, and then nobody else gets in.
MAX_OPEN_FILES = 65535


def raise_open_files() -> None:
    """Raise this process's soft limit on descriptors to MAX_OPEN_FILES, or as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(MAX_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

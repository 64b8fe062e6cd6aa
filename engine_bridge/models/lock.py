"""A lock between processes, on one file.

The kernel drops it with the last of its owner's file descriptors, so a killed owner leaves no lock
behind. The file itself stays: removing it would let two processes hold "the" lock at once, each on
its own file.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine_bridge.errors import ModelError
from engine_bridge.models.deadline import Deadline

__all__ = ["locked"]

# flock() has no time limit of its own. Short enough not to be felt after a wait of many seconds.
POLL_INTERVAL_S = 0.1

# A process id, and nothing else, is written into the file.
MAX_OWNER_BYTES = 20


@contextmanager
def locked(path: Path, deadline: Deadline, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock inside the block.

    Args:
        path: The lock file; made if it is not there.
        deadline: How long to wait for another owner.
        on_wait: Called again and again while waiting.

    Raises:
        ModelError: If another process still holds the lock at the deadline; names its process id.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        while not _try(handle):
            on_wait()
            if deadline.remaining() <= 0:
                raise ModelError(
                    deadline.model,
                    f"another process{_owner(handle)} has been preparing or removing it for more"
                    f" than {deadline.seconds:g} s",
                    "wait for it, or end it, and try again",
                    retryable=True,
                )
            time.sleep(min(POLL_INTERVAL_S, deadline.remaining()))
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


def _try(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner(handle: int) -> str:
    owner = os.pread(handle, MAX_OWNER_BYTES, 0).decode("ascii", "replace").strip()
    return f" (process {owner})" if owner.isdigit() else ""

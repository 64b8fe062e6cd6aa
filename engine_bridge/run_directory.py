"""The private directory of one run: internal sockets, configurations and temporary files.

Mode 0700 and owned by the parent. The parent holds a lock on it as long as it lives, so that the
next start can tell what a killed parent left behind from what is in use.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import tempfile
from pathlib import Path

__all__ = ["RunDirectory", "found_runs"]

PREFIX = "omni-run-"
LOCK = "lock"
# The kernel refuses a UNIX socket path above 107 bytes; what this module puts below its root is at
# most this long: two separators, mkdtemp's 8 letters, and vLLM's own sockets, tmp/ and a UUID.
LONGEST_BELOW = 2 + 8 + len("tmp/") + 36
LONGEST_SOCKET_PATH = 107
# Engines and frontends of one stage; each connects once, but reconnects queue while a frontend is
# away.
BACKLOG = 128


class RunDirectory:
    """Created by construction, removed by `remove`.

    Args:
        base: Where run directories go; the system's temporary folder if None.
    """

    def __init__(self, base: Path | None = None) -> None:
        base = base or Path(tempfile.gettempdir())
        if len(str(base)) + len(PREFIX) + LONGEST_BELOW > LONGEST_SOCKET_PATH:
            base = Path("/tmp")
        remove_leftovers(base)
        self.path, self._lock = _make_locked(base)
        self.temporary.mkdir()

    @property
    def temporary(self) -> Path:
        """TMPDIR of the children, so that what they leave there goes with the run."""
        return self.path / "tmp"

    def stage(self, index: int, generation: int) -> Path:
        """A new folder for one launch of one stage; a restarted engine never meets its
        predecessor's sockets.
        """
        folder = self.path / f"s{index}.{generation}"
        folder.mkdir()
        return folder

    def remove(self) -> None:
        """Remove the directory and all in it; safe to call twice."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _make_locked(base: Path) -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        lock = os.open(path / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return path, lock
        # Another start took it for a leftover between the open and the lock.
        os.close(lock)


def remove_leftovers(base: Path) -> list[Path]:
    """Remove run directories whose parent has gone.

    Returns:
        Those that were removed.
    """
    removed = []
    for folder in base.glob(f"{PREFIX}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            # Gone meanwhile, or just being made: its lock is not there yet.
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)
    return removed


def found_runs(base: Path) -> dict[Path, bool]:
    """This user's run directories in a folder, and whether the run of each is alive. Changes
    nothing.
    """
    found = {}
    for folder in sorted(base.glob(f"{PREFIX}*")):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            # Shared, and let go at once: a run that is starting waits for so long at most.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            found[folder] = False
        except BlockingIOError:
            found[folder] = True
        finally:
            os.close(lock)
    return found


def listen_unix(path: Path) -> socket.socket:
    """A listening UNIX stream socket at `path`."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(BACKLOG)
    return listener

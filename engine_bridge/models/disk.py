"""Disk space and disk errors, in words."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine_bridge.errors import ModelError

__all__ = ["FULL_DISK_WORDS", "disk_errors", "no_space", "require_free", "sync_folder"]

# Left free beside what a pull needs at its peak: metadata, block rounding, and what others write
# meanwhile.
FREE_MARGIN_BYTES = 64 * 1024 * 1024

FULL_DISK_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

# The same errors as a child process reports them.
FULL_DISK_WORDS = tuple(os.strerror(number) for number in sorted(FULL_DISK_ERRNOS))


def no_space(model: str, folder: Path, detail: str) -> ModelError:
    """Return the error for a disk that is full, or too full."""
    return ModelError(
        model,
        f"not enough disk space in {folder}: {detail}",
        "free some space, or set OMNI_CACHE_DIR to a folder on another disk",
        retryable=True,
    )


def require_free(model: str, folder: Path, needed_bytes: int) -> None:
    """Check before anything is written that the disk of ``folder``, which exists, has room.

    Raises:
        ModelError: If there is less than ``needed_bytes`` and the margin.
    """
    stat = os.statvfs(folder)
    free = stat.f_bavail * stat.f_frsize
    wanted = needed_bytes + FREE_MARGIN_BYTES
    if free < wanted:
        detail = (
            f"{_megabytes(wanted)} are needed while it is prepared, {_megabytes(free)} are free"
        )
        raise no_space(model, folder, detail)


@contextmanager
def disk_errors(model: str, folder: Path) -> Iterator[None]:
    """Turn what the file system refuses inside the block into a ModelError."""
    try:
        yield
    except BrokenPipeError:  # whoever watched the progress has left
        raise
    except OSError as error:
        cause = error.strerror or str(error)
        if error.errno in FULL_DISK_ERRNOS:
            raise no_space(model, folder, cause) from error
        where = error.filename or folder
        raise ModelError(
            model,
            f"cannot use the cache folder {folder}: {cause}: {where}",
            "set OMNI_CACHE_DIR to a folder that you can write to",
        ) from error


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"

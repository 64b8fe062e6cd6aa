"""The input as a file that can be read as often as it takes."""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from engine_bridge.errors import UsageError
from omni_cli.batch.wish import STDIO
from server.batch.lines import Survey, survey

__all__ = ["Source", "open_source"]


@dataclass(frozen=True, slots=True)
class Source:
    """An input that was read once.

    Attributes:
        file: Seekable.
        survey: What the first reading told.
        changed_ns: When the file was last written to, by its own account.
    """

    file: BinaryIO
    survey: Survey
    changed_ns: int

    @property
    def has_changed(self) -> bool:
        """Whether somebody has written to it since it was read first."""
        found = os.fstat(self.file.fileno())
        return found.st_mtime_ns != self.changed_ns or found.st_size != self.survey.size


def open_source(path: str, spool_folder: Path | None) -> Source:
    """Open the input and read it once.

    What cannot be read twice, a pipe, is copied to a file without a name.

    Args:
        path: ``-`` is stdin.
        spool_folder: Where the copy goes; None for the system's temporary folder.

    Raises:
        UsageError: It is not there or cannot be read.
        OSError: There is no room for the copy.
    """
    try:
        file: IO[bytes] = os.fdopen(os.dup(0), "rb") if path == STDIO else open(path, "rb")
    except OSError as error:
        way_out = "name a file of JSON lines, or - for stdin"
        raise UsageError("INPUT", path, f"cannot be read: {error.strerror}", way_out) from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        copy = cast(BinaryIO, tempfile.TemporaryFile(dir=spool_folder))
        with file:
            found = survey(cast(BinaryIO, file), copy)
        copy.flush()
        file = copy
    else:
        file.seek(0)
        found = survey(cast(BinaryIO, file))
    return Source(cast(BinaryIO, file), found, os.fstat(file.fileno()).st_mtime_ns)

"""Reading a batch file: bounded lines, in as many passes as it takes.

Nothing here holds more than one line, so memory does not grow with the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

__all__ = ["MAX_LINE_BYTES", "Line", "Survey", "read_lines", "survey"]

# A line is a request's body and a few words around it; the server takes bodies of 64 MiB.
MAX_LINE_BYTES = (64 << 20) + (64 << 10)
CHUNK_BYTES = 1 << 20
# Bytes of the digest: enough that two files never share one by accident.
DIGEST_BYTES = 16
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is not blank.

    Attributes:
        number: In the file, from 1; blank lines count.
        data: Without its end; None if it is longer than the bound.
    """

    number: int
    data: bytes | None


@dataclass(frozen=True, slots=True)
class Survey:
    """What one pass over the bytes tells.

    Attributes:
        lines: Most lines that there can be, blank ones included.
        size: In bytes.
        digest: Of the whole file, hexadecimal.
    """

    lines: int
    size: int
    digest: str


def survey(file: BinaryIO, copy: BinaryIO | None = None) -> Survey:
    """Read to the end.

    Args:
        file: From where it stands.
        copy: Gets the same bytes, for what cannot be read twice.
    """
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    lines = size = 0
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
        lines += chunk.count(b"\n")
        size += len(chunk)
        if copy is not None:
            copy.write(chunk)
    # The last line may lack its newline.
    return Survey(lines + 1, size, digest.hexdigest())


def read_lines(file: BinaryIO, max_bytes: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """The lines from the start of the file, which is sought to; blank ones are left out.

    Args:
        file: Seekable and buffered.
        max_bytes: Of one line; a longer one comes without its data.
    """
    file.seek(0)
    number = 0
    while line := file.readline(max_bytes + 1):
        number += 1
        if len(line) > max_bytes and not line.endswith(b"\n"):
            _skip_rest(file)
            yield Line(number, None)
            continue
        if number == 1:
            line = line.removeprefix(_BOM)
        data = line.strip()
        if data:
            yield Line(number, data)


def _skip_rest(file: BinaryIO) -> None:
    while rest := file.readline(CHUNK_BYTES):
        if rest.endswith(b"\n"):
            return

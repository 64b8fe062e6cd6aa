"""Text from a pipe or a file, with bounds and with a word to whoever waits."""

from __future__ import annotations

import os
import select
import stat
from pathlib import Path
from typing import TextIO

from engine_bridge.errors import UsageError
from omni_cli.terminal import Terminal

__all__ = ["is_piped", "read_file", "read_stdin"]

MAX_INPUT_BYTES = 16 * 1024 * 1024  # of piped text; no model's context holds more
SILENCE_S = 2.0  # after which a user is told that we wait for a pipe


def is_piped(stdin: TextIO) -> bool:
    """Whether stdin is a pipe, a socket or a file: anything else (/dev/null, a terminal) is not
    read unasked."""
    try:
        mode = os.fstat(stdin.fileno()).st_mode
    except (OSError, ValueError):  # closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def read_stdin(stdin: TextIO, terminal: Terminal) -> str:
    """All of stdin as UTF-8, saying so if nothing comes.

    Raises:
        UsageError: It is no text, is too long, or cannot be read.
    """
    descriptor = stdin.fileno()
    collected = bytearray()
    if not stdin.isatty() and not select.select([descriptor], [], [], SILENCE_S)[0]:
        terminal.note("waiting for text on stdin; close it, or use </dev/null if there is none")
    try:
        while chunk := os.read(descriptor, 65536):
            collected += chunk
            if len(collected) > MAX_INPUT_BYTES:
                raise UsageError("stdin", None, f"holds more than {MAX_INPUT_BYTES} bytes")
        return collected.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("stdin", None, f"is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise UsageError("stdin", None, f"cannot be read: {error.strerror}") from error


def read_file(flag: str, path: Path) -> str:
    """All of a file as UTF-8.

    Args:
        flag: As which the user named it.

    Raises:
        UsageError: It is no text, is too long, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_INPUT_BYTES + 1)
        if len(content) > MAX_INPUT_BYTES:
            raise UsageError(flag, path, f"holds more than {MAX_INPUT_BYTES} bytes")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(flag, path, f"is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise UsageError(flag, path, f"cannot be read: {error.strerror}") from error

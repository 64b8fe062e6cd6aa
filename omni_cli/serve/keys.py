"""API keys: read, checked, and kept as hashes only.

A key is known to this process as long as it takes to hash it; settings, messages and the plan hold
the hash. SHA-256 without salt or stretching is enough for keys that are random; docs/serve.md says
how to make one.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from omni_cli.flags.parsed import Given
from omni_cli.serve.layer import Layer
from omni_cli.serve.problems import Origin, Problem

__all__ = ["KEYS", "KEY_FILE", "read_by_others", "read_key_file", "sealed"]

KEYS = "api_key"
KEY_FILE = "api_key_file"
"""The destinations of the flags."""

# One per user of a house, and rotation; each is compared with every request.
MAX_KEYS = 1000
# Longer than any token format in use; it travels in a header.
MAX_KEY_CHARS = 512
# A thousand keys of the longest kind, with a comment each.
MAX_KEY_FILE_BYTES = 1024 * 1024


def sealed(layer: Layer) -> Layer:
    """The layer with a tuple of hashes in the place of its keys."""
    given = layer.given.get(KEYS)
    if given is None:
        return layer
    words = given.value if isinstance(given.value, list | tuple) else [given.value]
    hashes, reason = _hashes(["" if word is None else str(word) for word in words])
    rest = {dest: each for dest, each in layer.given.items() if dest != KEYS}
    if reason:
        problem = Problem(subject=given.spelling, value=None, origin=layer.origin, reason=reason)
        return replace(layer, given=rest, problems=(*layer.problems, problem))
    return replace(layer, given={**rest, KEYS: Given(hashes, given.spelling)})


def read_key_file(path: str, subject: str, origin: Origin) -> tuple[tuple[str, ...], list[Problem]]:
    """Hash the keys of a file: one a line, empty lines and lines that begin with ``#`` left out.

    Args:
        path: As the user wrote it.
        subject: How the user spelt the setting that names it.
        origin: Where that comes from.

    Returns:
        The hashes, and what is wrong; if anything is, the file gives none.
    """
    try:
        with Path(path).expanduser().open("rb") as file:
            data = file.read(MAX_KEY_FILE_BYTES + 1)
    except OSError as error:
        reason, data = f"cannot be read: {error.strerror}", b""
    else:
        reason = ""
    if len(data) > MAX_KEY_FILE_BYTES:
        reason = f"is larger than {MAX_KEY_FILE_BYTES // 1024} KiB"
    hashes: tuple[str, ...] = ()
    if not reason:
        lines = [line.strip() for line in data.decode("utf-8-sig", "replace").splitlines()]
        keys = [line for line in lines if line and not line.startswith("#")]
        hashes, reason = _hashes(keys)
    if not reason:
        return hashes, []
    return (), [Problem(subject=subject, value=path, origin=origin, reason=reason)]


def read_by_others(path: str) -> bool:
    """Whether a file of keys can be read by users that are neither its owner nor of its group."""
    try:
        mode = Path(path).expanduser().stat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & stat.S_IROTH)


def _hashes(keys: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """SHA-256 of each key, hexadecimal, without repetitions; or why they cannot be used."""
    keys = list(keys)
    if not keys:
        return (), "holds no key"
    if len(keys) > MAX_KEYS:
        return (), f"gives more than {MAX_KEYS} keys"
    for place, key in enumerate(keys, 1):
        which = f"key {place} of {len(keys)} " if len(keys) > 1 else ""
        if not key:
            return (), f"{which}must not be empty"
        if not key.isascii() or not key.isprintable() or " " in key:
            return (), f"{which}must be ASCII text without white space"
        if len(key) > MAX_KEY_CHARS:
            return (), f"{which}is longer than {MAX_KEY_CHARS} characters"
    hashes = [hashlib.sha256(key.encode()).hexdigest() for key in keys]
    return tuple(dict.fromkeys(hashes)), ""

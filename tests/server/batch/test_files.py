"""Whole lines, whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
from pathlib import Path

import pytest

from server.batch.files import BLOCK_BYTES, LineFile, WriteFailed


def opened(path: Path) -> LineFile:
    return LineFile(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "out")


async def test_lines_are_added(tmp_path: Path) -> None:
    file = opened(tmp_path / "out")
    await file.append(b"one\n")
    await file.append(b"x" * 3_000_000 + b"\n")
    file.close()
    file.close()
    assert (tmp_path / "out").read_bytes() == b"one\n" + b"x" * 3_000_000 + b"\n"


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (b"", b""),
        (b"a\n", b"a\n"),
        (b"a\nb", b"a\n"),
        (b"torn", b""),
        (b"a\n" + b"b" * (3 * BLOCK_BYTES), b"a\n"),
        (b"b" * (2 * BLOCK_BYTES + 1), b""),
        (b"a" * (BLOCK_BYTES - 1) + b"\n" + b"b" * BLOCK_BYTES, b"a" * (BLOCK_BYTES - 1) + b"\n"),
    ],
)
async def test_torn_tail_is_cut(tmp_path: Path, data: bytes, left: bytes) -> None:
    path = tmp_path / "out"
    path.write_bytes(data)
    file = opened(path)
    assert file.cut_tail() == len(data) - len(left)
    await file.append(b"next\n")
    file.close()
    assert path.read_bytes() == left + b"next\n"


@pytest.mark.parametrize("appends", [True, False])
async def test_full_disk_leaves_whole_lines(tmp_path: Path, appends: bool) -> None:
    path = tmp_path / "out"
    flags = os.O_RDWR | os.O_CREAT | (os.O_APPEND if appends else 0)
    file = LineFile(os.open(path, flags, 0o600), "out.jsonl")
    await file.append(b"whole\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
    try:
        with pytest.raises(WriteFailed, match=r"^out.jsonl: cannot be written: File too large$"):
            await file.append(b"x" * 100 + b"\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == b"whole\n"
    await file.append(b"after\n")
    file.close()
    assert path.read_bytes() == b"whole\nafter\n"


async def test_slow_reader_of_a_pipe_holds_up_nothing_else() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    file = LineFile(writer, "stdout")
    data = b"x" * 300_000 + b"\n"
    adding = asyncio.create_task(file.append(data))
    turns = 0
    while turns < 50:  # a loop that is blocked would never come here
        await asyncio.sleep(0)
        turns += 1
    assert not adding.done()
    received = bytearray()
    async with asyncio.timeout(10):
        while len(received) < len(data):
            with contextlib.suppress(BlockingIOError):
                received += os.read(reader, 65536)
            await asyncio.sleep(0)
        await adding
    assert bytes(received) == data
    file.close()
    os.close(reader)


async def test_reader_of_a_pipe_has_left() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    file = LineFile(writer, "stdout")
    with pytest.raises(WriteFailed) as raised:
        await file.append(b"line\n")
    assert raised.value.pipe_closed
    file.close()


async def test_device_takes_lines() -> None:
    file = LineFile(os.open("/dev/null", os.O_WRONLY), "null")
    await file.append(b"line\n")
    assert file.cut_tail() == 0
    file.close()

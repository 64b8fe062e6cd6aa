from __future__ import annotations

import asyncio
import logging
import os
import shutil
import ssl
from pathlib import Path

import pytest

from server import tls_watch
from server.settings import Tls
from server.tls_watch import TlsWatch
from tests.certificates import Pair, make_pair


@pytest.fixture(scope="module")
def pair() -> Pair:
    return make_pair()


@pytest.fixture(scope="module")
def other() -> Pair:
    return make_pair()


def test_nothing_changed_is_nothing_new(tmp_path: Path, pair: Pair) -> None:
    watch = TlsWatch(pair.write(tmp_path))
    assert [watch.look() for _ in range(3)] == [False] * 3


def test_pair_written_in_place_is_served_once_it_fits(
    tmp_path: Path, pair: Pair, other: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    tls = pair.write(tmp_path)
    watch = TlsWatch(tls)
    first = watch.context
    Path(tls.certfile).write_bytes(other.certificate)
    assert not watch.look()
    assert watch.context is first
    Path(tls.keyfile).write_bytes(other.key)
    assert watch.look()
    assert watch.context is not first
    assert not watch.look()
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


def test_pair_that_never_fits_is_told_once(
    tmp_path: Path, pair: Pair, other: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    tls = pair.write(tmp_path)
    watch = TlsWatch(tls)
    Path(tls.certfile).write_bytes(other.certificate)
    assert [watch.look() for _ in range(5)] == [False] * 5
    (record,) = caplog.records
    assert tls.keyfile in record.getMessage()
    Path(tls.certfile).unlink()
    os.mkfifo(tls.certfile)
    assert [watch.look() for _ in range(5)] == [False] * 5
    assert len(caplog.records) == 2
    Path(tls.certfile).unlink()
    other.write(tmp_path)
    assert watch.look()


def test_swapped_link_of_a_folder_is_seen(tmp_path: Path, pair: Pair, other: Pair) -> None:
    # As Kubernetes mounts a secret: file -> ..data/file, ..data -> a folder with a date.
    for name, each in (("one", pair), ("two", other)):
        (tmp_path / name).mkdir()
        each.write(tmp_path / name)
    (tmp_path / "..data").symlink_to("one")
    for file in ("server.crt", "server.key"):
        (tmp_path / file).symlink_to(f"..data/{file}")
    watch = TlsWatch(
        Tls(certfile=str(tmp_path / "server.crt"), keyfile=str(tmp_path / "server.key"))
    )
    (tmp_path / "next").symlink_to("two")
    (tmp_path / "next").rename(tmp_path / "..data")
    shutil.rmtree(tmp_path / "one")
    assert watch.look()


async def test_running_watch_hands_the_new_context_on(
    tmp_path: Path, pair: Pair, other: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_watch, "RELOAD_INTERVAL_S", 0.01)
    watch = TlsWatch(pair.write(tmp_path))
    got: asyncio.Queue[ssl.SSLContext] = asyncio.Queue()
    running = asyncio.ensure_future(watch.run(got.put_nowait))
    other.write(tmp_path)
    async with asyncio.timeout(5):
        assert await got.get() is watch.context
    running.cancel()

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from engine_bridge.errors import UsageError
from server import tls as module
from server.settings import Tls
from server.tls import TlsWatch, build_context, check_tls
from tests.certificates import Pair, make_pair


@pytest.fixture(scope="module")
def pair() -> Pair:
    return make_pair()


@pytest.fixture(scope="module")
def other() -> Pair:
    return make_pair()


class TestBuild:
    def test_pair_serves_tls_1_2_and_up(self, tmp_path: Path, pair: Pair) -> None:
        context = build_context(pair.write(tmp_path))
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2
        assert context.verify_mode == ssl.CERT_NONE

    def test_certificates_of_clients_can_be_asked_for(self, tmp_path: Path, pair: Pair) -> None:
        tls = pair.write(tmp_path)
        asking = Tls(certfile=tls.certfile, keyfile=tls.keyfile, ca_certs=tls.certfile, cert_reqs=2)
        assert build_context(asking).verify_mode == ssl.CERT_REQUIRED
        assert check_tls(asking) is None

    def test_one_file_may_hold_both(self, tmp_path: Path, pair: Pair) -> None:
        both = tmp_path / "both.pem"
        both.write_bytes(pair.key + pair.certificate)
        assert check_tls(Tls(certfile=str(both), keyfile=str(both))) is None


class TestMistakes:
    """Each is told with the flag, the file and the reason, and none waits for a pass phrase."""

    def refusal(self, tls: Tls) -> UsageError:
        with pytest.raises(UsageError) as caught:
            check_tls(tls)
        return caught.value

    def test_key_of_another_certificate(self, tmp_path: Path, pair: Pair, other: Pair) -> None:
        tls = pair.write(tmp_path)
        Path(tls.keyfile).write_bytes(other.key)
        told = str(self.refusal(tls))
        assert told.startswith(f"--ssl-keyfile {tls.keyfile}: does not belong to the certificate")
        assert tls.certfile in told

    def test_encrypted_key(self, tmp_path: Path) -> None:
        tls = make_pair(pass_phrase="secret").write(tmp_path)
        told = self.refusal(tls)
        assert told.subject == "--ssl-keyfile"
        assert "is encrypted" in told.reason

    @pytest.mark.parametrize(
        ("field", "flag"),
        [
            ("certfile", "--ssl-certfile"),
            ("keyfile", "--ssl-keyfile"),
            ("ca_certs", "--ssl-ca-certs"),
        ],
    )
    def test_file_that_cannot_be_used(
        self, tmp_path: Path, pair: Pair, field: str, flag: str
    ) -> None:
        good = pair.write(tmp_path)
        (tmp_path / "text").write_text("hello")
        (tmp_path / "empty").write_text("")
        (tmp_path / "large").write_bytes(b"x" * (module.MAX_PEM_BYTES + 1))
        os.mkfifo(tmp_path / "pipe")
        for name, reason in {
            "missing": "cannot be read (No such file or directory)",
            "text": "in PEM form",
            "empty": "in PEM form",
            "large": "is larger than",
            "pipe": "is not a regular file",
            ".": "is not a regular file",
        }.items():
            changed = {field: str(tmp_path / name)}
            refusal = self.refusal(msgspec.structs.replace(good, **changed))
            assert (refusal.subject, refusal.value) == (flag, str(tmp_path / name))
            assert reason in refusal.reason

    def test_key_that_is_damaged(self, tmp_path: Path, pair: Pair) -> None:
        tls = pair.write(tmp_path)
        Path(tls.keyfile).write_bytes(pair.key.replace(b"\nM", b"\nZ", 1))
        told = str(self.refusal(tls))
        assert tls.keyfile in told
        assert "cannot be used" in told

    def test_ciphers_that_nobody_has(self, tmp_path: Path, pair: Pair) -> None:
        tls = pair.write(tmp_path)
        wrong = Tls(certfile=tls.certfile, keyfile=tls.keyfile, ciphers="ROT13")
        assert self.refusal(wrong).subject == "--ssl-ciphers"


def test_expired_certificate_is_a_warning(tmp_path: Path) -> None:
    tls = make_pair(ends_in_days=-1).write(tmp_path)
    assert check_tls(tls) == f"--ssl-certfile {tls.certfile}: certificate has expired"


class TestWatch:
    def test_nothing_changed_is_nothing_new(self, tmp_path: Path, pair: Pair) -> None:
        watch = TlsWatch(pair.write(tmp_path))
        assert [watch.look() for _ in range(3)] == [False] * 3

    def test_pair_written_in_place_is_served_once_it_fits(
        self, tmp_path: Path, pair: Pair, other: Pair, caplog: pytest.LogCaptureFixture
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
        self, tmp_path: Path, pair: Pair, other: Pair, caplog: pytest.LogCaptureFixture
    ) -> None:
        tls = pair.write(tmp_path)
        watch = TlsWatch(tls)
        Path(tls.certfile).write_bytes(other.certificate)
        assert [watch.look() for _ in range(5)] == [False] * 5
        (record,) = caplog.records
        assert tls.keyfile in record.getMessage()
        Path(tls.certfile).unlink()
        assert [watch.look() for _ in range(5)] == [False] * 5
        assert len(caplog.records) == 2
        other.write(tmp_path)
        assert watch.look()

    def test_swapped_link_of_a_folder_is_seen(
        self, tmp_path: Path, pair: Pair, other: Pair
    ) -> None:
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
        self, tmp_path: Path, pair: Pair, other: Pair, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "RELOAD_INTERVAL_S", 0.01)
        watch = TlsWatch(pair.write(tmp_path))
        got: asyncio.Queue[ssl.SSLContext] = asyncio.Queue()
        running = asyncio.ensure_future(watch.run(got.put_nowait))
        other.write(tmp_path)
        async with asyncio.timeout(5):
            assert await got.get() is watch.context
        running.cancel()


def test_import_is_light() -> None:
    heavy = "fastapi starlette uvicorn pydantic cryptography httpx"
    code = (
        "import sys, json, server.tls, server.gate; "
        f"print(json.dumps([m for m in '{heavy}'.split() if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []

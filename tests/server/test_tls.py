from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from engine_bridge.errors import UsageError
from server import tls as module
from server.settings import Tls
from server.tls import build_context, check_tls
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
            "missing": "cannot be read: No such file or directory",
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

    def test_clients_asked_for_certificates_without_an_authority(
        self, tmp_path: Path, pair: Pair
    ) -> None:
        asking = msgspec.structs.replace(pair.write(tmp_path), cert_reqs=2)
        with pytest.raises(UsageError, match=r"--ssl-cert-reqs 2: .* --ssl-ca-certs"):
            build_context(asking)

    def test_ciphers_that_nobody_has(self, tmp_path: Path, pair: Pair) -> None:
        tls = pair.write(tmp_path)
        wrong = Tls(certfile=tls.certfile, keyfile=tls.keyfile, ciphers="ROT13")
        assert self.refusal(wrong).subject == "--ssl-ciphers"


def test_expired_certificate_is_a_warning(tmp_path: Path) -> None:
    tls = make_pair(ends_in_days=-1).write(tmp_path)
    assert check_tls(tls) == f"--ssl-certfile {tls.certfile}: certificate has expired"


def test_import_is_light() -> None:
    heavy = "fastapi starlette uvicorn pydantic cryptography httpx asyncio"
    code = (
        "import sys, json, server.tls; "
        f"print(json.dumps([m for m in '{heavy}'.split() if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []

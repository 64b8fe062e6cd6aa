"""Inputs that can be read twice, and those that cannot."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from engine_bridge.errors import UsageError
from omni_cli.batch.source import open_source


def test_file_is_read_in_place(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"a\nb\n")
    source = open_source(str(path), tmp_path)
    with source.file:
        assert source.file.read() == b""  # the survey stands at its end
        source.file.seek(0)
        assert source.file.read() == b"a\nb\n"
        assert (source.survey.lines, source.survey.size) == (3, 4)
        assert not source.has_changed
        path.write_bytes(b"a\nb\nc\n")
        assert source.has_changed


def test_pipe_is_copied_to_a_file_without_a_name(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"a\n" * 50_000,))
    writer.start()
    source = open_source(str(pipe), tmp_path)
    writer.join()
    with source.file:
        source.file.seek(0)
        assert source.file.read() == b"a\n" * 50_000
        assert not source.has_changed
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [("nowhere", "No such file or directory"), (".", "Is a directory")],
)
def test_what_cannot_be_read(
    path: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as raised:
        open_source(path, None)
    assert str(raised.value) == (
        f"INPUT {path}: cannot be read: {reason}; name a file of JSON lines, or - for stdin"
    )

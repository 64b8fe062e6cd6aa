"""The private directory of a run: what it keeps out, and what a killed run leaves."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_bridge.run_directory import (
    LOCK,
    LONGEST_SOCKET_PATH,
    PREFIX,
    RunDirectory,
    found_runs,
    listen_unix,
    remove_leftovers,
)

HOLD = """
import sys
from pathlib import Path
from engine_bridge.run_directory import RunDirectory
directory = RunDirectory(Path(sys.argv[1]))
(directory.stage(0, 0) / "hs").touch()
print(directory.path, flush=True)
sys.stdin.read()
"""

# Each round makes a directory, sees that it and its files stay, and every other one is left behind.
RACE = """
import os, sys
from pathlib import Path
from engine_bridge.run_directory import RunDirectory
for round in range(60):
    directory = RunDirectory(Path(sys.argv[1]))
    (directory.stage(0, 0) / "file").write_text("mine")
    os.sched_yield()
    assert (directory.path / "s0.0" / "file").read_text() == "mine", "taken while in use"
    if round % 2:
        directory.remove()
    else:
        os.close(directory._lock)  # as a killed parent leaves it
print("done")
"""


@contextlib.contextmanager
def running(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process whose standard input stays open."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder with a short name; pytest's own would send every run directory to /tmp."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="t") as folder:
        yield Path(folder)


@pytest.fixture
def made(base: Path) -> Iterator[RunDirectory]:
    directory = RunDirectory(base)
    yield directory
    directory.remove()


def test_directory_is_the_owners_alone(made: RunDirectory) -> None:
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o700
    assert made.temporary.is_dir()
    assert stat.S_IMODE((made.path / LOCK).stat().st_mode) == 0o600


def test_remove_leaves_nothing(base: Path) -> None:
    directory = RunDirectory(base)
    (directory.temporary / "left by a child").touch()
    listen_unix(directory.stage(0, 0) / "in0").close()
    directory.remove()
    directory.remove()
    assert list(base.iterdir()) == []


def test_each_launch_of_a_stage_has_a_folder_of_its_own(made: RunDirectory) -> None:
    folders = {made.stage(0, 0), made.stage(0, 1), made.stage(1, 0)}
    assert len(folders) == 3
    with pytest.raises(FileExistsError):
        made.stage(0, 0)


def test_lock_is_not_inherited(made: RunDirectory) -> None:
    assert not os.get_inheritable(made._lock)


def test_leftover_of_a_killed_run_goes_at_the_next_start(base: Path) -> None:
    with running(HOLD, str(base)) as process:
        left = Path(first_line(process))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (left / "s0.0" / "hs").exists()
        directory = RunDirectory(base)
        assert not left.exists()
        assert [directory.path] == list(base.iterdir())
        directory.remove()


def test_directory_of_a_living_run_stays(base: Path) -> None:
    with running(HOLD, str(base)) as process:
        living = Path(first_line(process))
        directory = RunDirectory(base)
        assert remove_leftovers(base) == []
        assert (living / "s0.0" / "hs").exists()
        directory.remove()


def test_what_is_no_leftover_stays(base: Path) -> None:
    elsewhere = base / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / LOCK).touch()
    (base / f"{PREFIX}link").symlink_to(elsewhere)
    (base / f"{PREFIX}being-made").mkdir()
    (base / f"{PREFIX}file").touch()
    linked = base / f"{PREFIX}linked-lock"
    linked.mkdir()
    (linked / LOCK).symlink_to(elsewhere / LOCK)
    (base / "other-run").mkdir()
    before = set(base.rglob("*"))
    assert remove_leftovers(base) == []
    assert set(base.rglob("*")) == before


def test_directory_of_another_user_stays(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = base / f"{PREFIX}other"
    other.mkdir()
    (other / LOCK).touch()
    monkeypatch.setattr(os, "getuid", lambda: other.stat().st_uid + 1)
    assert remove_leftovers(base) == []
    monkeypatch.undo()
    assert remove_leftovers(base) == [other]


def test_lock_held_by_anybody_keeps_the_directory(base: Path) -> None:
    held = base / f"{PREFIX}held"
    held.mkdir()
    with (held / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove_leftovers(base) == []
    assert remove_leftovers(base) == [held]


@pytest.mark.parametrize("length", [*range(40, 56), 100, 200])
def test_socket_paths_fit_whatever_the_temporary_folder(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="t") as short:
        deep = Path(f"{short}/{'d' * (length - len(short) - 1)}")
        deep.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(deep))
        directory = RunDirectory()
        try:
            # The longest names in use: vLLM's own sockets, and a rank's beside a stage's index.
            for path in (
                directory.temporary / "01234567-89ab-cdef-0123-456789abcdef",
                directory.stage(99, 999) / "out9999",
            ):
                assert len(str(path)) <= LONGEST_SOCKET_PATH
                listen_unix(path).close()
            inside = directory.path.is_relative_to(deep)
            assert inside == (length <= 48)
        finally:
            directory.remove()


def test_listener_accepts(made: RunDirectory) -> None:
    path = made.stage(0, 0) / "in0"
    with (
        listen_unix(path),
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client,
    ):
        client.connect(str(path))


def test_starts_at_once_never_take_each_others_directory(base: Path) -> None:
    with contextlib.ExitStack() as stack:
        racers = [stack.enter_context(running(RACE, str(base))) for _ in range(6)]
        results = [racer.communicate(timeout=60)[0].strip() for racer in racers]
    assert results == ["done"] * len(racers)
    remove_leftovers(base)
    assert list(base.iterdir()) == []


def test_runs_are_found_with_whether_they_live(base: Path) -> None:
    living = RunDirectory(base)
    dead = base / f"{PREFIX}dead"
    dead.mkdir()
    (dead / LOCK).touch()
    (base / f"{PREFIX}new").mkdir()  # not locked yet
    assert found_runs(base) == {dead: False, living.path: True}
    living.remove()
    assert found_runs(base) == {dead: False}

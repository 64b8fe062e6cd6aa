"""What the documents say: every command of the README is run, every table is the code's."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine_bridge import errors
from engine_bridge.pipelines import read_pipeline
from tests.readme import SERVED, blocks, commands

ROOT = Path(__file__).resolve().parent.parent
OMNI = Path(sys.executable).parent / "omni"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@dataclass(frozen=True)
class Here:
    """A command that this file runs as it stands."""

    says: str  # a part of what it prints


# How each command of the README is run. One that needs a server is run by tests/e2e/test_readme.py.
HERE = {
    ".venv/bin/omni --help": Here("Usage: omni"),
    ".venv/bin/omni models list": Here("smollm2-135m-instruct"),
    ".venv/bin/omni version": Here("omni"),
}
# What the session that reads this is itself: make test, and its parts in test_architecture.py.
THIS_RUN = {"make test", "make check"}


class TestCommands:
    def test_each_is_run_somewhere(self) -> None:
        assert set(commands()) == HERE.keys() | SERVED | THIS_RUN

    def test_none_is_run_twice(self) -> None:
        assert not HERE.keys() & SERVED

    @pytest.mark.parametrize("command", HERE)
    def test_runs_without_a_server(self, command: str) -> None:
        words = [str(OMNI), *shlex.split(command)[1:]]
        run = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stderr
        assert HERE[command].says in run.stdout

    def test_make_test_is_what_runs_here(self) -> None:
        run = subprocess.run(
            ["make", "-n", "-C", ROOT, "test"], capture_output=True, text=True, timeout=30
        )
        assert "-m pytest" in run.stdout

    def test_make_check_runs_the_tools_that_the_tests_run(self) -> None:
        run = subprocess.run(
            ["make", "-n", "-C", ROOT, "check"], capture_output=True, text=True, timeout=30
        )
        tools = ["ruff check", "ruff format --check", "mypy", "lint-imports"]
        assert [line for line in run.stdout.splitlines() if ".venv/bin/" in line] == [
            f".venv/bin/{tool}" for tool in tools
        ]


class TestBlocks:
    def test_each_has_a_known_language(self) -> None:
        assert {block.language for block in blocks()} == {"sh", "python", "yaml"}

    def test_python_compiles(self) -> None:
        for block in blocks():
            if block.language == "python":
                compile(block.text, "README.md", "exec")

    def test_pipeline_is_accepted(self, tmp_path: Path) -> None:
        (example,) = [block.text for block in blocks() if block.language == "yaml"]
        file = tmp_path / "assistant.yaml"
        file.write_text(example)
        pipeline, faults = read_pipeline(file)
        assert faults == []
        assert pipeline is not None
        assert [stage.name for stage in pipeline.stages] == ["chat", "embed"]


class TestLinks:
    @pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
    def test_each_leads_to_a_file_and_a_heading(self, path: Path) -> None:
        dead = []
        for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", path.read_text()):
            name, _, anchor = target.partition("#")
            file = (path.parent / name).resolve() if name else path
            if not file.is_file() or (anchor and anchor not in anchors(file)):
                dead.append(target)
        assert dead == []

    def test_index_lists_every_page(self) -> None:
        listed = re.findall(r"^\| \[([^\]]+\.md)\]", (ROOT / "docs/index.md").read_text(), re.M)
        assert sorted(listed) == sorted(
            page.name for page in DOCUMENTS if page.parent.name == "docs" and page.stem != "index"
        )


def anchors(file: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", file.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


class TestExitCodes:
    def test_table_shows_every_error_class(self) -> None:
        page = (ROOT / "docs/exit-codes.md").read_text()
        rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.M)
        assert {name: int(code) for name, code in rows} == {
            name: getattr(errors, name).exit_code for name in errors.__all__ if name != "OmniError"
        }

    def test_every_code_of_an_error_is_explained(self) -> None:
        page = (ROOT / "docs/exit-codes.md").read_text()
        explained = set(re.findall(r"^\| (\d+) \|", page, re.M))
        used = {str(getattr(errors, name).exit_code) for name in errors.__all__}
        assert used | {"0", "130"} <= explained


class TestChangelog:
    def test_newest_section_is_the_version(self) -> None:
        version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
        sections = re.findall(r"^## (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
        assert sections[0] == version

    def test_entries_are_grouped(self) -> None:
        groups = re.findall(r"^### (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
        assert groups
        assert set(groups) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}

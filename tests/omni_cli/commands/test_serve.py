"""`omni serve` as a process: whole output, exit code, time."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from engine_bridge.pipelines import read_pipeline
from omni_cli import help as pages
from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.help import short_page
from omni_cli.serve.listen import bind_listener
from omni_cli.serve.sources_environment import OTHER_VARIABLES, read_environment
from omni_cli.serve.sources_file import read_file
from omni_cli.serve.stage_args import read_stage_args

ROOT = Path(__file__).resolve().parents[3]
# The goals are 0.25 s and 0.4 s on a quiet machine. Here it is processor time, the best of three
# runs, because others may share the cores, which costs cache and clock as well: hence the margin.
HELP_S = 0.35
REFUSAL_S = 0.6
RUNS = 3


def omni(*args: str) -> tuple[int, str, str]:
    run = subprocess.run(
        [sys.executable, "-m", "omni_cli.main", *args],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return run.returncode, run.stdout, run.stderr


def processor_time(*args: str) -> float:
    """Seconds that one run of the command computes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    omni(*args)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_all_problems_are_shown_at_once() -> None:
    code, out, err = omni(
        "serve", "./nope", "--port", "99999", "-tp", "400", "--headless", "--quiet", "--verbose"
    )
    assert (code, out) == (2, "")
    assert [line.partition(": ")[2].partition(":")[0] for line in err.splitlines()] == [
        "--port 99999",
        "--headless",
        "--quiet",
        "-tp 400",
        "model ./nope",
    ]


def test_port_in_use_is_refused() -> None:
    with bind_listener("127.0.0.1", 0) as holder:
        port = holder.getsockname()[1]
        name = Path("/proc/self/comm").read_text().strip()
        code, out, err = omni("serve", "--port", str(port))
    assert (code, out) == (2, "")
    assert err == (
        f"error: --port {port}: is in use by {name} (pid {os.getpid()}); "
        "choose another, or 0 for any free one\n"
    )


def test_broken_pipeline_is_refused() -> None:
    Path("p.yaml").write_text("stages:\n  - name: a\n    modle: x\n")
    assert omni("serve", "p.yaml", "--port", "0") == (
        2,
        "",
        "error: p.yaml:2: stages[0].model: is missing\n"
        "error: p.yaml:3: stages[0].modle: is not a known key; did you mean model?\n",
    )


def test_misspelt_bundled_model_is_refused() -> None:
    assert omni("serve", "smollm2-135m-instuct", "--port", "0") == (
        2,
        "",
        "error: model smollm2-135m-instuct: is neither a bundled model, nor a folder, nor a "
        "Hugging Face id (org/name); did you mean smollm2-135m-instruct?\n",
    )


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["--prot", "1"], "--prot: is not a flag of omni serve; did you mean --port?"),
        (["--port", "abc"], "--port abc: must be a whole number from 0 to 65535"),
        (["--port"], "--port: needs a value; write --port=VALUE if it starts with a dash"),
        (["--start-method", "x"], "--start-method x: must be auto, fork or spawn"),
        (["--config", "no.yaml"],
         "--config no.yaml: cannot be read: No such file or directory"),
    ],
)  # fmt: skip
def test_usage_error_is_one_line(args: list[str], line: str) -> None:
    assert omni("serve", *args, "--port=0") == (2, "", f"error: {line}\n")


class TestHelp:
    @pytest.mark.parametrize("words", [["--help"], ["-h"], ["--port", "1", "-h"]])
    def test_short_page_is_that_of_the_catalogue(self, words: list[str]) -> None:
        page = pages.render(short_page(catalogue()), width=80)
        assert omni("serve", *words) == (0, page, "")

    def test_word_finds_flags(self) -> None:
        code, out, err = omni("serve", "--help=port")
        assert (code, err) == (0, "")
        assert "--port N" in out

    def test_word_that_finds_nothing_is_a_usage_error(self) -> None:
        code, out, err = omni("serve", "--help=zzz")
        assert (code, out) == (2, "")
        assert err.startswith("error: --help=zzz: ")


class TestPrintConfig:
    def test_file_made_by_it_is_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OMNI_PORT", "0")
        code, out, err = omni("serve", "--print-config", "minilm-l6", "-tp=1")
        assert (code, err) == (0, "")
        Path("omni.yaml").write_text(out)
        monkeypatch.delenv("OMNI_PORT")
        code, out, err = omni("serve", "--config=omni.yaml", "--print-config", "--json")
        assert (code, err) == (0, "")
        settings = json.loads(out)["settings"]
        lines = enumerate(Path("omni.yaml").read_text().splitlines(), 1)
        line = next(number for number, text in lines if text.startswith("port:"))
        assert settings["port"]["by"] == f"file: omni.yaml:{line}: port"
        assert settings["target"]["value"] == "minilm-l6"


class TestTime:
    @pytest.mark.parametrize("args", [["--help"], ["--help=cache"], ["--prot"]])
    def test_help_and_usage_error_are_quick(self, args: list[str]) -> None:
        assert min(processor_time("serve", *args) for _ in range(RUNS)) <= HELP_S

    @pytest.mark.parametrize("args", [["-tp", "400"], ["--port", "abc"]])
    def test_refused_line_is_quick(self, args: list[str]) -> None:
        seconds = min(processor_time("serve", *args, "--port=0") for _ in range(RUNS))
        assert seconds <= REFUSAL_S


class TestDocs:
    def test_every_pipeline_of_the_docs_is_read(self) -> None:
        for block in blocks("pipelines.md", "yaml"):
            Path("p.yaml").write_text(block)
            pipeline, faults = read_pipeline(Path("p.yaml"))
            assert faults == []
            assert pipeline is not None
            assert read_stage_args(pipeline, catalogue())[1] == []

    def test_every_flag_of_our_own_stands_in_the_docs(self) -> None:
        text = (ROOT / "docs" / "serve.md").read_text()
        flags = [flag.name for flag in catalogue() if flag.own or flag.scope == "run"]
        assert [name for name in flags if f"`{name}" not in text and name != "TARGET"] == []

    @pytest.mark.parametrize(("kind", "name"), [("yaml", "omni.yaml"), ("toml", "omni.toml")])
    def test_every_settings_file_of_the_docs_is_read(self, kind: str, name: str) -> None:
        for block in blocks("settings.md", kind):
            Path(name).write_text(block)
            assert read_file(name, "--config", "flag", catalogue()).problems == ()

    def test_every_variable_of_the_docs_is_read(self) -> None:
        text = (ROOT / "docs" / "settings.md").read_text()
        shown = dict(re.findall(r"`(OMNI_[A-Z_]+)=([^`]*)`", text))
        assert len(shown) > 5
        layer = read_environment(catalogue(), shown)
        assert (layer.problems, layer.warnings) == ((), ())
        assert len(layer.given) + len(OTHER_VARIABLES & shown.keys()) == len(shown)

    def test_every_refusal_of_the_docs_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        text = (ROOT / "docs" / "settings.md").read_text()
        example = text.partition("<!-- refused -->")[2]
        _, file, _, errors = (part.partition("```")[0] for part in example.split("```")[:4])
        Path("omni.yaml").write_text(file.partition("\n")[2])
        command = errors.strip().splitlines()
        words = command[1].removeprefix("$ OMNI_PROT=9000 omni ").split()
        monkeypatch.setenv("OMNI_PROT", "9000")
        assert omni(*words) == (2, "", "\n".join([*command[2:], ""]))


def blocks(document: str, kind: str) -> list[str]:
    """The code blocks of a kind in a document."""
    text = (ROOT / "docs" / document).read_text()
    found = [part.partition("```")[0] for part in text.split(f"```{kind}\n")[1:]]
    assert found
    return found

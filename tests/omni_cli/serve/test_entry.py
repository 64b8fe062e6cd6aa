"""The way into a run: what is read, what is said, and what a line that cannot be read costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine_bridge.errors import UsageError
from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.parser import parse
from omni_cli.serve.entry import prepare, prepare_stages, serve
from tests.omni_cli.conftest import omni_env

FLAGS = catalogue()


@pytest.fixture(autouse=True)
def dummy() -> None:
    """A model's folder that needs no weights."""
    Path("tiny").mkdir()
    Path("tiny/config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')


def test_misspelt_flag_ends_the_reading(capsys: pytest.CaptureFixture[str]) -> None:
    Path("omni.yaml").write_text("prot: 1\n")
    words = ["./nope", "--prot", "1", "--port", "x", "--config", "omni.yaml"]
    assert serve(parse(words, FLAGS), FLAGS) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == (
        "error: --prot: is not a flag of omni serve; did you mean --port?\n"
        "error: --port x: must be a whole number from 0 to 65535\n"
        "error: omni.yaml:1: prot: is not a known setting; did you mean port?\n"
    )


@pytest.mark.parametrize("words", [["--prot", "1"], ["one", "two"], ["--tensor-par", "2"]])
def test_line_that_cannot_be_read_imports_no_settings(words: list[str]) -> None:
    code = (
        "import sys\n"
        "from omni_cli.main import run\n"
        "code = run(['serve', *sys.argv[1:]])\n"
        "heavy = {'pydantic', 'yaml', 'asyncio', 'omni_cli.serve.facts'} & {*sys.modules}\n"
        "sys.exit(f'{code} {heavy}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True, text=True, timeout=60, env=omni_env(),
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == "2 set()"


def test_refused_combination_imports_no_reader_of_files_and_leaves_no_trace() -> None:
    code = (
        "import gc, os, sys\n"
        "from omni_cli.main import run\n"
        "before = dict(os.environ)\n"
        "code = run(['serve', '-tp', '9999', '--port=0'])\n"
        "heavy = {'yaml', 'tomllib', 'vllm', 'torch'} & {*sys.modules}\n"
        "changed = {*os.environ.items()} ^ {*before.items()}\n"
        "sys.exit(f'{code} {heavy} {changed} {gc.isenabled()}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, timeout=60, env={**omni_env(), "TYPER_USE_RICH": "0"},
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == "2 set() set() True"


def test_misspelt_variable_is_warned_about_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNI_PROT", "1")
    words = ["./tiny", "--load-format=dummy", "--port=0"]
    found = prepare(parse(words, FLAGS), FLAGS)
    assert found is not None
    found.listener.close()
    assert capsys.readouterr().err == (
        "warning: OMNI_PROT is not a setting of omni; did you mean OMNI_PORT?\n"
    )


def test_json_without_settings_to_show_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        serve(parse(["--json"], FLAGS), FLAGS)
    assert str(caught.value) == "--json: says how settings are shown; add --print-config"


def test_stages_are_planned_without_a_socket(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["./tiny", "--load-format=dummy", "--host", "192.0.2.1", "--verbose"]
    ready = prepare_stages(parse(words, FLAGS), FLAGS)
    assert ready is not None
    assert [stage.name for stage in ready.plan.stages] == ["tiny"]
    assert (ready.terminal.verbosity, ready.log_level) == (1, "info")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "level"),
    [
        ([], None),
        (["--enable-log-requests"], "info"),
        (["--enable-log-requests", "--enable-log-outputs"], "info"),
        (["--enable-logging-iteration-details"], "info"),
        (["--no-enable-log-requests"], None),
        (["--enable-log-requests", "--log-level", "warning"], "warning"),
    ],
)
def test_flags_that_only_log_have_the_lines_shown(words: list[str], level: str | None) -> None:
    ready = prepare_stages(parse(["./tiny", "--load-format=dummy", *words], FLAGS), FLAGS)
    assert ready is not None
    assert ready.log_level == level


def test_stage_of_a_pipeline_that_logs_has_the_lines_shown() -> None:
    Path("p.yaml").write_text(
        "stages:\n"
        "  - {name: a, model: ./tiny, args: {load-format: dummy}}\n"
        "  - {name: b, model: ./tiny, args: {load-format: dummy, enable-log-requests: true}}\n"
    )
    ready = prepare_stages(parse(["p.yaml"], FLAGS), FLAGS)
    assert ready is not None
    assert ready.log_level == "info"


def test_bundled_model_is_planned_without_being_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNI_CACHE_DIR", str(Path("cache").absolute()))
    ready = prepare_stages(parse(["minilm-l6"], FLAGS), FLAGS, fetch=False)
    assert ready is not None
    assert ready.plan.stages[0].model == "minilm-l6"
    assert not Path("cache").exists()

"""The command as a whole: help, errors, exit codes, and how fast it answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omni_cli.main import run
from tests.omni_cli.conftest import COMMAND, DEADLINE_S, ROOT, omni_env

if TYPE_CHECKING:
    from tests.omni_cli.conftest import RunOmni

HEAVY = ("torch", "vllm", "transformers", "fastapi", "pydantic_settings", "httpx", "rich", "click")
ROOT_HELP = """\
Usage: omni COMMAND [OPTIONS]

Serve any-to-any models on vLLM, and use them.

Commands:
  serve       Serve a model, or a pipeline of models, over HTTP until
              interrupted.
  chat        Talk to a served model, or ask it one question.
  complete    Let a served model go on from a text, once.
  bench       Measure how fast a server answers, and how fast it starts.
  check       Test whether a server keeps the rules of its APIs.
  doctor      Report what is installed here, and what is in the way.
  run-batch   Run a file of requests, against a server or on engines of its own.
  models      Fetch, list and remove the bundled models.
  completion  Print the completion script of a shell.
  version     Show the versions of omni and of the engine below it.

Options:
  -h, --help  Show this help.
  --version   Show omni's version.

`omni COMMAND --help` tells more about a command.
"""
SEE_CHAT = "(see `omni chat --help`)"
SEE_VERSION = "(see `omni version --help`)"
DEFECT = "(a defect in omni; set OMNI_DEBUG=1 for the traceback)"
QUICK = [
    ([], 0.15),
    (["--help"], 0.15),
    (["--version"], 0.15),
    (["serve", "--help"], 0.25),
    (["chat", "--help"], 0.25),
    (["serve", "--nope"], 0.25),
    (["qqq"], 0.25),
    (["chat", "--nope"], 0.25),
]


class TestRoot:
    @pytest.mark.parametrize("args", [(), ("--help",), ("-h",), ("--",)])
    def test_root_help(self, omni: RunOmni, args: tuple[str, ...]) -> None:
        run = omni(*args)
        assert (run.code, run.out, run.err) == (0, ROOT_HELP, "")

    @pytest.mark.parametrize(
        ("asked", "shown"),
        [
            ("help", "--help"),
            ("help help", "--help"),
            ("help chat", "chat --help"),
            ("help bench serve", "bench serve --help"),
            ("help bench startup -- x", "bench startup --help"),
            ("help serve", "serve --help"),
            ("help run-batch", "run-batch --help"),
        ],
    )
    def test_help_as_a_word(
        self, capsys: pytest.CaptureFixture[str], asked: str, shown: str
    ) -> None:
        assert run(shown.split()) == 0
        page = capsys.readouterr()
        assert run(asked.split()) == 0
        assert capsys.readouterr() == page
        assert page.out.startswith("Usage: omni ")

    def test_help_of_what_is_no_command(self, omni: RunOmni) -> None:
        run = omni("help", "caht")
        line = "error: no such command: caht; did you mean chat? (see `omni --help`)\n"
        assert (run.code, run.out, run.err) == (2, "", line)

    def test_version(self, omni: RunOmni) -> None:
        run = omni("--version")
        assert (run.code, run.err) == (0, "")
        assert run.out == omni("version").out.splitlines(True)[0]

    def test_colour_is_bold_headings(self, omni: RunOmni) -> None:
        coloured = omni("--help", FORCE_COLOR="1", NO_COLOR="").out
        assert coloured.startswith("\x1b[1mUsage:\x1b[0m omni")
        assert coloured.replace("\x1b[1m", "").replace("\x1b[0m", "") == ROOT_HELP

    @pytest.mark.parametrize("columns", [50, 79, 500])
    def test_help_is_wrapped_to_the_width(self, omni: RunOmni, columns: int) -> None:
        run = omni("chat", "--help", COLUMNS=str(columns))
        lines = run.out.splitlines()
        kept = [line for line in lines if line.startswith("  ") and "omni chat" in line]
        width = max(40, min(100, columns))
        assert max(len(line) for line in lines if line not in kept) <= width


class TestUsageErrors:
    @pytest.mark.parametrize(
        ("args", "line"),
        [
            (["qqq"], "no such command: qqq (see `omni --help`)"),
            (["sreve"], "no such command: sreve; did you mean serve? (see `omni --help`)"),
            (["--nope"], "no such option: --nope (see `omni --help`)"),
            (
                ["chat", "--modle", "x"],
                "no such option: --modle; did you mean --model? " + SEE_CHAT,
            ),
            (
                ["chat", "--token", "1"],
                "no such option: --token; did you mean --max-tokens? " + SEE_CHAT,
            ),
            (["chat", "--model"], "--model: needs a value " + SEE_CHAT),
            (
                ["models", "lst"],
                "no such command: lst; did you mean list? (see `omni models --help`)",
            ),
            (["version", "extra"], "extra: is one word too many " + SEE_VERSION),
            (["version", "\x1b[2J"], "\\x1b[2J: is one word too many " + SEE_VERSION),
        ],
    )
    def test_usage_error_is_one_line(self, omni: RunOmni, args: list[str], line: str) -> None:
        run = omni(*args)
        assert (run.code, run.out, run.err) == (2, "", f"error: {line}\n")

    def test_missing_argument_names_it(self, omni: RunOmni) -> None:
        run = omni("models", "pull")
        assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
        assert run.err.startswith("error: NAME: is missing")

    def test_a_group_alone_shows_its_help(self, omni: RunOmni) -> None:
        run = omni("models")
        assert (run.code, run.err) == (0, "")
        assert run.out == omni("models", "--help").out
        assert run.out.startswith("Usage: omni models COMMAND [OPTIONS]\n")


class TestEnds:
    """What a command raises, in a process whose `version` command raises it."""

    def run(self, tmp_path: Path, raised: str, **env: str) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "raises.py"
        script.write_text(
            "import sys, types\n"
            "from engine_bridge.errors import *\n"
            "fake = types.ModuleType('omni_cli.commands.version')\n"
            f"def version() -> None:\n    raise {raised}\n"
            "fake.version = version\n"
            "sys.modules[fake.__name__] = fake\n"
            "from omni_cli.main import run\n"
            "sys.exit(run(['version']))\n"
        )
        return subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            timeout=60,
            env=omni_env(**env),
        )

    @pytest.mark.parametrize(
        ("raised", "code", "err"),
        [
            ("UsageError('--x', 8, 'is taken', 'wait')", 2, "error: --x 8: is taken; wait\n"),
            ("StartError('stage x', 'a cause')", 3, "error: stage x could not start: a cause\n"),
            ("ChildDied('stage x', 'a\\nb')", 1, "error: stage x died: a b\n"),
            ("KeyboardInterrupt", 130, ""),
            ("SystemExit(7)", 7, ""),
            ("PermissionError(13, 'Not allowed', '/x')", 1, "error: Not allowed: /x\n"),
            ("BrokenPipeError", 141, ""),
            ("ValueError('bad')", 1, f"error: ValueError: bad {DEFECT}\n"),
        ],
    )
    def test_every_exception_has_its_code(
        self, tmp_path: Path, raised: str, code: int, err: str
    ) -> None:
        run = self.run(tmp_path, raised)
        assert (run.returncode, run.stdout, run.stderr) == (code, "", err)

    @pytest.mark.parametrize("raised", ["ValueError('bad')", "ClientError('http://x', 'down')"])
    def test_debug_shows_the_traceback(self, tmp_path: Path, raised: str) -> None:
        run = self.run(tmp_path, raised, OMNI_DEBUG="1")
        assert run.returncode == 1
        assert run.stderr.startswith("Traceback (most recent call last):\n")
        assert run.stderr.splitlines()[-1].startswith("error: ")
        assert "set OMNI_DEBUG" not in run.stderr

    def test_a_reader_that_left_is_not_an_error(self) -> None:
        command = f"{' '.join(COMMAND)} --help | true; echo ${{PIPESTATUS[0]}}"
        run = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            timeout=60,
            env=omni_env(),
        )
        assert run.stdout in ("0\n", "141\n")  # it may have written before the reader left
        assert run.stderr == ""

    def test_ctrl_c_while_it_waits_ends_with_130(self) -> None:
        process = subprocess.Popen(
            [*COMMAND, "chat", "hello", "--url", "http://127.0.0.1:1"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=omni_env(),
        )
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"waiting for text on stdin")
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 130
        process.communicate()


class TestSpeed:
    @pytest.mark.parametrize(("args", "limit_s"), QUICK, ids=lambda value: str(value))
    def test_it_answers_at_once(self, args: list[str], limit_s: float) -> None:
        command = [str(Path(sys.executable).parent / "omni"), *args]
        env = omni_env()
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        subprocess.run(command, capture_output=True, timeout=60, env=env)  # compiles
        best = min(self.seconds(command, env) for _ in range(7))
        assert best <= limit_s

    def seconds(self, command: list[str], env: dict[str, str]) -> float:
        """CPU time: what it takes by the clock too, on a machine that does nothing else."""
        quiet = subprocess.DEVNULL
        with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=env) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return used.ru_utime + used.ru_stime

    @pytest.mark.parametrize("args", [args for args, _ in QUICK], ids=lambda value: str(value))
    def test_it_imports_nothing_heavy(self, args: list[str]) -> None:
        code = (
            "import json, sys\n"
            "from omni_cli.main import run\n"
            f"run({args!r})\n"
            f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))\n"
        )
        run = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout.splitlines()[-1]) == []

"""What Typer refuses, in omni's form, over the commands that Typer parses."""

from __future__ import annotations

import pytest

from omni_cli.main import run
from omni_cli.usage_line import did_you_mean

WHOLE = "must be a whole number"


def refused(args: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a command line is refused with."""
    assert run(args.split()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err.removeprefix("error: ").removesuffix("\n")


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ("complete -n 0", f"-n 0: {WHOLE} of at least 1"),
        ("complete -n0", f"-n 0: {WHOLE} of at least 1"),
        ("chat --max-tokens -1", f"--max-tokens -1: {WHOLE} of at least 1"),
        ("chat --max-tokens=x", f"--max-tokens x: {WHOLE} of at least 1"),
        ("chat --temperature nan", "--temperature nan: must be a number of at least 0"),
        ("chat --temperature inf", "--temperature inf: must be a number of at least 0"),
        ("bench serve --timeout 1e999", "--timeout inf: must be a number of at least 0.1"),
        ("chat --top-p 2", "--top-p 2: must be a number from 0 to 1"),
        ("chat --seed 1.5", f"--seed 1.5: {WHOLE}"),
        ("bench startup --pairs 0", f"--pairs 0: {WHOLE} from 1 to 1000"),
        ("bench serve -c 5000", f"-c 5000: {WHOLE} from 1 to 4096"),
        ("check --timeout 0", "--timeout 0: must be a number of at least 0.1"),
        ("completion tcsh", "SHELL tcsh: must be bash, zsh or fish"),
        ("completion zhs", "SHELL zhs: must be bash, zsh or fish; did you mean zsh?"),
        (
            "bench serve --endpoint embed",
            "--endpoint embed: must be chat, completions or embeddings; did you mean embeddings?",
        ),
        ("completion", "SHELL: is missing; give bash, zsh or fish (see `omni completion --help`)"),
        ("bench serve --model", "--model: needs a value (see `omni bench serve --help`)"),
        ("chat --json=yes", "--json yes: takes no value (see `omni chat --help`)"),
        ("chat --help=x", "--help x: takes no value (see `omni chat --help`)"),
        ("doctor a b", "a b: are words too many (see `omni doctor --help`)"),
    ],
)
def test_a_refusal_names_flag_value_reason_and_way_out(
    args: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(args, capsys) == line


@pytest.mark.parametrize(
    ("args", "subject"),
    [("chat", "OMNI_MAX_TOKENS 0"), ("chat --max-tokens -1", "--max-tokens -1")],
)
def test_a_variable_is_named_only_if_it_gave_the_value(
    args: str, subject: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNI_MAX_TOKENS", "0")
    assert refused(args, capsys) == f"{subject}: {WHOLE} of at least 1"


@pytest.mark.parametrize(
    ("args", "near"),
    [
        ("chat --temp 9", "--temperature"),
        ("complete --max_tokens 3", "--max-tokens"),
        ("models list --jso", "--json"),
        ("bench serve --num 3", "--num-prompts"),
        ("chat --foo", ""),
    ],
)
def test_an_unknown_option_is_met_with_what_it_is_like(
    args: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(args, capsys)
    assert line.partition("; ")[2].partition(" (")[0] == (f"did you mean {near}?" if near else "")


def test_suggestions_are_three_at_most_and_beginnings_come_alone() -> None:
    assert did_you_mean("--a", ["--ab", "--ac", "--ad", "--ae"]) == (
        "; did you mean --ab, --ac or --ad?"
    )
    assert did_you_mean("--temp", ["--system", "--help", "--temperature"]) == (
        "; did you mean --temperature?"
    )
    assert did_you_mean("--", ["--ab"]) == ""

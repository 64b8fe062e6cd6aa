"""What the shells offer at TAB, against what the application says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_bridge.models import catalogue as models
from omni_cli.app import command_tree
from omni_cli.batch.flags import batch_catalogue
from omni_cli.flags.catalogue import catalogue
from omni_cli.help import COMMANDS, choices_of
from tests.omni_cli.conftest import ROOT
from tests.omni_cli.shells.conftest import FILES, FOLDER
from tests.omni_cli.shells.shell import Answer, Shell
from tests.tools import needed

TREE = {ctx.command_path: (ctx, command) for ctx, command in command_tree()}
GROUPS = [path for path, (_, command) in TREE.items() if hasattr(command, "list_commands")]
# Flags that Typer does not know, of the commands that read their words by themselves.
READ = {
    path: [
        flag
        for flag in flags
        if flag.scope != "refused" and not flag.deprecated and not flag.positional
    ]
    for path, flags in (("omni serve", catalogue()), ("omni run-batch", batch_catalogue()))
}
SERVE = READ["omni serve"]
# Of one TAB among all flags of `omni serve`; a person notices a tenth of a second.
TAB_LIMIT_S = 0.05
TAB_TRIES = 20  # on a machine that is busy with other things


def options(path: str) -> Iterator[Any]:
    ctx, command = TREE[path]
    for param in command.get_params(ctx):
        if param.param_type_name == "option" and not param.hidden:
            yield param


def flag_names(path: str) -> set[str]:
    """Every spelling of every flag of a command."""
    names = {name for param in options(path) for name in (*param.opts, *param.secondary_opts)}
    return names | {name for flag in READ.get(path, ()) for name in (*flag.names, *flag.off)}


def limited() -> dict[str, set[str]]:
    """The values of each flag that has a list of them, by the line that asks for one."""
    found = {
        f"{path} {param.opts[0]}": {str(choice) for choice in choices_of(param)}
        for path in TREE
        for param in options(path)
        if not param.is_flag and not param.count
    }
    for path, flags in READ.items():
        # One of three of those that both commands have is tried in a batch
        tried = flags if path == "omni serve" else flags[::3]
        found |= {f"{path} {flag.name}": set(flag.choices or flag.known) for flag in tried}
    return {line: values for line, values in found.items() if len(values) > 1}


def words(answer: Answer) -> set[str]:
    """What was listed. fish repeats the flag before each value, shortened if it is long, and offers
    `--help=` beside `--help`."""
    return {re.sub(r"^(?:--|…)[^=]*=(?=.)", "", word).removesuffix("=") for word in answer.offers}


class TestCommands:
    @pytest.mark.parametrize("path", GROUPS)
    def test_members_are_offered(self, shell: Shell, path: str) -> None:
        ctx, command = TREE[path]
        members = {
            name for name in command.list_commands(ctx) if not command.get_command(ctx, name).hidden
        }
        assert words(shell.press(f"{path} \t")) == members

    def test_the_rest_of_one_is_inserted(self, shell: Shell) -> None:
        assert shell.press("omni ser\t").line == "omni serve "
        assert shell.press("omni models pu\t").line == "omni models pull "

    def test_each_is_described(self, shell: Shell) -> None:
        offers = shell.press("omni \t").offers
        texts = {name: text.rstrip(".") for name, text in COMMANDS.items()}
        assert offers == ({name: "" for name in texts} if shell.name == "bash" else texts)


class TestFlags:
    @pytest.mark.parametrize("path", TREE)
    def test_all_are_offered(self, shell: Shell, path: str) -> None:
        assert words(shell.press(f"{path} -\t")) == flag_names(path)

    def test_each_is_described(self, shell: Shell) -> None:
        offers = shell.press("omni chat --t\t").offers
        texts = {"--temperature": "Randomness", "--timeout": "Longest wait for a server that"}
        for name, text in texts.items():
            assert offers[name].startswith("" if shell.name == "bash" else text)
            assert bool(offers[name]) == (shell.name != "bash")

    def test_the_rest_of_one_is_inserted(self, shell: Shell) -> None:
        # zsh takes the = back when a space is typed
        ends = "=" if shell.name == "zsh" else " "
        assert shell.press("omni serve --max-model-l\t").line == f"omni serve --max-model-len{ends}"
        assert shell.press("omni chat --st\t").line == "omni chat --stats "
        assert shell.press("omni --ver\t").line == "omni --version "

    def test_one_that_is_given_is_not_offered_again(self, shell: Shell) -> None:
        # fish offers whatever a command knows, which is what its users expect
        more = "ype " if shell.name == "fish" else ""
        for line in ("omni serve --dtype half --dt", "omni serve --dtype=half --dt"):
            assert shell.press(f"{line}\t").line == line + more

    def test_one_that_may_be_repeated_is(self, shell: Shell) -> None:
        line = "omni serve --api-key k --api-k"
        assert shell.press(f"{line}\t").line.startswith(f"{line}ey")

    def test_others_of_the_program_are_not_offered(self, shell: Shell) -> None:
        line = "omni version chat --te"
        assert shell.press(f"{line}\t").line == line

    def test_a_tab_is_quick(self, shell: Shell) -> None:
        times = []
        for _ in range(TAB_TRIES):
            times.append(shell.press("omni serve --m\t").seconds)
            if times[-1] < TAB_LIMIT_S:
                return
        pytest.fail(f"{shell.name} took {min(times):.3f} s")


class TestValues:
    @pytest.mark.parametrize("line", limited())
    def test_all_are_offered(self, shell: Shell, line: str) -> None:
        assert words(shell.press(f"{line} \t")) == limited()[line]
        if " --" in line:
            assert words(shell.press(f"{line}=\t")) == limited()[line]

    def test_the_rest_of_one_is_inserted(self, shell: Shell) -> None:
        assert shell.press("omni serve --dtype bf\t").line == "omni serve --dtype bfloat16 "
        assert shell.press("omni serve --dtype=bf\t").line == "omni serve --dtype=bfloat16 "

    def test_a_short_flag_has_them_as_well(self, shell: Shell) -> None:
        assert words(shell.press("omni serve -q \t")) == words(
            shell.press("omni serve --quantization \t")
        )

    @pytest.mark.parametrize("flag", ["serve --host", "serve -tp", "chat --model"])
    def test_a_free_one_gets_no_guess(self, shell: Shell, flag: str) -> None:
        answer = shell.press(f"omni {flag} \t")
        assert (answer.line, answer.offers) == (f"omni {flag} ", {})

    def test_help_of_serve_has_topics(self, shell: Shell) -> None:
        topics = {"all", *catalogue().groups} - {"Arguments"}
        assert words(shell.press("omni serve --help=\t")) == topics

    def test_keys_of_an_object_are_offered_after_a_dot(self, shell: Shell) -> None:
        (flag,) = [flag for flag in SERVE if flag.name == "--attention-config"]
        for name in flag.names:
            offers = shell.press(f"omni serve {name}.\t").offers
            # bash and fish repeat the flag, fish shortened
            assert {re.sub(r"^(?:-|…)[^.]*\.", "", word) for word in offers} == set(flag.keys)
        line = "omni serve --attention-config.use_non"
        assert shell.press(f"{line}\t").line == f"{line}_causal "

    def test_a_value_does_not_count_as_a_command(self, shell: Shell) -> None:
        assert shell.press("omni chat --model serve --st\t").line.endswith(" --stats ")


class TestOperands:
    def test_serve_takes_models_pipelines_and_folders(self, shell: Shell) -> None:
        offers = words(shell.press("omni serve \t"))
        pipelines = {name for name in FILES if not name.endswith(".txt")}
        assert offers == {*models.names(), *pipelines, f"{FOLDER}/"}

    def test_batch_takes_a_file_and_what_serve_takes(self, shell: Shell) -> None:
        everything = {*FILES, f"{FOLDER}/"}
        assert words(shell.press("omni run-batch \t")) >= everything
        offers = words(shell.press("omni run-batch my\\ notes.txt \t"))
        if shell.name == "fish":  # which does not count
            assert offers >= {*models.names(), *everything}
        else:
            pipelines = {name for name in FILES if not name.endswith(".txt")}
            assert offers == {*models.names(), *pipelines, f"{FOLDER}/"}

    def test_spaces_in_names_are_quoted(self, shell: Shell) -> None:
        assert shell.press("omni serve my\t").line == "omni serve my\\ pipeline.yml "
        assert shell.press("omni serve my\\ p\t").line == "omni serve my\\ pipeline.yml "
        assert shell.press("omni serve sub\t").line == "omni serve sub\\ folder/"

    def test_a_quote_that_is_open_is_closed(self, shell: Shell) -> None:
        assert shell.press("omni serve 'my p\t").line.rstrip() == "omni serve 'my pipeline.yml'"

    @pytest.mark.parametrize("command", ["pull", "path", "remove"])
    def test_models_takes_bundled_ones(self, shell: Shell, command: str) -> None:
        assert words(shell.press(f"omni models {command} \t")) == set(models.names())

    def test_a_flag_with_a_path_takes_any_file(self, shell: Shell) -> None:
        for between in (" ", "="):
            line = f"omni serve --chat-template{between}my"
            assert words(shell.press(f"{line}\t")) == {"my notes.txt", "my pipeline.yml"}
            assert shell.press(f"{line}\\ n\t").line.rstrip() == f"{line}\\ notes.txt"

    def test_completion_takes_a_shell(self, shell: Shell) -> None:
        assert words(shell.press("omni completion \t")) == {"bash", "zsh", "fish"}


def test_zsh_finds_it_in_its_path_of_functions(tmp_path: Path) -> None:
    functions = tmp_path / "functions"
    functions.mkdir()
    (functions / "_omni").symlink_to(ROOT / "completions" / "omni.zsh")
    (tmp_path / "again").write_text(f"fpath=({functions} $fpath); compinit -D\n")
    shell = Shell("zsh", needed("zsh"), tmp_path)
    try:
        shell.source(tmp_path / "again")
        assert words(shell.press("omni models \t")) == {"list", "path", "pull", "remove"}
    finally:
        shell.close()

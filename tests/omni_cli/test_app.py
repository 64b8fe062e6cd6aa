"""The table of commands against the commands themselves."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from omni_cli import commands
from omni_cli.app import command_tree, root_command
from omni_cli.help import COMMANDS, command_page, render, root_page


def test_the_table_names_every_module() -> None:
    modules = [module.name.replace("_", "-") for module in pkgutil.iter_modules(commands.__path__)]
    assert sorted(COMMANDS) == sorted(modules)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_line_is_the_first_of_the_commands_own_help(name: str) -> None:
    found = {ctx.command_path: command for ctx, command in command_tree()}
    assert (found[f"omni {name}"].help or "").partition("\n")[0] == COMMANDS[name]


def test_the_root_page_shows_the_root_options() -> None:
    command = root_command()
    options = [opt for param in command.params for opt in param.opts]
    page = render(root_page(), width=80)
    assert options == ["--version"]
    assert all(option in page for option in [*options, "-h, --help"])


def test_every_option_explains_itself() -> None:
    silent = [
        f"{ctx.command_path} {param.name}"
        for ctx, command in command_tree()
        for param in command.params
        if not getattr(param, "help", None)
    ]
    assert silent == []


def test_options_are_grouped_by_panel() -> None:
    found = {ctx.command_path: (ctx, command) for ctx, command in command_tree()}
    ctx, command = found["omni chat"]
    titles = [group.title for group in command_page(command, ctx).groups]
    assert titles == ["Arguments", "Server", "Answer", "Output", "Options"]


def test_words_of_another_command_stand_behind_the_options() -> None:
    found = {ctx.command_path: (ctx, command) for ctx, command in command_tree()}
    ctx, command = found["omni bench startup"]
    page = render(command_page(command, ctx), width=100)
    assert page.startswith("Usage: omni bench startup [OPTIONS] [-- ARGS...]\n")
    assert "[default: 600]" in page


def test_a_command_is_imported_only_when_it_is_called() -> None:
    assert importlib.import_module("omni_cli.app").root_command().commands == {}

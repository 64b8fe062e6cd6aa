"""The Typer application: it registers the commands, and imports one only when it is called or its
help is asked."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from omni_cli import help as pages
from omni_cli.terminal import Terminal

__all__ = ["UnparsedCommand", "app", "command_tree", "root_command"]


class NotFinite(typer.BadParameter):
    """A float that is no number."""

    def __init__(self, value: float, ctx: Any, param: Any) -> None:
        super().__init__("must be a number", ctx=ctx, param=param)
        self.value = value


class PlainCommand(TyperCommand):
    """A command whose help is laid out by ``omni_cli.help``."""

    def get_help(self, ctx: Any) -> str:
        return _page(self, ctx)

    def get_help_option(self, ctx: Any) -> Any:
        return _decided(super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            rest: list[str] = super().parse_args(ctx, args)
        except typer.TyperException as error:
            if getattr(error, "ctx", ctx) is None:  # the parser's own do not know their command
                error.ctx = ctx  # type: ignore[attr-defined]
            raise
        for param in self.params:  # neither JSON nor a clock takes inf, though it is a float
            value = ctx.params.get(param.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise NotFinite(value, ctx, param)
        return rest


class UnparsedCommand(PlainCommand):
    """A command that gets every word behind its name as it is, help flags included, in
    ``ctx.args``."""

    def get_help_option(self, ctx: Any) -> Any:
        return None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return args


class PlainGroup(TyperGroup):
    """A group whose help is laid out by ``omni_cli.help``, and which names the nearest of its
    commands."""

    def get_help(self, ctx: Any) -> str:
        return _page(self, ctx)

    def get_help_option(self, ctx: Any) -> Any:
        return _decided(super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # The group alone: its help is what was asked for
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            from omni_cli.usage_line import did_you_mean  # noqa: PLC0415 - late: 2 ms

            near = did_you_mean(name, self.list_commands(ctx), likeness=0.5)  # rm is remove
            ctx.fail(f"no such command: {name}{near}")
        return super().resolve_command(ctx, args)


class LazyGroup(PlainGroup):
    """The root group: a command is the function or the Typer app in
    ``omni_cli.commands.<name>``."""

    def get_help(self, ctx: Any) -> str:
        return _laid_out(pages.root_page())

    def list_commands(self, ctx: Any) -> list[str]:
        return list(pages.COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in pages.COMMANDS:
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands[cmd_name]


app = typer.Typer(
    name="omni",
    cls=LazyGroup,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show omni's version."),
) -> None:
    """Serve any-to-any models on vLLM, and use them."""
    if version:
        from omni_cli.main import version_line  # noqa: PLC0415 - it imports this module

        typer.echo(version_line())
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def root_command() -> Any:
    """The root group as the object that parses and runs a command line."""
    return get_command(app)


def command_tree() -> Iterator[tuple[typer.Context, Any]]:
    """Every command with its context, groups before their members; for the docs and the
    completions."""

    def walk(command: Any, ctx: Any) -> Iterator[tuple[typer.Context, Any]]:
        yield ctx, command
        if isinstance(command, TyperGroup):
            for name in command.list_commands(ctx):
                member = command.get_command(ctx, name)
                if member is not None and not member.hidden:
                    yield from walk(member, typer.Context(member, parent=ctx, info_name=name))

    command = root_command()
    context = typer.Context(command, info_name="omni", **command.context_settings)
    yield from walk(command, context)


def _load(name: str) -> Any:
    module = importlib.import_module(f"omni_cli.commands.{name.replace('-', '_')}")
    loaded = getattr(module, "app", None)
    if loaded is None:
        loaded = typer.Typer(add_completion=False, rich_markup_mode=None)
        loaded.command(name=name)(getattr(module, name.replace("-", "_")))
    _make_plain(loaded)
    command = get_command(loaded)
    command.name = name
    return command


def _make_plain(sub_app: typer.Typer) -> None:
    sub_app._add_completion = False
    sub_app.info.cls = PlainGroup
    for command in sub_app.registered_commands:
        if not issubclass(command.cls or TyperCommand, PlainCommand):
            command.cls = PlainCommand
    for group in sub_app.registered_groups:
        if group.typer_instance is not None:
            _make_plain(group.typer_instance)


def _decided(help_option: Any) -> Any:
    """Give the help option a bool as its default: anything else is coerced, which imports pydantic
    (0.15 s)."""
    if help_option is not None:
        help_option.default = False
        help_option.help = "Show this help."
        help_option.opts.sort(key=len)  # they come out of a set, in any order
    return help_option


def _page(command: Any, ctx: typer.Context) -> str:
    return _laid_out(pages.command_page(command, ctx))


def _laid_out(page: pages.Page) -> str:
    return pages.render(page, width=pages.page_width(), bold=Terminal().out.colour).rstrip("\n")

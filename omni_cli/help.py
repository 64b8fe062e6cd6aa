"""Help pages, laid out plainly: aligned, grouped, wrapped to the terminal, bold headings only on
one.

Typer's own rendering goes through rich, which alone costs more time than a help page may take. A
page is first collected as data (``Page``), so that the terminal, docs/cli.md and the completions
show the same facts. Neither this module nor the root page needs Typer: ``omni``, ``omni --help``
and ``omni --version`` are answered without it.
"""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    import typer

__all__ = [
    "COMMANDS",
    "Group",
    "Page",
    "Row",
    "choices_of",
    "command_page",
    "page_width",
    "render",
    "root_page",
]

# One line per command, in the order shown. Static, so that the root page imports no command; a test
# compares each line with the first line of the command's docstring.
COMMANDS: dict[str, str] = {
    "serve": "Serve a model, or a pipeline of models, over HTTP until interrupted.",
    "chat": "Talk to a served model, or ask it one question.",
    "complete": "Let a served model go on from a text, once.",
    "bench": "Measure how fast a server answers, and how fast it starts.",
    "check": "Test whether a server keeps the rules of its APIs.",
    "doctor": "Report what is installed here, and what is in the way.",
    "run-batch": "Run a file of requests, against a server or on engines of its own.",
    "models": "Fetch, list and remove the bundled models.",
    "completion": "Print the completion script of a shell.",
    "version": "Show the versions of omni and of the engine below it.",
}

MAX_WIDTH = 100  # columns; longer lines are hard to read
MIN_WIDTH = 40  # columns; below that every line would be broken anyway
MAX_LEFT = 30  # columns of the left side of a row; a longer one pushes its text onto the next line


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: a command, an argument or an option, and what it does."""

    left: str
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """A titled table."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One command's help.

    Attributes:
        usage: The line after ``Usage:``.
        paragraphs: The description; a paragraph that starts with a space keeps its line breaks.
        groups: Tables, in the order shown.
        closing: A last line, or empty.
    """

    usage: str
    paragraphs: tuple[str, ...]
    groups: tuple[Group, ...] = field(default=())
    closing: str = ""


def root_page() -> Page:
    """The page of ``omni`` itself."""
    options = (Row("-h, --help", "Show this help."), Row("--version", "Show omni's version."))
    return Page(
        usage="omni COMMAND [OPTIONS]",
        paragraphs=("Serve any-to-any models on vLLM, and use them.",),
        groups=(
            Group("Commands", tuple(Row(name, text) for name, text in COMMANDS.items())),
            Group("Options", options),
        ),
        closing="`omni COMMAND --help` tells more about a command.",
    )


def command_page(command: Any, ctx: typer.Context) -> Page:
    """Collect the page of a Typer command or group; options are grouped by ``rich_help_panel``.

    Args:
        command: A TyperCommand or TyperGroup.
        ctx: Its context; ``ctx.command_path`` is how the user spells it.

    A command that reads its words by itself has a ``page`` of its own.
    """
    own = getattr(command, "page", None)
    if own is not None:
        page: Page = own()
        return page
    groups: dict[str, list[Row]] = {}
    usage = [ctx.command_path]
    subcommands = [(n, command.get_command(ctx, n)) for n in _subcommand_names(command, ctx)]
    if subcommands:
        usage.append("COMMAND")
        groups["Commands"] = [
            Row(name, _first_line(sub.help)) for name, sub in subcommands if not sub.hidden
        ]
    late: dict[str, list[Row]] = {}
    words: list[str] = []  # of another command, behind a --
    for param in command.get_params(ctx):
        if getattr(param, "hidden", False):
            continue
        if param.param_type_name == "argument":
            name = _argument_name(param)
            (words if name.startswith("[--") else usage).append(name)
            groups.setdefault("Arguments", []).append(Row(name, _text(param)))
        else:
            title = param.rich_help_panel or "Options"
            target = late if title == "Options" else groups
            target.setdefault(title, []).append(Row(_option_names(param), _text(param)))
    usage += ["[OPTIONS]", *words]
    groups.update(late)
    return Page(
        usage=" ".join(usage),
        paragraphs=tuple(_paragraphs(command.help or "")),
        groups=tuple(Group(title, tuple(rows)) for title, rows in groups.items()),
        closing=f"`{ctx.command_path} COMMAND --help` tells more about a command."
        if subcommands
        else "",
    )


def page_width() -> int:
    """Columns to lay a page out for: the terminal's (or COLUMNS), within bounds."""
    return max(MIN_WIDTH, min(MAX_WIDTH, shutil.get_terminal_size().columns))


def render(page: Page, *, width: int, bold: bool = False) -> str:
    """Lay a page out as text that ends in one newline.

    Args:
        width: Columns that no line exceeds, single long words aside.
        bold: Whether headings carry terminal escapes.
    """
    blocks = [f"{_heading('Usage:', bold)} {_wrap(page.usage, width - 7, 7)}"]
    for paragraph in page.paragraphs:
        kept = paragraph.startswith(" ")
        blocks.append(paragraph if kept else _wrap(paragraph, width, 0))
    for group in page.groups:
        lefts = [len(row.left) for row in group.rows if len(row.left) <= MAX_LEFT]
        column = max(lefts, default=MAX_LEFT) + 4
        lines = [_row(row, column, width) for row in group.rows]
        blocks.append("\n".join([_heading(f"{group.title}:", bold), *lines]))
    if page.closing:
        blocks.append(_wrap(page.closing, width, 0))
    return "\n\n".join(blocks) + "\n"


def _heading(text: str, bold: bool) -> str:
    return f"\x1b[1m{text}\x1b[0m" if bold else text


def _wrap(text: str, width: int, indent: int) -> str:
    lines = textwrap.wrap(text, max(width, 10), break_long_words=False, break_on_hyphens=False)
    return f"\n{' ' * indent}".join(lines)


def _row(row: Row, column: int, width: int) -> str:
    if not row.text:
        return f"  {row.left}"
    text = _wrap(row.text, width - column, column)
    if len(row.left) + 4 > column:
        return f"  {row.left}\n{' ' * column}{text}"
    return f"  {row.left}".ljust(column) + text


def _subcommand_names(command: Any, ctx: typer.Context) -> list[str]:
    return command.list_commands(ctx) if hasattr(command, "list_commands") else []


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _paragraphs(text: str) -> list[str]:
    found = []
    for block in text.strip("\n").split("\n\n"):
        found.append(block.rstrip() if block.startswith(" ") else " ".join(block.split()))
    return [block for block in found if block]


def _argument_name(param: Any) -> str:
    name = (param.metavar or param.name.upper().replace("_", "-")).strip("[]<>").rstrip(".")
    name = f"{name}..." if param.nargs == -1 else name
    return name if param.required else f"[{name}]"


def _option_names(param: Any) -> str:
    short = [opt for opt in param.opts if not opt.startswith("--")]
    long = [opt for opt in param.opts if opt.startswith("--")]
    names = ", ".join([*short, *long])
    if param.secondary_opts:
        names += " / " + ", ".join(param.secondary_opts)
    if param.is_flag or param.count:
        return names
    choices = choices_of(param)
    return f"{names} {param.metavar or ('|'.join(choices) if choices else _kind(param))}"


def choices_of(param: Any) -> list[str]:
    """The values that an option is limited to, or none."""
    found = param.type_descriptor.choices or ()
    return [str(choice.value) if isinstance(choice, Enum) else str(choice) for choice in found]


def _kind(param: Any) -> str:
    name = param.bare_type().removeprefix("list[").rstrip("]").lower()
    return {"int": "N", "float": "X", "path": "PATH", "bool": "BOOL"}.get(name, "TEXT")


def _text(param: Any) -> str:
    text = (param.help or "").strip()
    facts = []
    variable = param.envvar
    if variable and param.show_envvar:
        facts.append(f"env: {variable if isinstance(variable, str) else ', '.join(variable)}")
    default = _default(param)
    if default:
        facts.append(f"default: {default}")
    if param.required and param.param_type_name == "option":
        facts.append("required")
    return " ".join([text, *(f"[{fact}]" for fact in facts)]).strip()


def _default(param: Any) -> str:
    if isinstance(param.show_default, str):
        return str(param.show_default)
    value = param.default
    if not param.show_default or value is None or callable(value) or value in ((), []):
        return ""
    if isinstance(value, bool):
        return "on" if value and param.secondary_opts else ""
    if isinstance(value, float):
        return f"{value:g}"
    return str(getattr(value, "value", value))

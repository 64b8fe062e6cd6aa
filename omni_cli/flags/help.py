"""Help pages of ``omni serve``: the flags that matter, all, a group, or what a word finds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from engine_bridge.errors import UsageError
from omni_cli.flags.catalogue import Catalogue
from omni_cli.flags.changed import CHANGED
from omni_cli.flags.flag import Flag
from omni_cli.flags.own import OWN
from omni_cli.flags.values import limits
from omni_cli.help import COMMANDS, Group, Page, Row

__all__ = ["find_help", "facts", "fate", "left_side", "short_page"]

USAGE = "omni serve [TARGET] [OPTIONS]"
ALL = "all"
# Of the help text of one flag on the page of all; the rest stands on the page of its group.
MAX_SUMMARY_CHARS = 160
# Choices that fit beside a flag's name; more stand in its text.
MAX_BESIDE_CHARS = 24
# A higher bound only catches typing errors, and is not told.
MAX_TOLD = 10_000_000
# With so few flags on a page, each shows all that is known about it.
MAX_DETAILED = 3
# Headings of the short page for what vLLM files under names of its classes.
_SHORT_TITLES: Mapping[str, str] = {
    "Frontend": "Model",
    "LoadConfig": "Model",
    "ModelConfig": "Model",
    "StructuredOutputsConfig": "Model",
}
_ENGINE = "Engine"
_ENGINE_DESTS = ("max_model_len",)
_SHORT_ORDER = (
    "Arguments",
    "Listening",
    "Security",
    "Processes",
    "Model",
    _ENGINE,
    "Output",
    "Settings",
)
_METAVARS: Mapping[str, str] = {
    "integer": "N",
    "number": "X",
    "count": "N",
    "length": "TOKENS",
    "json": "JSON",
    "object": "JSON",
    "text": "TEXT",
}
_VARIABLES = (
    "Every option can also be given by the environment, as OMNI_ and its name (OMNI_PORT=8080), or "
    "in a settings file; a flag wins over the environment, and both win over the file."
)
_MANY_WAYS = "All options of `vllm serve` are taken as well, under their own names."


def find_help(flags: Catalogue, word: str = "") -> Page:
    """The page for a word.

    Args:
        flags: The catalogue.
        word: ``all``, a group's title in any case, or part of a name or text; empty for the short
            page.

    Raises:
        UsageError: If nothing is found; it names what is near.
    """
    asked = word.strip().lower().lstrip("-").replace("_", "-")
    if not asked:
        return short_page(flags)
    if asked == ALL:
        return _page("Every option of omni serve and of vLLM.", _grouped(flags))
    for title in (*flags.groups, *flags.vllm_groups):
        if title.lower() == asked:
            return _group_page(flags, title)
    return _word_page(flags, word.strip(), asked)


def short_page(flags: Catalogue) -> Page:
    """The dozen that matter, and how to find the rest."""
    rows: dict[str, list[Row]] = {}
    order = {dest: place for place, dest in enumerate((*CHANGED, *(flag.dest for flag in OWN)))}
    for flag in sorted(flags, key=lambda flag: order.get(flag.dest, 0)):
        if flag.common:
            title = _SHORT_TITLES.get(flag.group, flag.group)
            if flag.dest in _ENGINE_DESTS or title.endswith("Config"):
                title = _ENGINE
            rows.setdefault(title, []).append(_short(flag))
    more = (
        Row("--help=all", "Every option, in groups."),
        Row("--help=GROUP", "The options of one group, such as --help=SchedulerConfig."),
        Row("--help=WORD", "Options with a word in their name or text, such as --help=cache."),
    )
    groups = tuple(Row(title, text) for title, text in flags.groups.items() if title != "Arguments")
    return Page(
        usage=USAGE,
        paragraphs=(COMMANDS["serve"], _VARIABLES, _MANY_WAYS),
        groups=(
            *(Group(title, tuple(rows[title])) for title in _SHORT_ORDER if title in rows),
            Group("More help", more),
            Group("Groups of options", groups),
        ),
    )


def left_side(flag: Flag) -> str:
    """A flag with all its spellings, and what stands for its value."""
    if flag.positional:
        return f"[{flag.name}]"
    short = [name for name in flag.names if not name.startswith("--")]
    names = ", ".join([*short, *(name for name in flag.names if name.startswith("--"))])
    if flag.dest == "help":
        return f"{names}[=WORD]"
    off = f" / {', '.join(flag.off)}" if flag.off else ""
    value = metavar(flag)
    return f"{names}{off}{f' {value}' if value else ''}"


def metavar(flag: Flag) -> str:
    """What stands for the value: the choices if they are few, else a name; empty for a switch."""
    if flag.kind == "switch":
        return ""
    beside = "|".join(flag.choices)
    name = flag.metavar or (beside if 0 < len(beside) <= MAX_BESIDE_CHARS else "")
    name = name or ("NAME" if flag.choices else _METAVARS[flag.kind])
    if flag.many == "some":
        return f"{name}..."
    return f"[{name.strip('[]')}]" if flag.many == "optional" else name


def facts(flag: Flag) -> list[str]:
    """What else there is to say about a flag, each as a phrase of its own."""
    found = []
    bounded = flag.low is not None or flag.high is not None
    if bounded and not flag.choices and (flag.high or 0) < MAX_TOLD:
        found.append(limits(flag).removeprefix("a whole number ").removeprefix("a number "))
    if flag.choices and "|".join(flag.choices) not in metavar(flag):
        found.append(f"one of {', '.join(flag.choices)}")
    shown = _default(flag.default)
    if shown:
        found.append(f"default: {shown}")
    return found


def _default(value: object) -> str:
    if value is None or value is False or value in ("", [], {}):
        return ""
    if value is True:
        return "on"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, str | int) else json.dumps(value)


def fate(flag: Flag) -> str:
    """What becomes of a flag that does not simply act, as a sentence; else empty."""
    if flag.scope == "refused":
        way_out = f"; {flag.way_out}" if flag.way_out else ""
        return f"Refused: {flag.reason}{way_out}."
    if flag.scope == "satisfied":
        return f"Changes nothing: {flag.reason}."
    return "Deprecated." if flag.deprecated else ""


def _row(flag: Flag, text: str, extra: Iterable[str]) -> Row:
    brackets = (f"[{each}]" for each in extra)
    return Row(left_side(flag), " ".join(filter(None, (text, fate(flag), *brackets))))


def _short(flag: Flag) -> Row:
    """Without the negative form and further long names."""
    row = _full(flag)
    short = [name for name in flag.names if not name.startswith("--") and not flag.positional]
    value = "" if flag.dest == "help" or flag.positional else metavar(flag)
    left = " ".join(filter(None, (", ".join([*short, flag.name]), value)))
    return Row(left if short or value or flag.kind == "switch" else row.left, row.text)


def _brief(flag: Flag) -> Row:
    default = _default(flag.default)
    return _row(flag, summary(flag), [f"default: {default}"] if default else ())


def _full(flag: Flag) -> Row:
    return _row(flag, flag.help, facts(flag))


def _detailed(flag: Flag) -> Row:
    more = facts(flag)
    if flag.known:
        more.append(f"known: {', '.join(flag.known)}")
    if flag.keys:
        more.append(f"keys: {', '.join(flag.keys)}")
    if not flag.positional and flag.dest not in ("help", "config"):
        more.append(f"env: {flag.variable}")
    return _row(flag, flag.help, more)


def summary(flag: Flag) -> str:
    """The first sentence of a flag's help, cut if it is long."""
    first = flag.help.partition(". ")[0]
    text = first if len(first) == len(flag.help) else f"{first}."
    if len(text) <= MAX_SUMMARY_CHARS:
        return text
    return f"{text[:MAX_SUMMARY_CHARS].rpartition(' ')[0]} ..."


def _grouped(flags: Iterable[Flag]) -> tuple[Group, ...]:
    rows: dict[str, list[Row]] = {}
    for flag in flags:
        rows.setdefault(flag.group, []).append(_brief(flag))
    return tuple(Group(title, tuple(found)) for title, found in rows.items())


def _page(paragraph: str, groups: tuple[Group, ...], closing: str = "") -> Page:
    return Page(usage=USAGE, paragraphs=(paragraph,), groups=groups, closing=closing)


def _group_page(flags: Catalogue, title: str) -> Page:
    members = [flag for flag in flags if title in (flag.group, flag.vllm_group)]
    text = flags.groups.get(title) or flags.vllm_groups[title]
    return _page(f"{title}: {text}", (Group(title, tuple(map(_full, members))),))


def _word_page(flags: Catalogue, word: str, asked: str) -> Page:
    named = [flag for flag in flags if _names(flag, asked)]
    telling = [flag for flag in flags if flag not in named and _tells(flag, asked)]
    if not named and not telling:
        near = flags.near(f"--{asked}")
        hint = f"did you mean {' or '.join(near)}?" if near else "--help=all shows every option"
        raise UsageError(f"--help={word}", None, "is in no option's name or text", hint)
    exact = flags.find(word) or flags.find(asked)
    if exact is not None and word.startswith("-"):
        named = [exact]  # written with its dashes: no other is meant
    elif exact is not None:
        named = [exact, *(flag for flag in named if flag is not exact)]
    if exact is not None and len(named) <= MAX_DETAILED:
        telling = []
    row: Callable[[Flag], Row] = _detailed if len(named) <= MAX_DETAILED else _full
    groups = [Group(f"Named {word}", tuple(map(row, named)))] if named else []
    if telling:
        groups.append(Group(f"Speaking of {word}", tuple(map(_brief, telling))))
    count = len(named) + len(telling)
    return _page(f"{count} {'option' if count == 1 else 'options'} for {word}.", (*groups,))


def _names(flag: Flag, asked: str) -> bool:
    return any(asked in name.lower() for name in (*flag.names, *flag.off))


def _tells(flag: Flag, asked: str) -> bool:
    text = f"{flag.help} {' '.join(flag.choices)} {flag.reason}".lower().replace("_", "-")
    return asked in text

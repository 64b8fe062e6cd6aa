"""What can follow each command, collected from the application: the same for every shell."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from omni_cli.app import command_tree
from omni_cli.help import choices_of

if TYPE_CHECKING:
    from omni_cli.flags.flag import Flag

__all__ = ["Operand", "Option", "Place", "bundled_models", "places"]

MAX_TEXT = 72  # characters of a description; it stands beside a flag on one row
SERVE, RUN_BATCH = "serve", "run-batch"
MODELS = ("models pull", "models path", "models remove")  # whose NAME is a bundled model
# Flags of vLLM's that take a file or a folder, which vLLM's parser does not know.
PATHS = {
    "allowed_local_media_path",
    "download_dir",
    "generation_config",
    "hf_config_path",
    "mm_encoder_fp8_scale_path",
    "mm_encoder_fp8_scale_save_path",
    "reasoning_parser_plugin",
    "tokenizer",
    "tool_parser_plugin",
    "uds",
}
NO_PATHS = {"root_path"}  # a part of an address
_PATH = re.compile(r"\b(PATH|FILE|FOLDER|DIR)\b")

Operand = Literal["words", "models", "targets", "files"]
"""What a command takes beside its flags: ``words`` of a fixed list, ``models`` bundled ones,
``targets`` whatever can be served (bundled models, pipeline files, folders), ``files`` any."""

Takes = Literal["nothing", "value", "perhaps"]
"""``perhaps``: a value only in the same word, as in ``--help=all``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One flag.

    Attributes:
        names: Every spelling, those that switch off as well; one of them is enough.
        text: What it does, in a few words.
        takes: Whether a value follows.
        values: The only values allowed, or all that are worth offering; empty if free.
        keys: Of the object that it builds, as in ``--flag.key value``; empty if it builds none.
        is_path: Whether the value is a file or a folder.
        repeatable: Whether it may be given again.
    """

    names: tuple[str, ...]
    text: str
    takes: Takes = "nothing"
    values: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    is_path: bool = False
    repeatable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A command, by the words that lead to it (``models pull``; empty for ``omni`` itself).

    Attributes:
        at: Those words.
        members: Its subcommands with what each does; empty if it has none.
        options: Its own flags.
        shared: Flags that it shares with others; the same object in each.
        operands: What it takes beside them, in order.
        words: The words of an operand that is a fixed list.
        many: Whether the last operand may be given again.
    """

    at: str
    members: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]
    shared: tuple[Option, ...] = ()
    operands: tuple[Operand, ...] = ()
    words: tuple[str, ...] = ()
    many: bool = False


def places() -> list[Place]:
    """Every command of the application, groups before their members."""
    found = [_place(ctx, command) for ctx, command in command_tree()]
    sharing = [place for place in found if place.at in (SERVE, RUN_BATCH)]
    shared = tuple(
        option
        for option in sharing[0].options
        if all(option in place.options for place in sharing[1:])
    )
    return [
        replace(
            place,
            options=tuple(option for option in place.options if option not in shared),
            shared=shared,
        )
        if place in sharing
        else place
        for place in found
    ]


def bundled_models() -> tuple[str, ...]:
    """Names of the models that omni can fetch by itself."""
    from engine_bridge.models import catalogue  # noqa: PLC0415 - late: 15 ms

    return catalogue.names()


def _place(ctx: Any, command: Any) -> Place:
    at = ctx.command_path.removeprefix("omni").strip()
    members = []
    if hasattr(command, "list_commands"):
        for name in command.list_commands(ctx):
            member = command.get_command(ctx, name)
            if not member.hidden:
                members.append((name, _short(member.help or "")))
    options = [_of_param(param) for param in command.get_params(ctx) if _is_shown(param)]
    if at in (SERVE, RUN_BATCH):
        options = [*_catalogue_options(at), *options]
    operands, words, many = _operands(at, command, ctx)
    return Place(
        at=at,
        members=tuple(members),
        options=tuple(options),
        operands=operands,
        words=words,
        many=many,
    )


def _is_shown(param: Any) -> bool:
    return param.param_type_name == "option" and not param.hidden


def _operands(at: str, command: Any, ctx: Any) -> tuple[tuple[Operand, ...], tuple[str, ...], bool]:
    if at == SERVE:
        return ("targets",), (), False
    if at == RUN_BATCH:
        return ("files", "targets"), (), False
    for param in command.get_params(ctx):
        if param.param_type_name != "argument":
            continue
        many = param.nargs == -1
        if at in MODELS:
            return ("models",), (), many
        if words := tuple(choices_of(param)):
            return ("words",), words, many
        if _is_path(param):
            return ("files",), (), many
    return (), (), False


def _of_param(param: Any) -> Option:
    bare = param.is_flag or param.count
    return Option(
        names=(*param.opts, *param.secondary_opts),
        text=_short(param.help or ""),
        takes="nothing" if bare else "value",
        values=() if bare else tuple(choices_of(param)),
        is_path=not bare and _is_path(param),
        repeatable=bool(param.multiple or param.count),
    )


def _is_path(param: Any) -> bool:
    return "path" in param.bare_type().lower() or bool(_PATH.search(param.metavar or ""))


def _catalogue_options(at: str) -> list[Option]:
    """Those of a command that reads its words by itself."""
    from omni_cli.batch.flags import batch_catalogue  # noqa: PLC0415 - late: a large file is read
    from omni_cli.flags.catalogue import catalogue  # noqa: PLC0415

    flags = catalogue() if at == SERVE else batch_catalogue()
    found = [
        _of_flag(flag)
        for flag in flags
        if not (flag.positional or flag.deprecated or flag.scope == "refused")
    ]
    topics = tuple(title for title in flags.groups if title != "Arguments")
    return [
        replace(option, takes="perhaps", values=("all", *topics))
        if "--help" in option.names
        else option
        for option in found
    ]


def _of_flag(flag: Flag) -> Option:
    return Option(
        names=(*flag.names, *flag.off),
        text=_short(flag.help),
        takes="nothing" if flag.kind == "switch" else "value",
        values=flag.choices or flag.known,
        keys=flag.keys,
        is_path=flag.dest in PATHS
        or (bool(_PATH.search(flag.metavar)) and flag.dest not in NO_PATHS),
        repeatable=flag.repeatable,
    )


def _short(text: str) -> str:
    """The first sentence, cut at a word if it is long."""
    plain = " ".join(text.replace("`", "").split())
    sentence = re.split(r"(?<=[.;:!?])(?<!e\.g\.)(?<!i\.e\.)\s", plain, maxsplit=1)[0].rstrip(".;:")
    if len(sentence) <= MAX_TEXT:
        return sentence
    return f"{sentence[: MAX_TEXT - 3].rpartition(' ')[0].rstrip(',;:')}..."

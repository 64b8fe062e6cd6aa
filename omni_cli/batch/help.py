"""Help pages of ``omni run-batch``: its own flags, or what a word finds among all."""

from __future__ import annotations

from dataclasses import replace

from omni_cli.batch.flags import BATCH, SERVER
from omni_cli.flags.catalogue import Catalogue
from omni_cli.flags.flag import Flag
from omni_cli.flags.help import facts, find_help, left_side
from omni_cli.help import COMMANDS, Group, Page, Row

__all__ = ["batch_help", "short_batch_page"]

USAGE = "omni run-batch INPUT -o OUTPUT [TARGET | --url URL] [OPTIONS]"
ARGUMENTS = "Arguments"
_LINES = (
    "INPUT has one JSON object on each line, as OpenAI's batches have: custom_id, method, url and "
    "body. Every line is checked before the first one runs."
)
_WAYS = (
    "With --url the lines go to a running server; otherwise TARGET is run on engines of its own, "
    "without HTTP, and every engine option of `omni serve` is taken as well."
)
_EXAMPLES = """\
  omni run-batch requests.jsonl -o results.jsonl smollm2-135m-instruct
  omni run-batch requests.jsonl -o results.jsonl --url http://127.0.0.1:8000
  omni run-batch requests.jsonl --check"""
_MORE = (
    Row("--help=all", "Every option, in groups."),
    Row("--help=WORD", "Options with a word in their name or text, such as --help=cache."),
)


def batch_help(flags: Catalogue, word: str) -> Page:
    """The page for a word; the short one for an empty word.

    Raises:
        UsageError: Nothing is found for the word.
    """
    return replace(find_help(flags, word), usage=USAGE) if word.strip() else short_batch_page(flags)


def short_batch_page(flags: Catalogue) -> Page:
    """The command's own flags."""
    groups = [
        Group(title, tuple(_row(flag) for flag in flags if flag.group == title))
        for title in (ARGUMENTS, BATCH, SERVER)
    ]
    return Page(
        usage=USAGE,
        paragraphs=(COMMANDS["run-batch"], _LINES, _WAYS, _EXAMPLES),
        groups=(*groups, Group("More help", _MORE)),
    )


def _row(flag: Flag) -> Row:
    left = flag.name if flag.dest == "input" else left_side(flag)
    return Row(left, " ".join((flag.help, *(f"[{fact}]" for fact in facts(flag)))))

"""``OMNI_<FLAG>`` for every flag, TARGET included; an empty variable counts as not given, unless it
was to hold keys.

This is the only place where settings are read from the environment, and the one list of the
variables that begin so.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

from omni_cli.flags.catalogue import Catalogue
from omni_cli.flags.flag import ENV_PREFIX, Flag
from omni_cli.flags.parsed import Given
from omni_cli.flags.values import BadValue, read_text
from omni_cli.serve.keys import KEY_FILE, KEYS
from omni_cli.serve.layer import LINE_ONLY, Layer
from omni_cli.serve.problems import Problem

__all__ = ["OTHER_VARIABLES", "read_environment"]

OTHER_VARIABLES = frozenset(
    {
        "OMNI_CACHE_DIR",
        "OMNI_CONFIG",
        "OMNI_DEBUG",
        "OMNI_MAX_TOKENS",
        "OMNI_URL",
    }
)
"""Variables that are no setting of ``omni serve``: known, so not misspelt."""

# How alike a name must be to one of ours to count as a misspelling of it, both without the prefix.
# `OMNI_HOME` and `OMNI_USER` of other programs are below, `OMNI_PROT` is just above.
LIKENESS = 0.75
# Empty they are a secret that was not set, and the server would stand open.
NEVER_EMPTY = {KEYS: "give a key", KEY_FILE: "name a file"}


def read_environment(flags: Catalogue, environ: Mapping[str, str]) -> Layer:
    """Read the variables of all flags; warn of those that look like one and are none."""
    known = {flag.variable: flag for flag in flags if flag.dest not in LINE_ONLY}
    given: dict[str, Given] = {}
    problems: list[Problem] = []
    warnings: list[str] = []
    for name, text in environ.items():
        if not name.startswith(ENV_PREFIX):
            continue
        flag = known.get(name)
        if not text:
            if flag is not None and flag.dest in NEVER_EMPTY:
                error = BadValue("is empty", f"unset it, or {NEVER_EMPTY[flag.dest]}")
                problems.append(_problem(flag, name, None, error))
        elif flag is not None:
            try:
                given[flag.dest] = Given(read_text(flag, text), name)
            except BadValue as error:
                problems.append(_problem(flag, name, text, error))
        elif name not in OTHER_VARIABLES:
            near = _near(name, flags, {*known, *OTHER_VARIABLES})
            if near:
                warnings.append(f"{name} is not a setting of omni; did you mean {near}?")
    return Layer(
        origin="environment", given=given, problems=tuple(problems), warnings=tuple(warnings)
    )


def _near(name: str, flags: Catalogue, known: Collection[str]) -> str:
    """The variable that is meant by one that is none; empty if nobody can tell."""
    word = name.removeprefix(ENV_PREFIX)
    dashed = word.lower().replace("_", "-")
    for spelling in (f"-{dashed}", f"--{dashed}"):  # OMNI_TP, OMNI_NO_ENFORCE_EAGER
        flag = flags.spellings.get(spelling)
        if flag is not None and flag.variable in known:
            return flag.variable
    words = sorted(each.removeprefix(ENV_PREFIX) for each in known)
    near = difflib.get_close_matches(word, words, 1, LIKENESS)
    return f"{ENV_PREFIX}{near[0]}" if near else ""


def _problem(flag: Flag, name: str, text: str | None, error: BadValue) -> Problem:
    return Problem(
        subject=name,
        value=None if flag.secret else text,
        origin="environment",
        reason=error.reason,
        way_out=error.way_out,
    )

"""From a command line of `omni run-batch` to what is asked for: a batch, and a server or stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine_bridge.errors import UsageError
from omni_cli.batch.flags import DEFAULT_TIMEOUT_S, OWN_DESTS, SERVER_DESTS, is_http_only
from omni_cli.batch.wish import DEFAULT_MAX_RETRIES, STDIO, BatchWish, Existing
from omni_cli.client.target import Target
from omni_cli.flags.catalogue import Catalogue
from omni_cli.flags.parsed import Given, Parsed
from omni_cli.serve.problems import Problem

__all__ = ["Asked", "read_asked"]

URL_VARIABLE = "OMNI_URL"
KEY_VARIABLE = "OMNI_API_KEY"
# Said to every command alike, so they ask for no engine.
_TALK = frozenset({"quiet", "verbose", "log_level"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a command line asks for.

    Attributes:
        wish: The batch.
        target: The server to use; None for engines of its own.
        stages: The command line as `omni serve` would read it.
    """

    wish: BatchWish
    target: Target | None
    stages: Parsed


def read_asked(
    parsed: Parsed, flags: Catalogue, environ: Mapping[str, str]
) -> tuple[Asked | None, list[Problem]]:
    """Take a command line apart.

    Args:
        parsed: The command line.
        flags: Its catalogue, ``batch_catalogue()``.
        environ: Where ``OMNI_URL`` and ``OMNI_API_KEY`` are looked up.

    Returns:
        What is asked for, and nothing; or None and everything that is wrong.
    """
    given = dict(parsed.given)
    own = {dest: given.pop(dest) for dest in list(given) if dest in OWN_DESTS}
    problems = [*parsed.problems, *_for_sockets(given, flags)]
    asks_engines = (
        parsed.target is not None or parsed.config is not None or not (given.keys() <= _TALK)
    )
    url = _url(own, environ, asks_engines)
    problems += _contradictions(parsed, own, given, url)
    target = None
    if url is not None:
        try:
            target = _target(url, own, environ)
        except UsageError as error:
            problems.append(Problem.of(error, "flag"))
    wish = _wish(parsed, own, given)
    problems += _missing(wish)
    if problems:
        return None, problems
    stages = replace(parsed, leading=None, given=given, json=False)
    return Asked(wish=wish, target=target, stages=stages), []


def _url(own: Mapping[str, Given], environ: Mapping[str, str], asks_engines: bool) -> str | None:
    if "url" in own:
        return str(own["url"].value)
    # A variable speaks to every command; what this line asks for is stronger.
    return None if asks_engines else environ.get(URL_VARIABLE) or None


def _target(url: str, own: Mapping[str, Given], environ: Mapping[str, str]) -> Target:
    ca_file = _value(own, "ca_file", None)
    return Target.parse(
        url,
        api_key=_value(own, "api_key", environ.get(KEY_VARIABLE) or None),
        timeout_s=float(_value(own, "timeout", DEFAULT_TIMEOUT_S)),
        ca_file=None if ca_file is None else Path(ca_file),
        insecure=bool(_value(own, "insecure", False)),
    )


def _wish(parsed: Parsed, own: Mapping[str, Given], given: Mapping[str, Given]) -> BatchWish:
    existing: Existing = "resume" if _value(own, "resume", False) else "refuse"
    existing = "overwrite" if _value(own, "overwrite", False) else existing
    quiet, verbose = (bool(_value(given, dest, False)) for dest in ("quiet", "verbose"))
    return BatchWish(
        source=parsed.leading or "",
        output=str(_value(own, "output", "")),
        errors=_value(own, "errors", None),
        existing=existing,
        ordered=not _value(own, "unordered", False),
        check=bool(_value(own, "check", False)),
        concurrency=_value(own, "concurrency", None),
        max_retries=int(_value(own, "max_retries", DEFAULT_MAX_RETRIES)),
        json=parsed.json,
        verbosity=int(verbose) - int(quiet),
    )


def _value(given: Mapping[str, Given], dest: str, default: Any) -> Any:
    found = given.get(dest)
    return default if found is None else found.value


def _contradictions(
    parsed: Parsed, own: Mapping[str, Given], given: Mapping[str, Given], url: str | None
) -> list[Problem]:
    problems = []
    if "url" in own:
        wrong = [each.spelling for dest, each in given.items() if dest not in _TALK]
        wrong += ["TARGET"] if parsed.target is not None else []
        wrong += ["--config"] if parsed.config is not None else []
        reason = "is about engines of its own, and --url names a server"
        problems += [_problem(spelled, reason, "leave one of them out") for spelled in wrong]
    if url is None:
        reason = "is about a server"
        problems += [
            _problem(own[dest].spelling, reason, "give --url, or leave it out")
            for dest in SERVER_DESTS
            if dest in own
        ]
    if {"resume", "overwrite"} <= own.keys():
        problems.append(_problem("--overwrite", "contradicts --resume", "give one of them"))
    if parsed.json and _value(own, "output", "") == STDIO and "check" not in own:
        reason = "writes to stdout, where the results go"
        problems.append(_problem("--json", reason, "give -o a file"))
    return problems


def _for_sockets(given: Mapping[str, Given], flags: Catalogue) -> list[Problem]:
    """What only a server that listens has use for. In variables and settings files, which a server
    may share, it is left alone."""
    refused = [
        (each.spelling, flags.by_dest[dest])
        for dest, each in given.items()
        if is_http_only(flags.by_dest[dest])
    ]
    return [_problem(spelled, flag.reason, flag.way_out) for spelled, flag in refused]


def _missing(wish: BatchWish) -> list[Problem]:
    problems = []
    if not wish.source:
        way_out = "name a file of JSON lines, or - for stdin"
        problems.append(_problem("INPUT", "is missing", way_out))
    if not wish.output and not wish.check:
        problems.append(
            _problem("-o", "is missing", "name a file for the results, or - for stdout")
        )
    return problems


def _problem(subject: str, reason: str, way_out: str) -> Problem:
    return Problem(subject=subject, value=None, origin="flag", reason=reason, way_out=way_out)

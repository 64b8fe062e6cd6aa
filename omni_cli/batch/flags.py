"""The flags of ``omni run-batch``: its own, and those of ``omni serve`` that engines understand."""

from __future__ import annotations

from dataclasses import replace

from omni_cli.batch.wish import DEFAULT_MAX_RETRIES
from omni_cli.flags.catalogue import Catalogue, catalogue
from omni_cli.flags.flag import Flag
from omni_cli.flags.own import CROSS_ORIGIN, LISTENING, OUTPUT, SECURITY, SETTINGS
from server.batch.bounds import MAX_CONCURRENCY

__all__ = ["BATCH", "OWN_DESTS", "SERVER", "SERVER_DESTS", "batch_catalogue", "is_http_only"]

BATCH = "Batch"
SERVER = "RunningServer"
GROUPS = {
    "Arguments": "What is run.",
    BATCH: "Where results go, and how lines are run.",
    SERVER: "A running server, instead of engines of its own.",
}
MAX_RETRIES = 100
MAX_TIMEOUT_S = 86_400.0
DEFAULT_TIMEOUT_S = 600.0

# What only a server that listens has use for.
_HTTP_GROUPS = frozenset({LISTENING, SECURITY, CROSS_ORIGIN})
_HTTP_DESTS = frozenset({"api_server_count"})
_NO_PORT = "a batch with engines of its own listens on no port"


def _flag(dest: str, names: str, help_: str, **more: object) -> Flag:
    fields: dict[str, object] = {"scope": "run", "own": True, "group": BATCH, "common": True}
    return Flag(dest=dest, names=tuple(names.split()), help=help_, **{**fields, **more})  # type: ignore[arg-type]


_OWN: tuple[Flag, ...] = (
    _flag("input", "INPUT", "File of JSON lines; - is stdin.", group="Arguments"),
    _flag("output", "-o --output", "Where results go; - is stdout.", metavar="PATH"),
    _flag(
        "errors",
        "--errors",
        "Where failed lines go; by default OUTPUT with .errors.jsonl, or stderr beside stdout.",
        metavar="PATH",
    ),
    _flag(
        "check", "--check", "Look at every line, say what is wrong, and run nothing.", kind="switch"
    ),
    _flag(
        "resume",
        "--resume",
        "Go on with a batch that was stopped or killed; no finished line is run again.",
        kind="switch",
    ),
    _flag("overwrite", "--overwrite", "Begin again over results of before.", kind="switch"),
    _flag(
        "unordered",
        "--unordered",
        "Write each result as soon as it is there, not in the order of INPUT.",
        kind="switch",
    ),
    _flag(
        "concurrency",
        "--concurrency",
        "Lines at work at once; by default enough to keep the engines full, or 128 with --url.",
        kind="integer",
        low=1,
        high=MAX_CONCURRENCY,
    ),
    _flag(
        "max_retries",
        "--max-retries",
        "Further attempts for a line that met a busy or broken server.",
        kind="integer",
        low=0,
        high=MAX_RETRIES,
        default=DEFAULT_MAX_RETRIES,
    ),
    _flag("json", "--json", "Print the summary as one JSON object on stdout.", kind="switch"),
    _flag(
        "url",
        "--url",
        "Address of the server, with or without /v1. [env: OMNI_URL]",
        group=SERVER,
        metavar="URL",
    ),
    _flag(
        "api_key",
        "--api-key",
        "Key that the server asks for. [env: OMNI_API_KEY]",
        group=SERVER,
        metavar="KEY",
        secret=True,
    ),
    _flag(
        "timeout",
        "--timeout",
        "Longest wait for a server that is starting, and for one answer.",
        group=SERVER,
        kind="number",
        low=0.1,
        high=MAX_TIMEOUT_S,
        default=DEFAULT_TIMEOUT_S,
        metavar="SECONDS",
    ),
    _flag(
        "ca_file",
        "--ca-file",
        "Trust the certificates in this PEM file instead of the well-known authorities.",
        group=SERVER,
        metavar="PATH",
        common=False,
    ),
    _flag(
        "insecure",
        "--insecure",
        "Trust any certificate: whoever sits between may read and change everything.",
        group=SERVER,
        kind="switch",
        common=False,
    ),
)
OWN_DESTS = frozenset(flag.dest for flag in _OWN)
SERVER_DESTS = ("api_key", "timeout", "ca_file", "insecure")
"""Flags that mean something only beside ``--url``."""


def batch_catalogue() -> Catalogue:
    """The catalogue of ``omni run-batch``; what only a listening server understands is refused."""
    serve = catalogue()
    own = {flag.dest: flag for flag in _OWN}
    rest = {
        flag.dest: _adapted(flag)
        for flag in serve
        if flag.dest not in own and flag.dest != "print_config"
    }
    return Catalogue(
        by_dest=own | rest,
        groups={**GROUPS, **{k: v for k, v in serve.groups.items() if k not in GROUPS}},
        vllm_groups=serve.vllm_groups,
        vllm_version=serve.vllm_version,
        command="omni run-batch",
        leading="INPUT",
    )


def is_http_only(flag: Flag) -> bool:
    """Whether a flag of ``omni serve`` is about its socket and what is said on it."""
    return flag.group in _HTTP_GROUPS or flag.dest in _HTTP_DESTS


def _adapted(flag: Flag) -> Flag:
    if is_http_only(flag):
        # Whatever the value, so no default is let through.
        way_out = "leave it out"
        return replace(
            flag, scope="refused", default=None, common=False, reason=_NO_PORT, way_out=way_out
        )
    shown = flag.common and flag.group not in (OUTPUT, SETTINGS) or flag.dest == "help"
    return replace(flag, common=shown)

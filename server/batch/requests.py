"""What a line asks for, and what can be wrong with one before anything runs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from engine_bridge.suggest import did_you_mean
from server.route_table import rows

__all__ = ["ROUTES", "BatchRequest", "Fault", "custom_id_of", "faults_of", "parse_request"]

METHOD = "POST"
# Every route that takes one JSON body and has no part in its path.
ROUTES = tuple(
    path
    for path, found in rows(["served", "passed"]).items()
    if "{" not in path and any((row.method, row.body) == (METHOD, "json") for row in found)
)
_ROUTES = frozenset(ROUTES)
_FIELDS = ("custom_id", "method", "url", "body")
_SHOWN_CHARS = 80
_NAMES_SHOWN = 8

_MISSING = object()


class BatchRequest(msgspec.Struct, frozen=True):
    """A line that has passed the check.

    Attributes:
        custom_id: The user's own name for it.
        url: A path of ``ROUTES``.
        body: As it stands in the file.
    """

    custom_id: str
    url: str
    body: msgspec.Raw


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that keeps a line from running.

    Attributes:
        field: ``custom_id``, ``body.model``; empty for the line as a whole.
        value: What stands there, or None if that is the point or would not help.
        reason: Why it cannot be used; no full stop.
        way_out: What to do instead; no full stop. May be empty.
    """

    field: str
    value: str | None
    reason: str
    way_out: str = ""


_decode = msgspec.json.Decoder().decode
_decode_request = msgspec.json.Decoder(BatchRequest).decode


def parse_request(data: bytes) -> BatchRequest:
    """Read a line that has passed the check.

    Raises:
        msgspec.MsgspecError: It is another than the one that was checked.
    """
    return _decode_request(data)


def faults_of(
    data: bytes, models: Collection[str] | None = None
) -> tuple[str | None, tuple[Fault, ...]]:
    """Check one line by itself.

    Args:
        data: The line.
        models: Names that requests may give as their model; None if they are not known.

    Returns:
        The custom_id if it can be read, and what is wrong.
    """
    try:
        line = _decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return None, (_unreadable(data, error),)
    if not isinstance(line, dict):
        reason = f"is {_kind(line)}, not a JSON object"
        way_out = 'write {"custom_id": ..., "method": "POST", "url": ..., "body": {...}}'
        return None, (Fault("", None, reason, way_out),)
    custom_id = custom_id_of(line)
    if (
        custom_id is not None
        and line.get("method") == METHOD
        and line.get("url") in _ROUTES
        and isinstance(body := line.get("body"), dict)
        and not body.get("stream")
        and (models is None or _is_served(body.get("model"), models))
    ):
        return custom_id, ()
    return custom_id, tuple(_find(line, models))


def custom_id_of(line: dict[str, Any]) -> str | None:
    """The line's custom_id if it can be one."""
    found = line.get("custom_id")
    return found if isinstance(found, str) and found else None


def _find(line: dict[str, Any], models: Collection[str] | None) -> list[Fault]:
    found = []
    if custom_id_of(line) is None:
        found.append(_wrong("custom_id", line, "text that is not empty"))
    if line.get("method") != METHOD:
        found.append(_wrong("method", line, METHOD))
    found += _url_faults(line)
    body = line.get("body", _MISSING)
    if isinstance(body, dict):
        found += _body_faults(body, models)
    else:
        found.append(_wrong("body", line, "a JSON object"))
    return found


def _url_faults(line: dict[str, Any]) -> list[Fault]:
    url = line.get("url", _MISSING)
    if not isinstance(url, str):
        return [_wrong("url", line, "the path of a route, such as /v1/chat/completions")]
    if url in _ROUTES:
        return []
    hint = did_you_mean(url, ROUTES, "docs/run-batch.md lists the routes", likeness=0.5)
    if "://" in url:
        hint = "give the path alone, such as /v1/chat/completions"
    return [Fault("url", _shown(url), "is no route that a batch can use", hint)]


def _body_faults(body: dict[str, Any], models: Collection[str] | None) -> list[Fault]:
    found = []
    if body.get("stream"):
        way_out = "leave it out: a result line holds the whole answer"
        found.append(Fault("body.stream", "true", "a batch has no streams", way_out))
    model = body.get("model")
    if model is not None and not isinstance(model, str):
        found.append(Fault("body.model", None, f"is {_kind(model)}, not text"))
    elif model and models is not None and model not in models:
        names = sorted(models)
        shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
        found.append(Fault("body.model", _shown(model), "is not served", f"served: {shown}"))
    return found


def _is_served(model: object, models: Collection[str]) -> bool:
    return isinstance(model, str) and model in models


def _wrong(field: str, line: dict[str, Any], wanted: str) -> Fault:
    value = line.get(field, _MISSING)
    if value is _MISSING:
        others = [key for key in line if key not in _FIELDS]
        near = difflib.get_close_matches(field, others, 1)
        hint = f"is {_shown(near[0])} meant?" if near else f"it must be {wanted}"
        return Fault(field, None, "is missing", hint)
    if isinstance(value, str) and value:
        return Fault(field, _shown(value), f"must be {wanted}")
    return Fault(field, None, f"is {_kind(value)}", f"it must be {wanted}")


def _unreadable(data: bytes, error: Exception) -> Fault:
    if isinstance(error, RecursionError):
        return Fault("", None, "is nested too deeply")
    way_out = "write one JSON object on one line"
    try:
        json.loads(data)
    except json.JSONDecodeError as found:
        return Fault("", None, f"is not JSON: {found.msg} (column {found.colno})", way_out)
    except UnicodeError:
        return Fault("", None, "is not UTF-8", "write the file as UTF-8")
    except (ValueError, RecursionError):
        return Fault("", None, f"is not JSON: {error}", way_out)
    # What Python reads beyond the standard, and what no engine can be sent.
    reason = "has NaN, Infinity, a number out of range, or half of a surrogate pair"
    return Fault("", None, reason, "write numbers and text that JSON has")


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case "":
            return "empty"
        case str():
            return "text"
        case list():
            return "a list"
    return "an object"


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."

"""What vLLM takes inside a JSON object: the keys of its configuration classes, and their values.

Only what vLLM certainly refuses is told. Each claim is tried on vLLM's own validation, so that a
class with validators of its own is left to vLLM.

Source: vllm/config/ (pydantic dataclasses), ``parse_dataclass`` in vllm/engine/arg_utils.py.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError
from vllm.engine import arg_utils

__all__ = ["bounds", "inner_values", "keys"]

_MAX_DEPTH = 3  # levels of keys; vLLM's own configurations have two
_KINDS = {bool: "switch", int: "integer", float: "number", str: "text"}
# Values that a kind cannot be; a set of names that may be written as numbers is none of all these.
_WRONG: dict[str, tuple[object, ...]] = {"text": (12345,)}
_WRONG_WORD = "no such value"
_NO_NAMES = (_WRONG_WORD, 12345, [_WRONG_WORD], {_WRONG_WORD: 1})


def keys(root: Any) -> list[str]:
    """Keys of a configuration class, with dots for those inside of others.

    Args:
        root: The class, or None.

    Returns:
        Empty if any key will do.
    """
    return [".".join(at) for at, _, _ in _fields(root, root)]


def inner_values(root: Any) -> dict[str, dict[str, object]]:
    """What the values of those keys must be: kind, choices, bounds, whether null is one; where vLLM
    refuses all else."""
    found: dict[str, dict[str, object]] = {}
    for at, cls, name in _fields(root, root):
        entry = _value(cls, name)
        wrong: tuple[object, ...] = _WRONG.get(str(entry.get("kind")), (_WRONG_WORD,))
        if "choices" in entry:
            wrong = _NO_NAMES
        if not entry or not all(_refuses(root, at, each) for each in wrong):
            continue
        nullable = {} if _refuses(root, at, None) else {"nullable": True}
        found[".".join(at)] = {**entry, **nullable}
    return found


def bounds(cls: Any, name: str) -> dict[str, object]:
    """The limits that the declaration of a field carries."""
    info = getattr(cls, "__pydantic_fields__", {}).get(name)
    found: dict[str, object] = {}
    for limit in [*_limits(info)] if info is not None else []:
        for attribute, key, excluded in (
            ("ge", "low", ""),
            ("gt", "low", "above_low"),
            ("le", "high", ""),
            ("lt", "high", "below_high"),
        ):
            value = getattr(limit, attribute, None)
            if value is not None:
                found[key] = value
                if excluded:
                    found[excluded] = True
    return found


def _fields(root: Any, cls: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any, str]]:
    """Each field with its path and class, where vLLM refuses unknown keys."""
    if root is None or not _refuses(root, (*at, "no_such_key"), 1):
        return
    hints = get_type_hints(cls)
    for field in dataclasses.fields(cls):
        if not field.init or getattr(field.default, "init", None) is False:
            continue
        inside = (*at, field.name)
        yield inside, cls, field.name
        inner = [
            hint
            for hint in arg_utils.get_type_hints(hints[field.name])
            if dataclasses.is_dataclass(hint)
        ]
        if len(inner) == 1 and len(inside) < _MAX_DEPTH:
            yield from _fields(root, inner[0], inside)


def _refuses(root: Any, at: tuple[str, ...], value: object) -> bool:
    """Whether vLLM refuses a value at this place of the object, for the value's own sake."""
    tried = value
    for name in reversed(at):
        tried = {name: tried}
    try:
        TypeAdapter(root).validate_python(tried)
    except ValidationError as error:
        # Behind the place stands which part of a union was tried.
        return any(each["loc"][: len(at)] == at for each in error.errors())
    except KeyError:  # an enumeration that has no such member
        return True
    except TypeError:  # a value written as text only
        return False
    return False


def _value(cls: Any, name: str) -> dict[str, object]:
    """What a field's annotation says of its value; empty for anything that is not plain."""
    info = cls.__pydantic_fields__[name]
    hints = arg_utils.get_type_hints(info.annotation) - {type(None)}
    if hints and all(get_origin(hint) is Literal for hint in hints):
        return _names({choice for hint in hints for choice in get_args(hint)}, _loose(cls, name))
    if len(hints) != 1:
        return {}
    (hint,) = hints
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        values = {each.value for each in hint if type(each.value) in (str, int)}
        may_be = {*hint.__members__, *values, "auto"}
        return _names({each for each in may_be if not _refuses(cls, (name,), each)}, loose=True)
    return {"kind": _KINDS[hint], **bounds(cls, name)} if hint in _KINDS else {}


def _names(choices: set[Any], loose: bool) -> dict[str, object]:
    """A set of names; if it is loose, capitals and dashes do not matter."""
    if any(type(choice) not in (str, int) for choice in choices):
        return {}
    texts = {str(choice).lower().replace("-", "_") if loose else str(choice) for choice in choices}
    return {"kind": "text", "choices": sorted(texts), **({"folded": True} if loose else {})}


def _loose(cls: Any, name: str) -> bool:
    """Whether a validator may bring other texts into shape."""
    validators = cls.__pydantic_decorators__.field_validators.values()
    return any(name in each.info.fields or "*" in each.info.fields for each in validators)


def _limits(info: Any) -> Iterator[Any]:
    """Constraints of a field, also where they stand inside a union."""
    yield from info.metadata
    for part in get_args(info.annotation):
        yield from getattr(part, "__metadata__", ())

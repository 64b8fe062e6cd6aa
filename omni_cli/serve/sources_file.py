"""The settings file: YAML or TOML, with the flags' names as keys.

    port: 9000
    tensor-parallel-size: 2
    max_model_len: 8k
    compilation-config: {level: 3}
    model: smollm2-135m-instruct

vLLM's own files are read as they are. Two things differ on purpose: a false switch is false, where
vLLM drops it, and an unknown key is an error.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from engine_bridge.errors import UsageError
from engine_bridge.yaml_file import MAX_DEPTH, Node, read_bounded, read_yaml, repeated
from omni_cli.flags.catalogue import Catalogue
from omni_cli.flags.flag import Flag
from omni_cli.flags.parsed import Given
from omni_cli.flags.values import BadValue, read_native
from omni_cli.serve.layer import LINE_ONLY, TARGET, Layer
from omni_cli.serve.problems import Origin, Problem, as_written

__all__ = ["is_settings_file", "read_file"]

YAML = (".yaml", ".yml")
TOML = (".toml",)
# vLLM's name of its positional argument.
TARGET_KEYS = ("target", "model_tag")
MAX_SHOWN_CHARS = 60


def read_file(path: str, named_by: str, origin: Origin, flags: Catalogue) -> Layer:
    """Read a settings file; everything that is wrong with it is in the layer's problems.

    Args:
        path: As the user wrote it.
        named_by: What named it, for messages: ``--config`` or ``OMNI_CONFIG``.
        origin: Where that comes from.
        flags: The catalogue by destination.
    """
    try:
        root = _root(Path(path).expanduser())
    except UsageError as error:
        whole = error.subject == str(Path(path).expanduser())
        problem = Problem(
            subject=named_by if whole else error.subject,
            value=path if whole else error.value,
            origin=origin if whole else "file",
            reason=error.reason,
            way_out=error.way_out,
        )
        return Layer(origin="file", problems=(problem,))
    if isinstance(root.value, dict) and "stages" in root.value:
        problem = Problem(
            subject=named_by,
            value=path,
            origin=origin,
            reason="holds a pipeline, not settings",
            way_out=f"give it as TARGET: omni serve {path}",
        )
        return Layer(origin="file", problems=(problem,))
    reader = _Reader(path, flags)
    reader.read(root)
    return Layer(origin="file", given=reader.given, problems=reader.in_order())


def is_settings_file(path: Path, flags: Catalogue) -> bool:
    """Whether a file that was taken for a pipeline looks like settings: no stages, and a key that
    is a flag's."""
    try:
        value = _root(path).value
    except UsageError:
        return False
    keys = _keys(flags)
    return (
        isinstance(value, dict)
        and "stages" not in value
        and any(_plain(key) in keys for key in value)
    )


def _root(path: Path) -> Node:
    if path.suffix not in YAML + TOML:
        raise UsageError(str(path), None, "must end in .yaml, .yml or .toml")
    if path.exists() and not path.is_file():
        raise UsageError(str(path), None, "is not a file")
    return read_yaml(path, may_be_empty=True) if path.suffix in YAML else _toml(path)


def _toml(path: Path) -> Node:
    text = read_bounded(path)
    try:
        return _node(tomllib.loads(text), 0)
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).rpartition(" (at ")
        line = re.match(r"line (\d+)", place)
        number = line[1] if line else text.rstrip().count("\n") + 1
        raise UsageError(f"{path}:{number}", None, f"is not valid TOML ({what})") from error
    except RecursionError as error:
        reason = f"is nested deeper than {MAX_DEPTH} levels"
        raise UsageError(str(path), None, reason) from error
    except ValueError as error:  # more digits than Python reads
        raise UsageError(str(path), None, "holds a value that cannot be read") from error


def _node(value: object, depth: int) -> Node:
    """The same form as for YAML; tomllib knows no lines, so they are 0."""
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, dict):
        return Node({key: _node(each, depth + 1) for key, each in value.items()}, 0)
    if isinstance(value, list):
        return Node([_node(each, depth + 1) for each in value], 0)
    return Node(value, 0)


def _plain(key: str) -> str:
    return key.lstrip("-").replace("-", "_")


def _keys(flags: Catalogue) -> dict[str, tuple[Flag, bool]]:
    """Every key that a file may have, and whether it switches on."""
    keys = dict.fromkeys(TARGET_KEYS, (flags.by_dest[TARGET], True))
    for name, flag in flags.spellings.items():
        if name.startswith("--") and flag.dest not in LINE_ONLY:
            keys[_plain(name)] = flag, name not in flag.off
    return keys


class _Reader:
    """Collects what a file gives and what is wrong with it."""

    def __init__(self, path: str, flags: Catalogue) -> None:
        self.path = path
        self.given: dict[str, Given] = {}
        self._problems: list[tuple[int, Problem]] = []
        self._flags = flags
        self._keys = _keys(flags)
        self._written: dict[str, str] = {}
        self._objects: dict[str, dict[str, object]] = {}

    def in_order(self) -> tuple[Problem, ...]:
        """What is wrong, in the order of the lines."""
        return tuple(problem for _, problem in sorted(self._problems, key=lambda each: each[0]))

    def read(self, root: Node) -> None:
        if not isinstance(root.value, dict):
            self._fault("", root.line, None, "must hold a mapping of settings")
            return
        for key, line in repeated(root):
            self._fault(key, line, None, "stands here twice")
        for key, node in root.value.items():
            self._entry(key, node)

    def _entry(self, key: str, node: Node) -> None:
        name, dot, inner = _plain(key.partition(".")[0]), *key.partition(".")[1:]
        known = self._keys.get(name)
        if known is None or (dot and known[0].kind != "object"):
            self._unknown(key, name, node)
            return
        flag, on = known
        dest = flag.dest
        if dest in self._written and not (dot and dest in self._objects):
            reason = f"says the same as {self._written[dest]}"
            self._fault(key, node.line, None, reason, "keep one of them")
            return
        self._written[dest] = key
        value = node.plain()
        if value is None or (value == [] and flag.list_like):
            return
        try:
            if dot:
                value = self._nested(dest, inner, value)
            value = self._value(flag, on, value)
        except BadValue as error:
            shown = None if flag.secret else value
            self._fault(key, node.line, shown, error.reason, error.way_out)
            return
        self.given[dest] = Given(value, f"{self._place(node.line)}: {key}")

    def _nested(self, dest: str, path: str, value: object) -> object:
        """Lay ``compilation-config.pass_config.x`` into the object that such keys build."""
        root = inside = self._objects.setdefault(dest, {})
        *steps, last = path.split(".")
        for step in steps:
            deeper = inside.setdefault(step, {})
            if not isinstance(deeper, dict):
                raise BadValue("lies inside a value that is no mapping")
            inside = deeper
        if not all((*steps, last)) or last in inside:
            raise BadValue("stands here twice" if last in inside else "has an empty part")
        inside[last] = value
        return root

    def _value(self, flag: Flag, on: bool, value: object) -> object:
        if on:
            return read_native(flag, value)
        if value is not True:
            plain = flag.name.lstrip("-")
            raise BadValue("must be true", f"write {plain}: true or {plain}: false instead")
        return False

    def _unknown(self, key: str, name: str, node: Node) -> None:
        if name in LINE_ONLY:
            self._fault(key, node.line, None, "belongs on the command line")
            return
        advice = self._flags.advice(f"--{name}", as_key=True)
        self._fault(key, node.line, None, "is not a known setting", advice)

    def _place(self, line: int) -> str:
        return f"{self.path}:{line}" if line else self.path

    def _fault(self, key: str, line: int, value: object, reason: str, way_out: str = "") -> None:
        where = self._place(line)
        shown = None if value is None else _shown(value)
        problem = Problem(
            subject=f"{where}: {key}" if key else where,
            value=shown,
            origin="file",
            reason=reason,
            way_out=way_out,
        )
        self._problems.append((line, problem))


def _shown(value: object) -> str:
    """A value as it stands in the file, cut to a length that fits a line."""
    text = as_written(value) or "''"
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}..."

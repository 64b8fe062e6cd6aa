"""YAML files that a user wrote: read within bounds, with the line of every key.

A file can name a node many times over (``&a``, ``*a``), so a few lines can stand for billions of
values. Depth is therefore checked on the events, which costs no recursion, and the expanded size on
the node graph, before any value is built.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from engine_bridge.errors import UsageError

__all__ = ["MAX_DEPTH", "MAX_FILE_BYTES", "Node", "read_bounded", "read_yaml", "repeated"]

# A pipeline of 100 stages with a dozen arguments each takes about 40 kB.
MAX_FILE_BYTES = 256 * 1024
# The deepest thing that vLLM takes is a config of configs, five levels below `args`.
MAX_DEPTH = 24
# Values after expansion of all aliases; 100 stages with 100 values each.
MAX_VALUES = 10_000


@dataclass(frozen=True, slots=True)
class Node:
    """A value with the line it starts on.

    Attributes:
        value: A scalar, a list of Node, or a dict from str to Node.
        line: From 1.
        repeated: Keys of a dict that stand in it more than once, with the line of the later one.
    """

    value: object
    line: int
    repeated: tuple[tuple[str, int], ...] = ()

    def plain(self) -> object:
        """The same without lines."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


def repeated(node: Node, path: str = "") -> Iterator[tuple[str, int]]:
    """Keys that stand in a mapping more than once, at any depth: their path, with dots, and the
    line of the later one."""
    for key, line in node.repeated:
        yield f"{path}{key}", line
    if isinstance(node.value, dict):
        for key, inner in node.value.items():
            yield from repeated(inner, f"{path}{key}.")
    elif isinstance(node.value, list):
        for place, inner in enumerate(node.value):
            yield from repeated(inner, f"{path.removesuffix('.')}[{place}].")


def read_yaml(path: Path, *, may_be_empty: bool = False) -> Node:
    """Read the one document of a YAML file.

    Args:
        path: The file.
        may_be_empty: Whether a file without a document stands for an empty mapping.

    Raises:
        UsageError: If the file cannot be read, is too large, is not YAML, holds more than one
            document, or holds anything but mappings with text keys, lists, text, numbers, booleans
            and null. The subject is ``file:line`` where a line is known.
    """
    text = read_bounded(path)
    try:
        _check_events(path, text)
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None and may_be_empty:
            return Node({}, 1)
        if root is None:
            raise UsageError(str(path), None, "is empty", "name at least one stage under stages:")
        _check_size(path, root)
        return _node(path, loader, root)
    except yaml.reader.ReaderError as error:
        where = f"{path}:{text.count(chr(10), 0, error.position) + 1}"
        raise UsageError(where, None, "is not valid YAML (a control character)") from error
    except yaml.YAMLError as error:
        raise _usage_error(path, error) from error


def read_bounded(path: Path) -> str:
    """Read a text file that a user wrote.

    Raises:
        UsageError: If it cannot be read, is larger than MAX_FILE_BYTES, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(str(path), None, f"cannot be read: {error.strerror}") from error
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(str(path), None, f"is larger than {MAX_FILE_BYTES // 1024} KiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}", None, "is not UTF-8 text") from error


def _usage_error(path: Path, error: yaml.YAMLError) -> UsageError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = f"{path}:{mark.line + 1}" if mark is not None else str(path)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return UsageError(where, None, f"is not valid YAML ({' '.join(str(problem).split())})")


def _check_events(path: Path, text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                # PyYAML's own type allows None; the parser sets it on every event.
                assert event.start_mark is not None
                where = f"{path}:{event.start_mark.line + 1}"
                raise UsageError(where, None, f"is nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_size(path: Path, root: yaml.Node) -> None:
    # Size and height once all aliases are expanded. An alias stands after its anchor, so in the
    # order of the document every node that it names is already measured, and the recursion is no
    # deeper than the text.
    measured: dict[int, tuple[int, int]] = {}
    open_nodes: set[int] = set()

    def measure(node: yaml.Node) -> tuple[int, int]:
        key = id(node)
        if key in open_nodes:
            where = f"{path}:{node.start_mark.line + 1}"
            raise UsageError(where, None, "contains itself through an alias")
        if key not in measured:
            open_nodes.add(key)
            inner = [measure(child) for child in _children(node)]
            open_nodes.discard(key)
            height = 1 + max((each[1] for each in inner), default=0)
            measured[key] = 1 + sum(each[0] for each in inner), height
        return measured[key]

    size, height = measure(root)
    if size > MAX_VALUES:
        raise UsageError(str(path), None, f"holds more than {MAX_VALUES} values")
    if height > MAX_DEPTH + 1:
        raise UsageError(str(path), None, f"is nested deeper than {MAX_DEPTH} levels")


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _node(path: Path, loader: yaml.SafeLoader, node: yaml.Node) -> Node:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode) and node.tag.endswith(":seq"):
        return Node([_node(path, loader, child) for child in node.value], line)
    if isinstance(node, yaml.MappingNode) and node.tag.endswith(":map"):
        return _mapping(path, loader, node)
    value = _scalar(path, loader, node)
    if value is None or isinstance(value, str | bool | int):
        return Node(value, line)
    if isinstance(value, float):
        if math.isfinite(value):
            return Node(value, line)
        raise UsageError(f"{path}:{line}", None, "holds a number that is not finite")
    reason = f"holds a value of type {type(value).__name__} that is not text, number or boolean"
    raise UsageError(f"{path}:{line}", None, reason, "put it in quotes")


def _mapping(path: Path, loader: yaml.SafeLoader, node: yaml.MappingNode) -> Node:
    values: dict[str, Node] = {}
    repeated: list[tuple[str, int]] = []
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if key_node.tag.endswith(":merge"):
            raise UsageError(f"{path}:{line}", None, "<< is not supported", "write the keys out")
        key = None if _children(key_node) else _scalar(path, loader, key_node)
        if not isinstance(key, str):
            where = f"{path}:{line}"
            raise UsageError(where, None, "holds a key that is not text", "put it in quotes")
        if key in values:
            repeated.append((key, line))
        values[key] = replace(_node(path, loader, value_node), line=line)
    return Node(values, node.start_mark.line + 1, tuple(repeated))


def _scalar(path: Path, loader: yaml.SafeLoader, node: yaml.Node) -> object:
    try:
        value: object = loader.construct_object(node, deep=True)
    except ValueError as error:  # a date such as 2026-13-01, or an integer of many thousand digits
        where = f"{path}:{node.start_mark.line + 1}"
        reason = "holds a value that cannot be read"
        raise UsageError(where, None, reason, "put it in quotes") from error
    return value

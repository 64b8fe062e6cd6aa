"""Pipeline files: which stages a server runs.

    name: assistant
    stages:
      - name: chat
        model: smollm2-135m-instruct
        args: {max-model-len: 4096}
      - name: embed
        model: minilm-l6

A file is read once, and everything that is wrong with it is reported at once. Nothing here knows
what a model name means or which arguments there are: whoever knows vLLM's flags reads `args`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine_bridge.errors import UsageError
from engine_bridge.suggest import did_you_mean

if TYPE_CHECKING:
    from engine_bridge.yaml_file import Node

__all__ = ["Pipeline", "StageSpec", "destination", "read_pipeline"]

# A stage is at least one process with a model in it.
MAX_STAGES = 16
# Every served name becomes a metrics label and a line of /v1/models.
MAX_SERVED_NAMES = 32
MAX_NAME_CHARS = 256
MAX_THREADS = 1024

_STAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FILE_KEYS = ("name", "stages")
_LATER_FILE_KEYS = ("edges", "outputs")
_STAGE_KEYS = ("name", "model", "served_model_name", "kind", "args", "threads", "executor")
_LATER_KINDS = ("speech", "diffusion")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSpec:
    """One entry of `stages`, checked for form.

    Attributes:
        name: Letters, digits, ``-`` and ``_``, at most 64.
        model: A catalogue name, a Hugging Face id or a folder, as written.
        served_model_name: Empty if the file names none.
        args: vLLM arguments by destination (``max_model_len``), JSON values as they stand in the
            file.
        threads: None if the file does not say.
        executor: None if the file does not say.
        where: ``file:line`` of the entry.
        places: Where each of ``args`` stands, for messages: file, line, stage, key.
    """

    name: str
    model: str
    served_model_name: tuple[str, ...] = ()
    args: Mapping[str, object] = field(default_factory=dict)
    threads: int | None = None
    executor: Literal["uni", "mp"] | None = None
    where: str = ""
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A pipeline file. Stage names are unique and explicit served names disjoint."""

    stages: tuple[StageSpec, ...]
    name: str | None = None
    source: str | None = None


def destination(spelling: str) -> str:
    """An argument's name inside vLLM; ``--max-model-len`` and ``max_model_len`` are one."""
    return spelling.lstrip("-").replace("-", "_")


def read_pipeline(path: Path) -> tuple[Pipeline | None, list[UsageError]]:
    """Read and check a pipeline file.

    Returns:
        The pipeline as far as it can be read, or None if no stage can; and every fault found, in
        the order of the lines. A pipeline with faults must not be run: what is at fault in it is
        replaced by something harmless. Nothing is raised for what a user can write into a file.
    """
    from engine_bridge.yaml_file import read_yaml  # noqa: PLC0415 - 40 ms, for pipeline files only

    try:
        root = read_yaml(path)
    except UsageError as fault:
        return None, [fault]
    reader = _Reader(path)
    pipeline = reader.pipeline(root)
    return pipeline if pipeline.stages else None, reader.in_order()


class _Reader:
    """Collects faults while it builds; a value at fault is replaced by something harmless."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.faults: list[tuple[int, UsageError]] = []

    def fault(self, line: int, key: str, value: object, reason: str, way_out: str = "") -> None:
        shown = None if value is None else _shown(value)
        error = UsageError(f"{self.path}:{line}: {key}", shown, reason, way_out)
        self.faults.append((line, error))

    def in_order(self) -> list[UsageError]:
        return [error for _, error in sorted(self.faults, key=lambda fault: fault[0])]

    def pipeline(self, root: Node) -> Pipeline:
        entries = self.mapping(root, "the file", _FILE_KEYS, later=_LATER_FILE_KEYS)
        name = self.text(entries.get("name"), "name")
        stages_node = entries.get("stages")
        stages: list[StageSpec] = []
        if stages_node is None:
            if isinstance(root.value, dict):
                way_out = "list at least one stage under it"
                self.fault(root.line, "stages", None, "is missing", way_out)
        elif not isinstance(stages_node.value, list):
            self.fault(stages_node.line, "stages", stages_node.plain(), "must be a list of stages")
        elif not 1 <= len(stages_node.value) <= MAX_STAGES:
            reason = f"has {len(stages_node.value)} entries, must have 1 to {MAX_STAGES}"
            self.fault(stages_node.line, "stages", None, reason)
        else:
            stages = [self.stage(index, node) for index, node in enumerate(stages_node.value)]
            self.check_names(stages, [node.line for node in stages_node.value])
        return Pipeline(name=name, stages=tuple(stages), source=str(self.path))

    def stage(self, index: int, node: Node) -> StageSpec:
        at = f"stages[{index}]"
        entries = self.mapping(node, at, _STAGE_KEYS)
        for key in ("name", "model"):
            if isinstance(node.value, dict) and key not in entries:
                self.fault(node.line, f"{at}.{key}", None, "is missing")
        name = self.text(entries.get("name"), f"{at}.name") or ""
        if name and not _STAGE_NAME.fullmatch(name):
            reason = "must be 1 to 64 letters, digits, - and _, and start with a letter or digit"
            self.fault(entries["name"].line, f"{at}.name", name, reason)
        self.kind(entries.get("kind"), f"{at}.kind")
        args = self.args(entries.get("args"), f"{at}.args")
        owner = f"stage {name}: " if name else f"{at}."
        return StageSpec(
            name=name,
            model=self.text(entries.get("model"), f"{at}.model") or "",
            served_model_name=self.names(
                entries.get("served_model_name"), f"{at}.served_model_name"
            ),
            args={destination(key): child.plain() for key, child in args.items()},
            threads=self.threads(entries.get("threads"), f"{at}.threads"),
            executor=self.executor(entries.get("executor"), f"{at}.executor"),
            where=f"{self.path}:{node.line}",
            places={
                destination(key): f"{self.path}:{child.line}: {owner}args.{key}"
                for key, child in args.items()
            },
        )

    def mapping(
        self, node: Node, at: str, known: Iterable[str], later: Iterable[str] = ()
    ) -> dict[str, Node]:
        if not isinstance(node.value, dict):
            reason = f"must be a mapping with the keys {', '.join(known)}"
            self.fault(node.line, at, node.plain(), reason)
            return {}
        prefix = f"{at}." if at.startswith("stages") else ""
        for key, line in node.repeated:
            self.fault(line, f"{prefix}{key}", None, "stands here twice")
        for key, child in node.value.items():
            if key in later:
                self.fault(child.line, f"{prefix}{key}", None, "is not built yet", "leave it out")
            elif key not in known:
                way_out = _nearest(key, known)
                self.fault(child.line, f"{prefix}{key}", None, "is not a known key", way_out)
        return node.value

    def text(self, node: Node | None, at: str) -> str | None:
        if node is None:
            return None
        if not isinstance(node.value, str) or not node.value.strip():
            self.fault(node.line, at, node.plain(), "must be text, and not empty")
            return None
        if len(node.value) > MAX_NAME_CHARS:
            self.fault(node.line, at, node.value, f"is longer than {MAX_NAME_CHARS} characters")
            return None
        return node.value.strip()

    def kind(self, node: Node | None, at: str) -> None:
        if node is None or node.value == "vllm":
            return
        later = isinstance(node.value, str) and node.value in _LATER_KINDS
        reason = "is not built yet" if later else "is not a known kind of stage"
        self.fault(node.line, at, node.plain(), reason, "the kind built so far is vllm")

    def names(self, node: Node | None, at: str) -> tuple[str, ...]:
        if node is None:
            return ()
        items = node.value if isinstance(node.value, list) else [node]
        if not 1 <= len(items) <= MAX_SERVED_NAMES:
            self.fault(node.line, at, None, f"must hold 1 to {MAX_SERVED_NAMES} names")
            return ()
        names = [self.text(item, at) for item in items]
        return tuple(dict.fromkeys(name for name in names if name))

    def threads(self, node: Node | None, at: str) -> int | None:
        if node is None:
            return None
        value = node.value
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_THREADS:
            return value
        self.fault(node.line, at, node.plain(), f"must be a whole number from 1 to {MAX_THREADS}")
        return None

    def executor(self, node: Node | None, at: str) -> Literal["uni", "mp"] | None:
        match node.value if node else None:
            case "uni":
                return "uni"
            case "mp":
                return "mp"
        if node is not None:
            self.fault(node.line, at, node.plain(), "must be uni or mp")
        return None

    def args(self, node: Node | None, at: str) -> dict[str, Node]:
        if node is None or node.value is None:
            return {}
        if not isinstance(node.value, dict):
            self.fault(node.line, at, node.plain(), "must be a mapping of vLLM arguments")
            return {}
        from engine_bridge.yaml_file import repeated  # noqa: PLC0415 - loaded by read_pipeline

        for key, line in repeated(node):
            self.fault(line, f"{at}.{key}", None, "stands here twice")
        found: set[str] = set()
        for key, child in node.value.items():
            if destination(key) in found:
                self.fault(child.line, f"{at}.{key}", None, "stands here twice, spelt differently")
            found.add(destination(key))
        return node.value

    def check_names(self, stages: list[StageSpec], lines: list[int]) -> None:
        owners: dict[str, int] = {}
        for index, stage in enumerate(stages):
            if stage.name and stage.name in owners:
                reason = f"is also the name of stages[{owners[stage.name]}]"
                self.fault(lines[index], f"stages[{index}].name", stage.name, reason)
            owners.setdefault(stage.name, index)
        served = {
            stage.name: index for index, stage in enumerate(stages) if not stage.served_model_name
        }
        for index, stage in enumerate(stages):
            for name in stage.served_model_name:
                if served.setdefault(name, index) != index:
                    reason = f"also selects stages[{served[name]}]"
                    self.fault(lines[index], f"stages[{index}].served_model_name", name, reason)


def _nearest(key: str, known: Iterable[str]) -> str:
    return did_you_mean(key, known, f"known keys are {', '.join(known)}")


def _shown(value: object) -> str:
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(written.split()) or "''"
    return text if len(text) <= 60 else f"{text[:57]}..."

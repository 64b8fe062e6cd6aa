"""A command line as the rules of the combination table see it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from omni_cli.serve.facts import Facts
from omni_cli.serve.model_facts import ModelFacts
from omni_cli.serve.problems import Origin
from omni_cli.serve.stages import StageWish

__all__ = ["Line", "Named", "Settings"]

MAX_SHOWN_CHARS = 200  # of a value in a message
# Arguments of a stage that are fields of the stage.
_STAGE_FIELDS = {
    "served_model_name": "served",
    "distributed_executor_backend": "executor",
    "threads": "threads",
}


class Settings(Protocol):
    """What rules need of the settings: every flag, omni's and vLLM's, by its destination."""

    def value(self, dest: str) -> object:
        """What is used for the run; None if nobody gave it and there is no default."""

    def origin(self, dest: str) -> Origin:
        """Where the value comes from."""

    def subject(self, dest: str) -> str:
        """The flag as the user spelt it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Settings, stages and facts; with the one stage in question where a rule is about stages.

    A destination may be a path into an object: ``speculative_config.method``.
    """

    settings: Settings
    stages: Sequence[StageWish]
    facts: Facts
    stage: StageWish | None = None

    def value(self, dest: str) -> object:
        """The value in force: given, or of the bundled model's own arguments, or omni's default;
        None if vLLM decides.
        """
        root, _, path = dest.partition(".")
        found = self._whole(root)
        for key in path.split(".") if path else ():
            found = _item(found, key)
        return found

    def given(self, dest: str) -> bool:
        """Whether the user said anything about it, on the line, in a file or in the environment."""
        return self.origin(dest) != "default" and self.value(dest) is not None

    def origin(self, dest: str) -> Origin:
        """Where the value comes from."""
        root = dest.partition(".")[0]
        if self.stage is not None and (origin := self.stage.origin(root)) != "default":
            return origin
        return self.settings.origin(root)

    def subject(self, dest: str) -> str:
        """The flag as the user spelt it, or as it is written on the line."""
        root, dot, path = dest.partition(".")
        spelt = (
            self.stage.subject(root)
            if self.stage is not None and self.stage.origin(root) != "default"
            else self.settings.subject(root)
        )
        return f"{spelt}{dot}{path}"

    def shown(self, dest: str) -> object:
        """The value for a message: short and on one line; None for a switch of the line."""
        value = self.value(dest)
        if isinstance(value, bool):
            return None if self.origin(dest) == "flag" and "." not in dest else str(value).lower()
        return shown(value)

    def on(self, dest: str) -> bool:
        """Whether a switch is on."""
        return self.value(dest) is True

    def off(self, dest: str) -> bool:
        """Whether a switch was switched off."""
        return self.value(dest) is False and self.given(dest)

    def number(self, dest: str) -> int | None:
        """A whole number; None if nobody said, or if it is none, which vLLM then reports."""
        value = self.value(dest)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, dest: str) -> str:
        """A text; empty if nobody said."""
        value = self.value(dest)
        return value if isinstance(value, str) else ""

    def less(self, dest: str, other: str) -> bool:
        """Whether both are known numbers and the first is the smaller."""
        low, high = self.number(dest), self.number(other)
        return low is not None and high is not None and low < high

    @property
    def cpu(self) -> bool:
        """Whether vLLM runs on the CPU."""
        return self.facts.platform == "cpu"

    @property
    def frontends(self) -> int:
        """Number of frontends."""
        return self.number("api_server_count") or 1

    @property
    def model(self) -> ModelFacts | None:
        """What is known of the stage's model."""
        return self.facts.models.get(self.stage.spec.name) if self.stage is not None else None

    @property
    def config(self) -> Mapping[str, object]:
        """What the model's config.json says of its language model; empty where vLLM reads another
        file, or changes what it reads.
        """
        changed = ("hf_config_path", "hf_overrides", "config_format")
        if self.model is None or any(self.given(dest) for dest in changed):
            return {}
        config = self.model.config
        nested = config.get("text_config")
        return nested if isinstance(nested, Mapping) else config

    def _whole(self, root: str) -> object:
        if self.stage is None:
            return self.settings.value(root)
        if root in _STAGE_FIELDS:
            return getattr(self.stage, _STAGE_FIELDS[root]) or None
        if root in self.stage.args:
            return self.stage.args[root]
        entry = self.model.entry if self.model is not None else None
        if entry is not None and root in entry.vllm_args:
            return entry.vllm_args[root]
        return self.settings.value(root)


class Named:
    """A flag in a sentence: its name, ``.value``, and ``.key`` for a path into an object."""

    def __init__(self, line: Line, dest: str) -> None:
        self._line = line
        self._dest = dest

    def __str__(self) -> str:
        return self._line.subject(self._dest)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __getattr__(self, name: str) -> object:
        if name == "value":
            return shown(self._line.value(self._dest))
        return Named(self._line, f"{self._dest}.{name}")


def shown(value: object) -> object:
    """A value for a message; objects and lists become short text."""
    if isinstance(value, dict | list | tuple):
        plain = isinstance(value, list | tuple) and all(
            isinstance(each, str | int) for each in value
        )
        text = ", ".join(map(str, value)) if plain else json.dumps(value, default=str)
        return text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 3]}..."
    return value


def _item(value: object, key: str) -> object:
    """One key of an object; keys may be written with hyphens."""
    if not isinstance(value, Mapping):
        return None
    for name, item in value.items():
        if str(name).replace("-", "_") == key:
            found: object = item
            return found
    return None

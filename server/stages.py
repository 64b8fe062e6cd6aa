"""Which stage serves a request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from server.errors import StageDown, UnknownModel, WrongTask
from server.ports import Stage

__all__ = ["StageSet"]


class StageSet:
    """The stages of this frontend, in the order of the plan; their served names are disjoint."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._stages = tuple(stages)

    def __iter__(self) -> Iterator[Stage]:
        return iter(self._stages)

    @property
    def names(self) -> list[str]:
        """Every served name."""
        return [name for stage in self._stages for name in stage.names]

    def pick(self, model: str | None, task: str, path: str) -> Stage:
        """Choose by the request's ``model``, or, without one, the first stage that has the task.

        Args:
            model: As the request spells it; None or empty for the default.
            task: A task of ``server.route_table``; ``any`` is served by every stage.
            path: The route, for the message.

        Raises:
            UnknownModel: No stage has this name.
            WrongTask: The stage does not serve the task.
            StageDown: Its engine has died.
        """
        stage = self._named(model, task, path) if model else self._default(task, path)
        if stage.dead:
            raise StageDown(stage.name)
        return stage

    def _named(self, model: str, task: str, path: str) -> Stage:
        for stage in self._stages:
            if model in stage.names:
                if not _serves(stage, task):
                    raise WrongTask(path, model, self._able(task))
                return stage
        raise UnknownModel(model, self.names)

    def _default(self, task: str, path: str) -> Stage:
        for stage in self._stages:
            if _serves(stage, task):
                return stage
        raise WrongTask(path, None, ())

    def _able(self, task: str) -> list[str]:
        return [stage.names[0] for stage in self._stages if _serves(stage, task)]


def _serves(stage: Stage, task: str) -> bool:
    return task == "any" or task in stage.tasks

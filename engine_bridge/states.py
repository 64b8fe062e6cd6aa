"""What a run decides: events in, new states and a list of instructions out. Nothing here waits,
starts or stops.

    event                         instructions
    ----------------------------  --------------------------------------------------------------
    Begun                         launch every stage
    StageConfigured (the last)    launch every frontend
    StageReady                    -
    FrontendReady                 the first: hand the listening socket over; each: let it accept
    Exited before ready           kill all, finish with StartError (never restarted)
    Exited after ready            kill all, finish with ChildDied (healing will have its place here)
    TimedOut while starting       kill all, finish with StartError
    StopRequested                 drain the ready frontends; none: kill all
    StopRequested (again)         kill all
    TimedOut while draining       kill that frontend
    Exited while draining         after the last frontend: stop the stages; after the last stage:
    finish

Every state change is followed by a broadcast of the status.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from engine_bridge.errors import ChildDied, OmniError, StartError
from engine_bridge.status import ChildState

__all__ = [
    "Accept",
    "Begun",
    "Broadcast",
    "DrainFrontends",
    "Event",
    "Exited",
    "Finish",
    "FrontendReady",
    "HandOver",
    "Instruction",
    "Kill",
    "KillAll",
    "LaunchFrontend",
    "LaunchStage",
    "Policy",
    "StageConfigured",
    "StageReady",
    "StopRequested",
    "StopStages",
    "TimedOut",
    "frontend_name",
    "stage_name",
]

ZYGOTE = "zygote"


def stage_name(stage: str) -> str:
    """A stage's name among the children."""
    return f"stage {stage}"


def frontend_name(rank: int) -> str:
    """A frontend's name among the children."""
    return f"frontend {rank}"


@dataclass(frozen=True, slots=True)
class Begun:
    """The run begins."""


@dataclass(frozen=True, slots=True)
class StageConfigured:
    """A stage's configuration is there for the frontends."""

    stage: str


@dataclass(frozen=True, slots=True)
class StageReady:
    """An engine can serve."""

    stage: str


@dataclass(frozen=True, slots=True)
class FrontendReady:
    """A frontend can serve."""

    rank: int


@dataclass(frozen=True, slots=True)
class Exited:
    """A child has ended and has been reaped."""

    child: str
    cause: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """A child did not become ready, or did not drain, in time."""

    child: str
    after_s: float


@dataclass(frozen=True, slots=True)
class StopRequested:
    """A signal asked for the end."""


Event = Begun | StageConfigured | StageReady | FrontendReady | Exited | TimedOut | StopRequested


@dataclass(frozen=True, slots=True)
class LaunchStage:
    """Start a stage's engine."""

    stage: str


@dataclass(frozen=True, slots=True)
class LaunchFrontend:
    """Start a frontend."""

    rank: int


@dataclass(frozen=True, slots=True)
class HandOver:
    """Let go of the listening socket: a frontend is about to accept."""


@dataclass(frozen=True, slots=True)
class Accept:
    """Tell a frontend to accept connections."""

    rank: int


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Tell every frontend the new status."""


@dataclass(frozen=True, slots=True)
class DrainFrontends:
    """Tell every frontend to finish what runs and to exit."""


@dataclass(frozen=True, slots=True)
class Kill:
    """SIGKILL one child."""

    child: str


@dataclass(frozen=True, slots=True)
class KillAll:
    """SIGKILL every child."""


@dataclass(frozen=True, slots=True)
class StopStages:
    """End every engine: SIGTERM, then SIGKILL."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is over once all children have been reaped."""

    error: OmniError | None


Instruction = (
    LaunchStage
    | LaunchFrontend
    | HandOver
    | Accept
    | Broadcast
    | DrainFrontends
    | Kill
    | KillAll
    | StopStages
    | Finish
)


class Policy:
    """The state of a run.

    Args:
        stages: Names of the stages.
        frontends: Number of frontends.

    Attributes:
        children: State of each child by name, in the order stages, frontends.
    """

    def __init__(self, stages: Iterable[str], frontends: int) -> None:
        self._stages = tuple(stages)
        self._ranks = tuple(range(frontends))
        self._configured: set[str] = set()
        self._handed_over = False
        self._stopping = False
        self._finished = False
        names = [*map(stage_name, self._stages), *map(frontend_name, self._ranks)]
        self.children: dict[str, ChildState] = dict.fromkeys(names, "starting")

    @property
    def stopping(self) -> bool:
        """Whether the end was asked for."""
        return self._stopping

    def handle(self, event: Event) -> list[Instruction]:
        """Take one event; returns what is to be done, in order."""
        if self._finished:
            return []
        match event:
            case Begun():
                return [LaunchStage(stage) for stage in self._stages]
            case StageConfigured():
                return self._configure(event.stage)
            case StageReady():
                return self._welcome(stage_name(event.stage))
            case FrontendReady():
                return self._admit(event.rank)
            case Exited():
                return self._bury(event)
            case TimedOut():
                return self._give_up(event)
            case StopRequested():
                return self._stop()
        assert_never(event)

    def _welcome(self, stage: str) -> list[Instruction]:
        # Its last message may be taken after its end.
        return self._become(stage, "ready") if self.children[stage] == "starting" else []

    def _become(self, child: str, state: ChildState) -> list[Instruction]:
        self.children[child] = state
        return [Broadcast()]

    def _configure(self, stage: str) -> list[Instruction]:
        self._configured.add(stage)
        if self._stopping or len(self._configured) < len(self._stages):
            return []
        return [LaunchFrontend(rank) for rank in self._ranks]

    def _admit(self, rank: int) -> list[Instruction]:
        if self._stopping:
            return []
        instructions: list[Instruction] = []
        if not self._handed_over:
            self._handed_over = True
            instructions.append(HandOver())
        return [*instructions, *self._become(frontend_name(rank), "ready"), Accept(rank)]

    def _fail(self, error: OmniError) -> list[Instruction]:
        self._finished = True
        return [KillAll(), Finish(error)]

    def _bury(self, event: Exited) -> list[Instruction]:
        if not self._stopping:
            if event.child == ZYGOTE:
                early = "starting" in self.children.values()
            else:
                early = self.children[event.child] == "starting"
                self.children[event.child] = "failed"
            error = StartError if early else ChildDied
            return self._fail(error(event.child, event.cause))
        if event.child == ZYGOTE:
            return []
        instructions = self._become(event.child, "stopped")
        if self._stopped(map(stage_name, self._stages)) and self._stopped(
            map(frontend_name, self._ranks)
        ):
            self._finished = True
            return [*instructions, Finish(None)]
        if event.child in map(frontend_name, self._ranks) and self._stopped(
            map(frontend_name, self._ranks)
        ):
            return [*instructions, StopStages()]
        return instructions

    def _stopped(self, children: Iterable[str]) -> bool:
        return all(self.children[child] == "stopped" for child in children)

    def _give_up(self, event: TimedOut) -> list[Instruction]:
        if self._stopping:
            return [Kill(event.child)] if self.children[event.child] == "draining" else []
        if self.children[event.child] != "starting":
            return []
        return self._fail(StartError(event.child, f"not ready after {event.after_s:g} s"))

    def _stop(self) -> list[Instruction]:
        if self._stopping or "ready" not in (
            self.children[frontend_name(rank)] for rank in self._ranks
        ):
            # Asked twice, or with nothing running that could be finished.
            self._stopping = self._finished = True
            return [KillAll(), Finish(None)]
        self._stopping = True
        instructions: list[Instruction] = []
        for rank in self._ranks:
            child = frontend_name(rank)
            if self.children[child] == "ready":
                self.children[child] = "draining"
            else:
                instructions.append(Kill(child))
        return [*instructions, Broadcast(), DrainFrontends()]

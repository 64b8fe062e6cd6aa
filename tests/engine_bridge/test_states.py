"""The policy of a run: its table row by row, every state with every event, and random histories."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_bridge.errors import ChildDied, OmniError, StartError
from engine_bridge.states import (
    ZYGOTE,
    Accept,
    Begun,
    Broadcast,
    DrainFrontends,
    Event,
    Exited,
    Finish,
    FrontendReady,
    HandOver,
    Instruction,
    Kill,
    KillAll,
    LaunchFrontend,
    LaunchStage,
    Policy,
    StageConfigured,
    StageReady,
    StopRequested,
    StopStages,
    TimedOut,
)

STAGES = ("chat", "embed")
CHILDREN = ("stage chat", "stage embed", "frontend 0", "frontend 1")

BEGUN: list[Event] = [Begun()]
CONFIGURED: list[Event] = [*BEGUN, StageConfigured("chat"), StageConfigured("embed")]
STAGES_READY: list[Event] = [*CONFIGURED, StageReady("chat"), StageReady("embed")]
ONE_READY: list[Event] = [*STAGES_READY, FrontendReady(1)]
READY: list[Event] = [*ONE_READY, FrontendReady(0)]
DRAINING: list[Event] = [*READY, StopRequested()]
ONE_DRAINED: list[Event] = [*DRAINING, Exited("frontend 0", "exited with code 0")]
DRAINED: list[Event] = [*ONE_DRAINED, Exited("frontend 1", "exited with code 0")]
ONE_STAGE_LEFT: list[Event] = [*DRAINED, Exited("stage chat", "ended by SIGTERM")]


def after(history: Sequence[Event]) -> Policy:
    """A policy with two stages and two frontends that has seen the events."""
    policy = Policy(STAGES, 2)
    for event in history:
        policy.handle(event)
    return policy


def told(instructions: Sequence[Instruction]) -> list[object]:
    """The instructions, with an error as its class and sentence, which can be compared."""
    return [
        (Finish, type(each.error), str(each.error)) if isinstance(each, Finish) else each
        for each in instructions
    ]


def finish(error: OmniError | None) -> object:
    return (Finish, type(error), str(error))


def failing(error: OmniError) -> list[object]:
    return [KillAll(), finish(error)]


NOTHING: list[object] = []
CLEAN = finish(None)
LAUNCH = [LaunchStage("chat"), LaunchStage("embed")]
FRONTENDS = [LaunchFrontend(0), LaunchFrontend(1)]
UNSTARTED = "chat could not start"

# (name, what has happened, the event, what is to be done)
ROWS: list[tuple[str, list[Event], Event, Sequence[object]]] = [
    ("begun", [], Begun(), LAUNCH),
    ("first configuration", BEGUN, StageConfigured("chat"), NOTHING),
    ("last configuration", [Begun(), StageConfigured("embed")], StageConfigured("chat"), FRONTENDS),
    ("one configured twice", [Begun(), StageConfigured("chat")], StageConfigured("chat"), NOTHING),
    ("stage ready", CONFIGURED, StageReady("chat"), [Broadcast()]),
    ("ready before configured", BEGUN, StageReady("chat"), [Broadcast()]),
    ("first frontend", STAGES_READY, FrontendReady(1), [HandOver(), Broadcast(), Accept(1)]),
    ("next frontend", ONE_READY, FrontendReady(0), [Broadcast(), Accept(0)]),
    (
        "stage dies before ready",
        CONFIGURED,
        Exited("stage chat", "no memory"),
        failing(StartError("stage chat", "no memory")),
    ),
    (
        "frontend dies before ready",
        ONE_READY,
        Exited("frontend 0", "exited with code 1"),
        failing(StartError("frontend 0", "exited with code 1")),
    ),
    (
        "ready stage dies while a frontend starts",
        ONE_READY,
        Exited("stage chat", "was killed"),
        failing(ChildDied("stage chat", "was killed")),
    ),
    (
        "ready frontend dies while another starts",
        ONE_READY,
        Exited("frontend 1", "was killed"),
        failing(ChildDied("frontend 1", "was killed")),
    ),
    (
        "stage dies after ready",
        READY,
        Exited("stage embed", "was killed"),
        failing(ChildDied("stage embed", "was killed")),
    ),
    (
        "frontend dies after ready",
        READY,
        Exited("frontend 0", "ended by SIGSEGV"),
        failing(ChildDied("frontend 0", "ended by SIGSEGV")),
    ),
    (
        "frontend exits with 0 after ready",
        READY,
        Exited("frontend 0", "exited with code 0"),
        failing(ChildDied("frontend 0", "exited with code 0")),
    ),
    (
        "zygote dies before ready",
        BEGUN,
        Exited(ZYGOTE, "exited with code 1"),
        failing(StartError(ZYGOTE, "exited with code 1")),
    ),
    (
        "zygote dies while a frontend starts",
        ONE_READY,
        Exited(ZYGOTE, "was killed"),
        failing(StartError(ZYGOTE, "was killed")),
    ),
    (
        "zygote dies after ready",
        READY,
        Exited(ZYGOTE, "was killed"),
        failing(ChildDied(ZYGOTE, "was killed")),
    ),
    (
        "stage takes too long",
        CONFIGURED,
        TimedOut("stage chat", 600.0),
        failing(StartError("stage chat", "not ready after 600 s")),
    ),
    (
        "frontend takes too long",
        ONE_READY,
        TimedOut("frontend 0", 2.5),
        failing(StartError("frontend 0", "not ready after 2.5 s")),
    ),
    ("deadline of one that is ready", ONE_READY, TimedOut("frontend 1", 1.0), NOTHING),
    ("deadline of a ready stage", READY, TimedOut("stage chat", 1.0), NOTHING),
    ("stop before anything", [], StopRequested(), [KillAll(), CLEAN]),
    ("stop with no frontend ready", STAGES_READY, StopRequested(), [KillAll(), CLEAN]),
    ("stop with all ready", READY, StopRequested(), [Broadcast(), DrainFrontends()]),
    (
        "stop with one ready",
        ONE_READY,
        StopRequested(),
        [Kill("frontend 0"), Broadcast(), DrainFrontends()],
    ),
    ("stop again", DRAINING, StopRequested(), [KillAll(), CLEAN]),
    ("stop again after the drain", DRAINED, StopRequested(), [KillAll(), CLEAN]),
    ("frontend does not drain", DRAINING, TimedOut("frontend 1", 30.0), [Kill("frontend 1")]),
    ("drained frontend's deadline", ONE_DRAINED, TimedOut("frontend 0", 30.0), NOTHING),
    ("stage's ready deadline while draining", DRAINING, TimedOut("stage chat", 60.0), NOTHING),
    ("first drained", DRAINING, Exited("frontend 1", ""), [Broadcast()]),
    ("last drained", ONE_DRAINED, Exited("frontend 1", ""), [Broadcast(), StopStages()]),
    ("first stage ends", DRAINED, Exited("stage embed", ""), [Broadcast()]),
    ("last stage ends", ONE_STAGE_LEFT, Exited("stage embed", ""), [Broadcast(), CLEAN]),
    ("stage dies while draining", DRAINING, Exited("stage chat", ""), [Broadcast()]),
    (
        "last frontend ends after the stages",
        [*ONE_DRAINED, Exited("stage chat", ""), Exited("stage embed", "")],
        Exited("frontend 1", ""),
        [Broadcast(), CLEAN],
    ),
    ("zygote dies while draining", DRAINING, Exited(ZYGOTE, "was killed"), NOTHING),
    ("frontend ready too late", [*ONE_READY, StopRequested()], FrontendReady(0), NOTHING),
    ("stage configured too late", DRAINING, StageConfigured("chat"), NOTHING),
    ("stage ready after its end", ONE_STAGE_LEFT, StageReady("chat"), NOTHING),
]


@pytest.mark.parametrize(
    ("history", "event", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_event_leads_to_its_instructions(
    history: list[Event], event: Event, expected: list[object]
) -> None:
    assert told(after(history).handle(event)) == expected


STATES = {
    "new": [],
    "begun": BEGUN,
    "configured": CONFIGURED,
    "stages ready": STAGES_READY,
    "one ready": ONE_READY,
    "ready": READY,
    "draining": DRAINING,
    "one drained": ONE_DRAINED,
    "drained": DRAINED,
    "one stage left": ONE_STAGE_LEFT,
}
EVENTS: list[Event] = [
    Begun(),
    *map(StageConfigured, STAGES),
    *map(StageReady, STAGES),
    *map(FrontendReady, (0, 1)),
    *(Exited(child, "why") for child in (*CHILDREN, ZYGOTE)),
    *(TimedOut(child, 1.0) for child in CHILDREN),
    StopRequested(),
]


@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("history", STATES.values(), ids=STATES)
def test_every_state_takes_every_event(history: list[Event], event: Event) -> None:
    policy = after(history)
    before = dict(policy.children)
    instructions = policy.handle(event)
    if policy.children != before:
        # Somebody is told of every change, unless the run ends here.
        assert any(isinstance(each, Broadcast | Finish) for each in instructions)
    finishes = [each for each in instructions if isinstance(each, Finish)]
    assert len(finishes) <= 1
    if finishes:
        assert isinstance(instructions[-1], Finish)
        assert [policy.handle(later) for later in EVENTS] == [[]] * len(EVENTS)
    assert tuple(policy.children) == CHILDREN


@pytest.mark.parametrize("history", [BEGUN, READY, DRAINING], ids=["begun", "ready", "draining"])
def test_nothing_follows_a_finish(history: list[Event]) -> None:
    policy = after([*history, StopRequested(), StopRequested()])
    assert [policy.handle(event) for event in EVENTS] == [[]] * len(EVENTS)


def test_children_are_named_stages_first() -> None:
    assert after([]).children == dict.fromkeys(CHILDREN, "starting")


def test_stopping_is_told() -> None:
    assert not after(READY).stopping
    assert after(DRAINING).stopping
    assert after([StopRequested()]).stopping


@given(st.lists(st.sampled_from(EVENTS), max_size=40))
@settings(max_examples=300, deadline=None, database=None)
def test_any_history_finishes_at_most_once(history: list[Event]) -> None:
    policy = Policy(STAGES, 2)
    instructions = [each for event in history for each in policy.handle(event)]
    finishes = [at for at, each in enumerate(instructions) if isinstance(each, Finish)]
    assert finishes in ([], [len(instructions) - 1])
    assert sum(isinstance(each, HandOver) for each in instructions) <= 1
    for at, each in enumerate(instructions):
        if isinstance(each, Accept):
            assert HandOver() in instructions[:at]


@given(
    history=st.lists(st.sampled_from(EVENTS), max_size=20),
    order=st.permutations(CHILDREN),
)
@settings(max_examples=300, deadline=None, database=None)
def test_run_is_over_once_a_stop_was_asked_and_every_child_has_ended(
    history: list[Event], order: list[str]
) -> None:
    policy = Policy(STAGES, 2)
    ends = [Exited(child, "why") for child in order]
    events = [*history, StopRequested(), *ends]
    instructions = [each for event in events for each in policy.handle(event)]
    assert sum(isinstance(each, Finish) for each in instructions) == 1

"""Facts of this machine."""

from __future__ import annotations

import os
from pathlib import Path

from engine_bridge.models.store import ModelStore
from omni_cli.serve.facts import collect_facts
from tests.omni_cli.serve.wishes import GIB, wanted


def test_machine_is_seen_as_it_is() -> None:
    _, stages = wanted()
    facts = collect_facts(stages, ModelStore(Path("cache")), {})
    assert facts.cores == len(os.sched_getaffinity(0))
    assert facts.memory_available_bytes is not None
    assert GIB // 4 < facts.memory_available_bytes < 2**50
    assert facts.platform == ("cpu" if facts.gpus == 0 else facts.platform)
    assert list(facts.models) == ["smollm2-135m-instruct"]
    assert facts.listener_error is None


def test_affinity_limits_the_cores() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert collect_facts((), ModelStore(Path("cache")), {}).cores == 1
    finally:
        os.sched_setaffinity(0, before)


def test_chat_template_is_a_file_or_a_text() -> None:
    Path("there.jinja").write_text("{{ messages }}")

    def missing(template: str) -> frozenset[str]:
        _, stages = wanted(chat_template=template)
        return collect_facts(stages, ModelStore(Path("cache")), {}).missing_files

    assert missing("there.jinja") == frozenset()
    assert missing("{{ messages }}") == frozenset()
    assert missing("nope.jinja") == {"nope.jinja"}

from __future__ import annotations

import json
import time

from engine_bridge.status import Phase, RuntimeStatus
from server import health

NOW = time.monotonic()
READY = RuntimeStatus(
    started_at=NOW - 5,
    phases=(
        Phase(name="zygote", started_at=NOW - 5, ended_at=NOW - 3),
        Phase(name="stages", started_at=NOW - 3, ended_at=NOW - 1),
    ),
    stages={"chat": "ready"},
    frontends=("ready", "ready"),
)
STARTING = RuntimeStatus(
    started_at=NOW - 5,
    phases=(Phase(name="zygote", started_at=NOW - 5, ended_at=NOW - 3),
            Phase(name="stages", started_at=NOW - 3)),
    stages={"chat": "starting", "embed": "ready"},
    frontends=("ready", "starting"),
)  # fmt: skip


class TestReadyz:
    def test_ready_is_200(self) -> None:
        answer = health.readyz(READY)
        assert answer.status == 200
        assert json.loads(answer.body)["status"] == "ready"

    def test_not_ready_names_the_culprits_and_says_when_to_retry(self) -> None:
        answer = health.readyz(STARTING)
        assert answer.status == 503
        assert json.loads(answer.body)["waiting_for"] == ["stage chat", "frontend 1"]
        assert dict(answer.headers)["retry-after"].isdigit()


class TestStartupz:
    def test_started_tells_the_phases_and_a_fixed_duration(self) -> None:
        first, again = json.loads(health.startupz(READY).body), health.startupz(READY)
        assert again.status == 200
        assert [phase["name"] for phase in first["phases"]] == ["zygote", "stages"]
        assert [phase["elapsed_s"] for phase in first["phases"]] == [2.0, 2.0]
        assert first["elapsed_s"] == json.loads(again.body)["elapsed_s"] == 4.0

    def test_starting_is_503_with_the_running_phase(self) -> None:
        answer = health.startupz(STARTING)
        body = json.loads(answer.body)
        assert answer.status == 503
        assert body["status"] == "starting"
        assert body["phases"][1]["state"] == "running"
        assert body["phases"][1]["elapsed_s"] >= 3.0
        assert body["elapsed_s"] >= 5.0

    def test_status_without_anything_is_starting(self) -> None:
        answer = health.startupz(RuntimeStatus(started_at=NOW))
        assert (answer.status, json.loads(answer.body)["waiting_for"]) == (503, ["start"])


class TestWaiting:
    def test_message_says_what_is_waited_for(self) -> None:
        answer = health.waiting(STARTING)
        error = json.loads(answer.body)["error"]
        assert answer.status == error["code"] == 503
        assert "stage chat, frontend 1" in error["message"]

    def test_failed_stage_is_named(self) -> None:
        status = RuntimeStatus(started_at=NOW, stages={"chat": "failed"})
        assert (
            "stage chat has failed" in json.loads(health.waiting(status).body)["error"]["message"]
        )


def test_livez_is_200() -> None:
    assert health.livez().status == 200

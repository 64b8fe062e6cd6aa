"""Facts of this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from engine_bridge.models.store import ModelStore
from omni_cli.serve.facts import PathState, collect_facts
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


def paths(**given: object) -> Mapping[str, PathState]:
    settings, stages = wanted(**given)  # type: ignore[arg-type]
    return collect_facts(stages, ModelStore(Path("cache")), {}, settings=settings).paths


def test_chat_template_is_a_file_or_a_text() -> None:
    Path("there.jinja").write_text("{{ messages }}")
    assert paths(chat_template="there.jinja") == {"there.jinja": "file"}
    assert paths(chat_template="{{ messages }}") == {}
    assert paths(chat_template="nope.jinja") == {"nope.jinja": "missing"}


def test_chat_template_may_be_one_that_vllm_brings() -> None:
    assert paths(chat_template="template_basic.jinja") == {"template_basic.jinja": "file"}


def test_files_of_run_and_stages_are_looked_at() -> None:
    Path("k.pem").write_text("")
    Path("closed").mkdir()
    assert paths(ssl_certfile="closed", ssl_keyfile="k.pem", ssl_ca_certs="nope") == {
        "closed": "folder",
        "k.pem": "file",
        "nope": "missing",
    }
    assert paths(tokenizer="./nope", tool_parser_plugin="./k.pem") == {
        "./nope": "missing",
        "./k.pem": "file",
    }


def test_names_that_are_no_paths_are_left_alone() -> None:
    assert paths(tokenizer="org/name", tool_parser_plugin="my.parsers") == {}


def test_file_whose_reading_is_forbidden_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("k.pem").write_text("")
    # The tests may run as root, who may read everything.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert paths(ssl_keyfile="k.pem") == {"k.pem": "unreadable"}


def test_certificate_and_key_are_tried_when_both_are_there() -> None:
    Path("c.pem").write_text("")

    def error(**given: object) -> str:
        settings, stages = wanted(**given)  # type: ignore[arg-type]
        facts = collect_facts(stages, ModelStore(Path("cache")), {}, settings=settings)
        return str(facts.tls_error)

    assert error(ssl_certfile="c.pem", ssl_keyfile="c.pem") == (
        "--ssl-certfile c.pem: holds no certificate in PEM form"
    )
    assert error(ssl_certfile="c.pem", ssl_keyfile="nope.pem") == "None"
    assert error(ssl_certfile="c.pem") == "None"
    assert error() == "None"


def test_variables_that_decide_are_kept() -> None:
    _, stages = wanted()
    environ = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1", "HOME": "/root"}
    found = collect_facts(stages, ModelStore(Path("cache")), environ).environ
    assert found == {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}

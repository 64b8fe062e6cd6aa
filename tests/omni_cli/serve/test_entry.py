"""Setup as a whole: what is bound, what is shown, what is fetched."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from omni_cli.serve.entry import Prepared, prepare, serve
from omni_cli.serve.listen import bind_listener

CONFIG = '{"architectures": ["LlamaForCausalLM"]}'


@pytest.fixture
def dummy() -> str:
    """A model's folder that needs no weights."""
    Path("tiny").mkdir()
    Path("tiny/config.json").write_text(CONFIG)
    return "./tiny"


def given(target: str, **flags: object) -> dict[str, object]:
    return {"target": target, "port": 0, "load_format": "dummy", **flags}


def prepared(flags: dict[str, object]) -> Prepared:
    found = prepare(flags)
    assert found is not None
    return found


def test_good_run_is_planned_and_listens(dummy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNI_CACHE_DIR", "/somewhere")
    found = prepared(given(dummy, verbose=True))
    with found.listener as listener:
        address = listener.getsockname()
        with socket.create_connection(address, timeout=5):
            pass
        assert found.settings.runtime.target == dummy
        assert [stage.name for stage in found.plan.stages] == ["tiny"]
        assert found.plan.stages[0].vllm_args["load_format"] == "dummy"
        assert found.terminal.verbosity == 1
        assert found.log_folder == Path("/somewhere/logs")


def test_pipeline_is_planned(dummy: str) -> None:
    text = f"stages:\n  - {{name: a, model: {dummy}}}\n  - {{name: b, model: {dummy}}}\n"
    Path("p.yaml").write_text(text)
    found = prepared(given("p.yaml"))
    with found.listener:
        assert [stage.name for stage in found.plan.stages] == ["a", "b"]


def test_refused_run_shows_all_problems_and_binds_nothing(
    dummy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with bind_listener("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    flags = given(dummy, port=port, pipeline_parallel_size=2, api_server_count=0)
    assert serve(flags) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == (
        "error: --api-server-count 0: must be 1 to 64\n"
        "error: --pipeline-parallel-size 2: pipeline parallelism is not built yet; leave it at 1\n"
    )
    bind_listener("127.0.0.1", port).close()


def test_refused_pipeline_hides_no_problem_of_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("p.yaml").write_text("stages:\n  - name: a\n")
    with bind_listener("127.0.0.1", 0) as holder:
        port = holder.getsockname()[1]
        assert prepare(given("p.yaml", port=port)) is None
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "error: p.yaml:2: stages[0].model: is missing"
    assert lines[1].startswith(f"error: --port {port}: is in use by ")
    assert len(lines) == 2


def test_bad_value_is_reported_once(dummy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert prepare(given(dummy, host="", threads=0)) is None
    assert capsys.readouterr().err == (
        "error: --host '': must not be empty\nerror: --threads 0: must be 1 to 1024\n"
    )

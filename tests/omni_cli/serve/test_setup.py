"""Setup as a whole: what is bound, what is refused, what is planned."""

from __future__ import annotations

import hashlib
import socket
from pathlib import Path

import pytest

from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.parser import parse
from omni_cli.serve.entry import Prepared, prepare
from omni_cli.serve.listen import bind_listener
from tests.certificates import make_pair

FLAGS = catalogue()


@pytest.fixture(autouse=True)
def dummy() -> None:
    """A model's folder that needs no weights."""
    Path("tiny").mkdir()
    Path("tiny/config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')


def prepared(*words: str) -> Prepared:
    line = ["./tiny", "--port=0", "--load-format=dummy", *words]
    found = prepare(parse(line, FLAGS), FLAGS)
    assert found is not None
    return found


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert prepare(parse(words, FLAGS), FLAGS) is None
    output = capsys.readouterr()
    assert output.out == ""
    return output.err.splitlines()


def test_good_run_is_planned_and_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNI_CACHE_DIR", "/somewhere")
    found = prepared("--verbose")
    with found.listener as listener:
        with socket.create_connection(listener.getsockname(), timeout=5):
            pass
        assert found.ready.settings.runtime.target == "./tiny"
        assert [stage.name for stage in found.ready.plan.stages] == ["tiny"]
        assert found.ready.plan.stages[0].vllm_args["load_format"] == "dummy"
        assert found.ready.terminal.verbosity == 1
        assert found.ready.log_folder == Path("/somewhere/logs")


def test_frontends_are_told_about_http() -> None:
    tls = make_pair().write(Path())
    Path("keys").write_text("b\n")
    found = prepared("--api-key", "a", "--api-key-file", "keys", "--ssl-certfile", tls.certfile,
                     "--ssl-keyfile", tls.keyfile, "--host", "localhost")  # fmt: skip
    found.listener.close()
    hashes = tuple(hashlib.sha256(key).hexdigest() for key in (b"a", b"b"))
    assert found.http.key_hashes == hashes
    assert found.http.allowed_hosts == ("localhost", "127.0.0.1", "[::1]")
    assert found.http.tls == tls
    assert "'a'" not in repr(found.ready.settings)


@pytest.mark.parametrize(("ends_in_days", "told"), [(30, False), (-1, True)])
def test_certificate_that_has_expired_is_told(
    ends_in_days: int, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    tls = make_pair(ends_in_days=ends_in_days).write(Path())
    found = prepared("--ssl-certfile", tls.certfile, "--ssl-keyfile", tls.keyfile)
    found.listener.close()
    warning = f"warning: --ssl-certfile {tls.certfile}: certificate has expired\n"
    assert capsys.readouterr().err == (warning if told else "")


def test_server_that_others_may_call_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    prepared("--host", "0.0.0.0").listener.close()
    assert capsys.readouterr().err == (
        "warning: --host 0.0.0.0: other machines may call the server, and no key is asked for; "
        "give one with --api-key-file\n"
    )


def test_pipeline_is_planned() -> None:
    text = "stages:\n  - {name: a, model: ./tiny}\n  - {name: b, model: ./tiny}\n"
    Path("p.yaml").write_text(text)
    line = ["p.yaml", "--port=0", "--load-format=dummy"]
    found = prepare(parse(line, FLAGS), FLAGS)
    assert found is not None
    found.listener.close()
    assert [stage.name for stage in found.ready.plan.stages] == ["a", "b"]


def test_refused_run_shows_all_problems_and_binds_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with bind_listener("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("OMNI_STOP_TIMEOUT", "-1")
    Path("omni.toml").write_text("seed = 'x'\n")
    words = ("./tiny", f"--port={port}", "--api-server-count", "0", "--config", "omni.toml",
             "--headless", "--api-key", "a b", "--api-key-file", "no", "--quiet", "--verbose",
             "--load-format=dummy")  # fmt: skip
    lines = refusal(capsys, *words)
    assert [line.split(": ")[1] for line in lines] == [
        "--api-server-count 0",
        "--headless",
        "--api-key",
        "OMNI_STOP_TIMEOUT -1",
        "omni.toml",
        "--api-key-file no",
        "--quiet",
    ]
    bind_listener("127.0.0.1", port).close()


def test_fault_of_form_hides_no_fault_of_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.yaml").write_text(
        "stages:\n"
        "  - name: a\n"
        "    model: ./tiny\n"
        "    args: {seed: x}\n"
        "    threds: 2\n"
        "  - {name: b, model: ./tiny, args: {tp: 2}}\n"
    )
    assert refusal(capsys, "p.yaml", "--port=0") == [
        "error: p.yaml:4: stage a: args.seed x: must be a whole number from 0 to 4294967295",
        "error: p.yaml:5: stages[0].threds: is not a known key; did you mean threads?",
        "error: p.yaml:6: stage b: args.tp: is not an argument of vLLM; "
        "did you mean tensor-parallel-size?",
    ]


def test_refused_pipeline_hides_no_problem_of_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("p.yaml").write_text("stages:\n  - name: a\n")
    with bind_listener("127.0.0.1", 0) as holder:
        port = holder.getsockname()[1]
        lines = refusal(capsys, "p.yaml", "--port", str(port))
    assert lines[0] == "error: p.yaml:2: stages[0].model: is missing"
    assert lines[1].startswith(f"error: --port {port}: is in use by ")
    assert len(lines) == 2


def test_argument_of_a_stage_is_refused_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.yaml").write_text(
        "stages:\n  - {name: a, model: ./tiny, args: {load-format: dummy, sede: 1, dtype: int}}\n"
    )
    assert refusal(capsys, "p.yaml", "--port=0") == [
        "error: p.yaml:2: stage a: args.sede: is not an argument of vLLM; did you mean seed?",
        "error: p.yaml:2: stage a: args.dtype int: "
        "must be auto, bfloat16, float, float16, float32 or half",
    ]


def test_argument_of_a_stage_that_changes_nothing_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    args = "{load-format: dummy, enable-ssl-refresh: false}"
    Path("p.yaml").write_text(f"stages:\n  - {{name: a, model: ./tiny, args: {args}}}\n")
    found = prepare(parse(["p.yaml", "--port=0"], FLAGS), FLAGS)
    assert found is not None
    found.listener.close()
    assert "enable_ssl_refresh" not in found.ready.plan.stages[0].vllm_args
    assert capsys.readouterr().err == (
        "warning: p.yaml:2: stage a: args.enable-ssl-refresh changes nothing: "
        "omni always reads changed certificates again\n"
    )


def test_bad_value_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("./tiny", "--load-format=dummy", "--host=", "--threads", "0")
    assert refusal(capsys, *words) == [
        "error: --host '': must not be empty",
        "error: --threads 0: must be a whole number from 1 to 1024",
    ]


def test_settings_file_as_target_gets_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    Path("omni.yaml").write_text("port: 1\ntensor-parallel-size: 2\n")
    assert refusal(capsys, "omni.yaml", "--port=0") == [
        "error: TARGET omni.yaml: holds settings, not a pipeline; give it as --config omni.yaml"
    ]


def test_pipeline_as_config_gets_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.yaml").write_text("stages: []\n")
    words = ("./tiny", "--load-format=dummy", "--port=0", "--config", "p.yaml")
    assert refusal(capsys, *words) == [
        "error: --config p.yaml: holds a pipeline, not settings; "
        "give it as TARGET: omni serve p.yaml"
    ]


def test_bad_combination_of_a_file_names_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("o.yaml").write_text("port: 0\n\ntensor-parallel-size: 9999\nheadless: true\n")
    lines = refusal(capsys, "./tiny", "--load-format=dummy", "--config", "o.yaml")
    subjects = [":".join(line.removeprefix("error: ").split(":")[:3]) for line in lines]
    assert subjects == [
        "o.yaml:3: tensor-parallel-size 9999",
        "o.yaml:4: headless",
    ]

"""`--print-config`: what it shows, what it hides, and that it can be read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.parser import parse
from omni_cli.serve.entry import prepare_stages, serve
from omni_cli.serve.sources_file import read_file

FLAGS = catalogue()
TALL = "x" * 200


@pytest.fixture(autouse=True)
def dummy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model's folder that needs no weights, and a cache without models."""
    Path("tiny").mkdir()
    Path("tiny/config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    monkeypatch.setenv("OMNI_CACHE_DIR", str(Path("cache").absolute()))


def shown(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert serve(parse(["--print-config", *words], FLAGS), FLAGS) == code
    return capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shown(capsys, "--json", *words))
    return found


def entries(text: str) -> dict[str, str]:
    """Key to value, of the lines that are no comments."""
    lines = [line.partition("  #")[0] for line in text.splitlines() if line[:1] not in ("#", "")]
    return {key: value.strip() for key, _, value in (line.partition(": ") for line in lines)}


def test_defaults_are_shown_with_their_origin(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "./tiny", "--load-format", "dummy")
    assert entries(text) == {"target": "./tiny", "load-format": "dummy"}
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "target: ./tiny # flag: TARGET" in lines
    assert "# port: 8000 # default" in lines
    assert "# stop-timeout: 5.0 # default" in lines
    assert "load-format: dummy # flag: --load-format" in lines
    names = "[localhost, 127.0.0.1, '[::1]']"
    assert f"# allowed-hosts: {names} # default for a server on this machine alone" in lines
    assert "# stage tiny, model ./tiny:" in lines
    assert "# enforce-eager: true # default on cpu" in lines
    assert "# served-model-name: [tiny] # default, the model's name" in lines


def test_default_of_eager_that_yields_says_to_what(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("./tiny", "--load-format=dummy", "-O3")
    lines = [" ".join(line.split()) for line in shown(capsys, *words).splitlines()]
    assert "optimization-level: '3' # flag: -O" in lines
    assert "# enforce-eager: false # default beside -O" in lines
    text = shown(capsys, *words, "--enforce-eager")
    assert entries(text)["enforce-eager"] == "true"
    assert "# enforce-eager" not in text


def test_each_value_names_who_gave_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("omni.yaml").write_text("max_num_seqs: 4\nseed: 1\n")
    Path("p.yaml").write_text(
        "stages:\n  - {name: a, model: ./tiny, args: {load-format: dummy, seed: 2}}\n"
        "  - {name: b, model: minilm-l6}\n"
    )
    monkeypatch.setenv("OMNI_PORT", "1234")
    words = ("p.yaml", "-tp=1", "--config", "omni.yaml")
    found = document(capsys, *words)
    settings = found["settings"]
    assert settings["target"] == {"value": "p.yaml", "origin": "flag", "by": "flag: TARGET"}
    assert settings["tensor-parallel-size"]["by"] == "flag: -tp"
    assert settings["port"]["by"] == "environment: OMNI_PORT"
    assert settings["max-num-seqs"]["by"] == "file: omni.yaml:1: max_num_seqs"
    assert settings["host"] == {"value": "127.0.0.1", "origin": "default", "by": "default"}
    first, second = found["stages"]
    assert first["values"]["load-format"] == {
        "value": "dummy",
        "origin": "pipeline",
        "by": "pipeline: p.yaml:2: stage a: args.load-format",
    }
    assert first["values"]["seed"]["by"] == "file: omni.yaml:2: seed"
    assert first["values"]["threads"]["by"] == "default for the machine's cores"
    assert second["values"]["dtype"]["by"] == "default of the bundled model minilm-l6"


def test_json_has_every_flag_that_a_run_has_a_value_of(capsys: pytest.CaptureFixture[str]) -> None:
    settings = document(capsys, "./tiny", "--load-format=dummy")["settings"]
    aside = {"config", "help", "json", "print_config"}
    wanted = {f.name.lstrip("-") for f in FLAGS if f.scope != "refused" and f.dest not in aside}
    assert {"target" if key == "TARGET" else key for key in wanted} == {*settings}


def test_secrets_are_masked(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("./tiny", "--load-format=dummy", "--api-key", "sesame", "--hf-token", "hf_sesame")
    for text in (shown(capsys, *words), shown(capsys, "--json", *words)):
        assert "sesame" not in text
        assert "***" in text
    assert "# api-key: '***'" in shown(capsys, *words)
    assert "api-key" not in entries(shown(capsys, *words))


def test_nothing_is_bound_fetched_or_written(capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().rglob("*"))
    assert "minilm-l6" in shown(capsys, "minilm-l6", "--port", "1")
    assert sorted(Path().rglob("*")) == before


def test_nothing_given_is_a_file_without_entries(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys)
    assert entries(text) == {}
    Path("omni.yaml").write_text(text)
    assert read_file("omni.yaml", "--config", "flag", FLAGS).given == {}


@pytest.mark.parametrize(
    "words",
    [
        ("--no-enforce-eager", "-tp=1", "--max-model-len", "4k", "--port", "9"),
        ("--served-model-name", "a: b", "c#d", "--root-path", "/x"),
        ("--compilation-config.mode", "3", "--allowed-origins", '["https://a"]'),
        ("--chat-template", "{{ a }}\n\tb: 'c' # \x07 \u2028 \U0001f600", "--seed", "0"),
        ("--override-generation-config", '{"a": 1e-07, "b": [true, null, "no"], "c": "1"}'),
        ("--hf-overrides", f'{{"a": "{TALL} {TALL}"}}', "--gpu-memory-utilization", "0.5"),
        ("--allowed-hosts", "*", "--quiet", "--ready-timeout", "9"),
        ("--prefix-cache-retention-interval", "None", "--quantization", "None"),
    ],
)
def test_yaml_is_a_settings_file_that_gives_the_same_run(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("./tiny", "--load-format", "dummy", *words)
    # Some of these lines are refused on this machine; what was given is shown nevertheless.
    text = _out(capsys, "--print-config", *words)
    Path("omni.yaml").write_text(text)
    layer = read_file("omni.yaml", "--config", "flag", FLAGS)
    assert layer.problems == ()
    given = parse(words, FLAGS).given
    assert {dest: layer.given[dest].value for dest in given} == {
        dest: each.value for dest, each in given.items()
    }
    again = _out(capsys, "--print-config", "--config", "omni.yaml")
    assert entries(again) == entries(text)


def test_run_of_the_printed_file_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["./tiny", "--load-format=dummy", "--max-num-seqs=4", "--api-server-count", "2"]
    Path("omni.yaml").write_text(shown(capsys, *words))
    first = prepare_stages(parse(words, FLAGS), FLAGS)
    second = prepare_stages(
        parse(["--config=omni.yaml", "--kv-cache-memory-bytes=1M"], FLAGS), FLAGS
    )
    assert first is not None
    assert second is not None
    (one,), (two,) = first.plan.stages, second.plan.stages
    # The default size of the cache follows the free memory of the moment.
    assert {**one.vllm_args, "kv_cache_memory_bytes": 2**20} == two.vllm_args
    assert (first.plan.api_server_count, one.threads, one.served_names) == (
        second.plan.api_server_count,
        two.threads,
        two.served_names,
    )


def test_what_can_be_shown_is_shown_beside_the_problems(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--print-config", "./nope", "--port", "99999", "--seed", "3"]
    assert serve(parse(words, FLAGS), FLAGS) == 2
    output = capsys.readouterr()
    assert output.err == (
        "error: --port 99999: must be a whole number from 0 to 65535\n"
        "error: model ./nope: there is no such folder; check the path\n"
    )
    assert entries(output.out)["seed"] == "3"
    assert "# stage" not in output.out


def test_line_that_cannot_be_read_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "--prot", "1", code=2) == ""


def _out(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    serve(parse(words, FLAGS), FLAGS)
    return capsys.readouterr().out

"""Settings: precedence, origins, and agreement with the catalogue of flags."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.flag import Flag
from omni_cli.flags.parsed import Given
from omni_cli.flags.parser import parse
from omni_cli.serve.layer import LINE_ONLY, Layer
from omni_cli.serve.problems import Problem
from omni_cli.serve.settings import (
    EngineSettings,
    HttpSettings,
    LogLevel,
    RuntimeSettings,
    SecuritySettings,
    ServeSettings,
    StartMethod,
    read_settings,
)
from omni_cli.serve.sources import read_sources

SECTIONS = (HttpSettings, SecuritySettings, RuntimeSettings, EngineSettings)
FLAGS = catalogue()
# They say what the command does; `model` is another name of TARGET.
NO_FIELDS = {*LINE_ONLY, "model"}


def read(*words: str, env: dict[str, str] | None = None) -> tuple[ServeSettings, list[Problem]]:
    return read_settings(read_sources(parse(words, FLAGS), FLAGS, env or {}), FLAGS)


def good(*words: str, env: dict[str, str] | None = None) -> ServeSettings:
    settings, problems = read(*words, env=env)
    assert problems == []
    return settings


def lines(*words: str, env: dict[str, str] | None = None) -> list[str]:
    return [str(problem) for problem in read(*words, env=env)[1]]


def plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


class TestCatalogue:
    def test_each_flag_of_the_run_has_one_field_and_each_field_a_flag(self) -> None:
        fields = [name for section in SECTIONS for name in section.model_fields if name != "args"]
        flags = [flag.dest for flag in FLAGS if flag.scope == "run" and flag.dest not in NO_FIELDS]
        assert sorted(fields) == sorted(flags)

    @pytest.mark.parametrize("section", SECTIONS)
    def test_defaults_are_those_of_the_catalogue(self, section: type) -> None:
        settings = section(layers=())
        for name, value in settings:
            if name == "args":
                continue
            default = FLAGS.by_dest[name].default
            assert plain(value) == ([] if default is None and value == () else default), name

    @pytest.mark.parametrize(
        ("kind", "dest"), [(StartMethod, "start_method"), (LogLevel, "log_level")]
    )
    def test_choices_are_those_of_the_catalogue(self, kind: object, dest: str) -> None:
        assert get_args(kind) == FLAGS.by_dest[dest].choices


class TestPrecedence:
    def test_flag_wins_over_environment_over_file_over_default(self) -> None:
        Path("omni.yaml").write_text("port: 1\nhost: ::1\nseed: 3\napi-server-count: 2\n")
        settings = good(
            "--port", "3", "--config", "omni.yaml", env={"OMNI_PORT": "2", "OMNI_HOST": "::"}
        )
        assert (settings.http.port, settings.http.host) == (3, "::")
        assert (settings.runtime.api_server_count, settings.value("seed")) == (2, 3)
        origins = {
            dest: settings.origin(dest)
            for dest in ("port", "host", "seed", "api_server_count", "verbose", "dtype")
        }
        assert origins == {
            "port": "flag",
            "host": "environment",
            "seed": "file",
            "api_server_count": "file",
            "verbose": "default",
            "dtype": "default",
        }

    def test_subject_is_what_the_user_wrote(self) -> None:
        Path("omni.yaml").write_text("max_num_seqs: 4\n")
        settings = good("-tp", "2", "--config=omni.yaml", env={"OMNI_PORT": "2"})
        assert settings.subject("tensor_parallel_size") == "-tp"
        assert settings.subject("port") == "OMNI_PORT"
        assert settings.subject("max_num_seqs") == "omni.yaml:1: max_num_seqs"
        assert settings.subject("ready_timeout_s") == "--ready-timeout"
        assert settings.subject("target") == "TARGET"

    def test_object_of_a_flag_replaces_the_one_of_the_file(self) -> None:
        Path("omni.yaml").write_text("compilation-config: {mode: 3, cache_dir: x}\n")
        words = ("--config", "omni.yaml")
        assert good(*words).value("compilation_config") == {"mode": 3, "cache_dir": "x"}
        settings = good(*words, "--compilation-config.mode", "1")
        assert settings.value("compilation_config") == {"mode": 1}

    def test_switch_off_wins_over_a_file_that_switches_on(self) -> None:
        Path("omni.yaml").write_text("enforce-eager: true\nquiet: true\n")
        settings = good("--config", "omni.yaml", "--no-enforce-eager", "--no-quiet")
        assert (settings.value("enforce_eager"), settings.runtime.quiet) == (False, False)
        assert (settings.origin("enforce_eager"), settings.origin("quiet")) == ("flag", "flag")

    def test_none_of_a_flag_hides_what_weaker_layers_give(self) -> None:
        settings = good(
            "--ssl-keyfile", "None", "--max-log-len", "None",
            env={"OMNI_SSL_KEYFILE": "/k", "OMNI_MAX_LOG_LEN": "3"},
        )  # fmt: skip
        assert (settings.security.ssl_keyfile, settings.value("max_log_len")) == (None, None)

    def test_nothing_is_given_by_nobody(self) -> None:
        settings = good()
        assert settings.engine_given() == {}
        assert not settings.given("port")
        assert settings.value("port") == 8000
        assert settings.value("max_logprobs") == FLAGS.by_dest["max_logprobs"].default == 20


class TestEngine:
    def test_arguments_and_fields_of_a_stage_are_given_by_destination(self) -> None:
        settings = good(
            "--served-model-name", "a", "b", "--threads", "2", "--max-model-len", "4k",
            "--no-enable-prefix-caching", "--distributed-executor-backend", "mp",
        )  # fmt: skip
        assert settings.engine_given() == {
            "served_model_name": ("a", "b"),
            "threads": 2,
            "distributed_executor_backend": "mp",
            "max_model_len": 4000,
            "enable_prefix_caching": False,
        }

    def test_flag_that_changes_nothing_is_no_argument(self) -> None:
        settings = good("--enable-ssl-refresh")
        assert settings.engine_given() == {}
        assert settings.value("enable_ssl_refresh") is True
        assert settings.given("enable_ssl_refresh")

    @pytest.mark.parametrize("flag", [f for f in FLAGS if f.scope == "stage"], ids=lambda f: f.dest)
    def test_every_argument_of_vllm_reaches_the_stages(self, flag: Flag) -> None:
        value = {"switch": True, "object": {}, "json": [], "text": "x"}.get(flag.kind, 1)
        layer = _layer(flag.dest, value)
        settings, problems = read_settings([layer], FLAGS)
        assert problems == []
        assert settings.engine_given() == {flag.dest: value}


class TestProblems:
    def test_every_bad_value_is_reported_and_replaced_by_its_default(self) -> None:
        Path("omni.yaml").write_text("seed: many\n")
        settings, problems = read(
            "--api-server-count", "0", "--host", "::1", "--config", "omni.yaml",
            env={"OMNI_PORT": "99999"},
        )  # fmt: skip
        assert [str(problem) for problem in problems] == [
            "--api-server-count 0: must be a whole number from 1 to 64",
            "OMNI_PORT 99999: must be a whole number from 0 to 65535",
            "omni.yaml:1: seed many: must be a whole number from 0 to 4294967295",
        ]
        assert [problem.origin for problem in problems] == ["flag", "environment", "file"]
        assert (settings.http.port, settings.http.host) == (8000, "::1")
        assert settings.value("seed") == FLAGS.by_dest["seed"].default

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            ("--port abc", "--port abc: must be a whole number from 0 to 65535"),
            ("--port 1.5", "--port 1.5: must be a whole number from 0 to 65535"),
            ("--host=", "--host '': must not be empty"),
            ("--start-method frok", "--start-method frok: must be auto, fork or spawn"),
            ("--ready-timeout nan", "--ready-timeout nan: must be a number from 1 to 86400"),
            ("--ready-timeout soon", "--ready-timeout soon: must be a number from 1 to 86400"),
        ],
    )
    def test_value_of_a_wrong_type_is_told_in_our_words(self, words: str, line: str) -> None:
        assert lines(*words.split()) == [line]

    def test_value_that_only_the_types_refuse_is_a_problem_too(self) -> None:
        settings, problems = read_settings([_layer("start_method", "x")], FLAGS)
        assert [str(problem) for problem in problems] == [
            "--start-method x: must be auto, fork or spawn"
        ]
        assert settings.runtime.start_method == "auto"

    def test_served_names_are_bounded(self) -> None:
        names = [str(number) for number in range(33)]
        good("--served-model-name", *names[:32], "--threads", "1")
        (line,) = lines("--served-model-name", *names)
        assert line.startswith("--served-model-name 0, 1, 2, ")
        assert line.endswith("...: are more than 32 names")
        assert lines("--served-model-name", "x" * 257) == [
            f"--served-model-name {'x' * 60}...: must be names of at most 256 characters"
        ]

    @pytest.mark.parametrize("text", ['"*"', "{}", "[1]"])
    def test_list_of_texts_is_asked_for_in_plain_words(self, text: str) -> None:
        (line,) = lines("--allowed-origins", text)
        assert line.endswith(': must be a list of texts, such as ["https://a.example"]')

    def test_settings_are_frozen(self) -> None:
        with pytest.raises(ValueError, match="frozen"):
            good().http.port = 1


def _layer(dest: str, value: object) -> Layer:
    return Layer(origin="flag", given={dest: Given(value, FLAGS.by_dest[dest].name)})

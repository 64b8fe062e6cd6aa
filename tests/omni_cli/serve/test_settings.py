"""Settings: precedence, origins, bounds, and agreement with the help page."""

from __future__ import annotations

import pytest

from omni_cli.serve.defaults import BOUNDS, DEFAULTS, limits
from omni_cli.serve.problems import Problem, flag_name, variable_name
from omni_cli.serve.settings import (
    EngineSettings,
    HttpSettings,
    RuntimeSettings,
    ServeSettings,
    read_settings,
)

FIELDS = [*HttpSettings.model_fields, *RuntimeSettings.model_fields, *EngineSettings.model_fields]


def good(**given: object) -> ServeSettings:
    settings, problems = read_settings(given)
    assert problems == []
    return settings


def lines(**given: object) -> list[str]:
    return [str(problem) for problem in read_settings(given)[1]]


def test_defaults_agree_with_the_constants_that_help_shows() -> None:
    settings = good()
    values = dict(settings.http) | dict(settings.runtime) | dict(settings.engine)
    assert {name: value for name, value in values.items() if value is not None} == DEFAULTS
    assert settings.origins == {}


def test_field_names_are_distinct_and_spell_distinct_flags() -> None:
    assert len(FIELDS) == len({flag_name(field) for field in FIELDS})
    assert len(FIELDS) == len({variable_name(field) for field in FIELDS})


def test_flag_wins_over_environment_and_environment_over_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMNI_PORT", "8001")
    monkeypatch.setenv("OMNI_HOST", "::1")
    settings = good(port=8002)
    assert (settings.http.port, settings.http.host) == (8002, "::1")
    assert settings.origins == {"port": "flag", "host": "environment"}
    assert (settings.subject("port"), settings.subject("host")) == ("--port", "OMNI_HOST")
    assert (settings.origin("seed"), settings.subject("seed")) == ("default", "--seed")


def test_empty_variable_counts_as_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNI_PORT", "")
    assert good().http.port == 8000


def test_flag_not_given_is_not_a_value() -> None:
    assert good(port=None, served_model_name=[]).origins == {}


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("OMNI_SERVED_MODEL_NAME", "a, b,a", "served_model_name", ("a", "b")),
        ("OMNI_KV_CACHE_MEMORY_BYTES", "256M", "kv_cache_memory_bytes", 2**28),
        ("OMNI_MAX_MODEL_LEN", "4k", "max_model_len", 4000),
        ("OMNI_MAX_MODEL_LEN", "auto", "max_model_len", "auto"),
        ("OMNI_MAX_MODEL_LEN", "-1", "max_model_len", "auto"),
        ("OMNI_ENFORCE_EAGER", "false", "enforce_eager", False),
        ("OMNI_TENSOR_PARALLEL_SIZE", "2", "tensor_parallel_size", 2),
        ("OMNI_DTYPE", "float32", "dtype", "float32"),
    ],
)
def test_variable_is_read(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, field: str, value: object
) -> None:
    monkeypatch.setenv(variable, text)
    assert good().engine_given() == {field: value}


def test_timeouts_are_spelt_without_their_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNI_READY_TIMEOUT", "30")
    assert good().runtime.ready_timeout_s == 30.0
    assert lines(stop_timeout_s=-1) == ["--stop-timeout -1: must be 0 to 3600"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (field, edge + step)
        for field in BOUNDS
        for edge, step in zip(BOUNDS[field], (-1, 1), strict=True)
    ],
)
def test_number_outside_its_bounds_is_refused(field: str, value: float) -> None:
    extra = ", or auto" if field == "max_model_len" else ""
    assert lines(**{field: value}) == [
        f"{flag_name(field)} {value}: must be {limits(field)}{extra}"
    ]


@pytest.mark.parametrize("field", BOUNDS)
def test_number_at_its_bounds_is_accepted(field: str) -> None:
    for edge in BOUNDS[field]:
        good(**{field: edge})


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("host", "", "--host '': must not be empty"),
        ("host", "x" * 5000, f"--host {'x' * 5000}: is longer than 4096 characters"),
        ("start_method", "frok", "--start-method frok: must be auto, fork or spawn"),
        ("port", "http", "--port http: must be a whole number from 0 to 65535"),
        ("port", 1.5, "--port 1.5: must be a whole number from 0 to 65535"),
        ("ready_timeout_s", float("nan"), "--ready-timeout nan: must be 1 to 86400"),
        ("ready_timeout_s", "soon", "--ready-timeout soon: must be a number from 1 to 86400"),
        ("max_model_len", "long", "--max-model-len long: must be a whole number, "
         "optionally with a suffix such as 256M or 1G"),
        ("kv_cache_memory_bytes", "1.5G",
         "--kv-cache-memory-bytes 1.5G: decimals need a lower-case suffix (g, powers of 1000)"),
        ("served_model_name", ["a", " "],
         "--served-model-name a,  : must be 1 to 32 names, none of them empty"),
        ("quiet", "perhaps", "--quiet perhaps: must be true or false"),
    ],
)  # fmt: skip
def test_value_is_refused(field: str, value: object, line: str) -> None:
    assert lines(**{field: value}) == [line]


def test_every_bad_value_is_reported_and_replaced_by_its_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMNI_PORT", "99999")
    monkeypatch.setenv("OMNI_SEED", "x")
    settings, problems = read_settings({"api_server_count": 0, "host": "::1"})
    assert problems == [
        Problem(
            subject="OMNI_PORT", value="99999", origin="environment", reason="must be 0 to 65535"
        ),
        Problem(subject="--api-server-count", value=0, origin="flag", reason="must be 1 to 64"),
        Problem(
            subject="OMNI_SEED",
            value="x",
            origin="environment",
            reason="must be a whole number from 0 to 4294967295",
        ),
    ]
    assert (settings.http.port, settings.http.host, settings.engine.seed) == (8000, "::1", None)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        good().http.port = 1

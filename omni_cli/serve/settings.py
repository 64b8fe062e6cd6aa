"""The settings of `omni serve`: flag, then environment, then default, and each value knows which
it was.

This is the only module that reads configuration from the environment. It is imported when a server
is about to start and never for a help page: pydantic-settings costs 0.17 s.

Engine settings are None when nobody gave them; what is used then is decided by the plan, from the
pipeline, the catalogue and the platform.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from engine_bridge.quantities import parse_count
from omni_cli.serve.defaults import (
    BOUNDS,
    Dtype,
    Executor,
    LogLevel,
    StartMethod,
    limits,
)
from omni_cli.serve.problems import Origin, Problem, flag_name, variable_name

__all__ = [
    "EngineSettings",
    "HttpSettings",
    "RuntimeSettings",
    "ServeSettings",
    "read_settings",
]

MAX_TEXT_CHARS = 4096  # a path; a chat template in one line is the longest text that anyone gives
MAX_SERVED_NAMES = 32


def _bounded(field: str) -> Any:
    low, high = BOUNDS[field]
    return Field(ge=low, le=high, allow_inf_nan=None if isinstance(low, int) else False)


def _count(value: object) -> object:
    return parse_count(value) if isinstance(value, str) else value


def _length(value: object) -> object:
    # vLLM: the longest that fits into memory.
    return "auto" if value in ("auto", "-1", -1) else _count(value)


def _length_bounds(value: int | str) -> int | str:
    low, high = BOUNDS["max_model_len"]
    if isinstance(value, int) and not low <= value <= high:
        raise ValueError(f"must be {limits('max_model_len')}, or auto")
    if isinstance(value, str) and value != "auto":
        raise ValueError("must be a whole number or auto")
    return value


def _names(value: object) -> object:
    names = value.split(",") if isinstance(value, str) else value
    if isinstance(names, list | tuple):
        names = tuple(dict.fromkeys(str(name).strip() for name in names))
        if not all(names) or len(names) > MAX_SERVED_NAMES:
            raise ValueError(f"must be 1 to {MAX_SERVED_NAMES} names, none of them empty")
    return names


Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS)]
Names = Annotated[tuple[Text, ...], BeforeValidator(_names)]
Length = Annotated[int | str, BeforeValidator(_length), AfterValidator(_length_bounds)]


class _Environment(PydanticBaseSettingsSource):
    """``OMNI_<FLAG>`` for every flag; an empty variable counts as not given."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return os.environ.get(variable_name(field_name)) or None, field_name, False

    def __call__(self) -> dict[str, Any]:
        fields = self.settings_cls.model_fields.items()
        values = {name: self.get_field_value(field, name)[0] for name, field in fields}
        return {name: value for name, value in values.items() if value is not None}


class _Section(BaseSettings):
    model_config = SettingsConfigDict(frozen=True, extra="forbid", validate_default=False)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, _Environment(settings_cls)


class HttpSettings(_Section):
    """The listening socket."""

    host: Text = "127.0.0.1"
    port: Annotated[int, _bounded("port")] = 8000


class RuntimeSettings(_Section):
    """What runs, and how its processes are started, watched and stopped."""

    target: Text = "smollm2-135m-instruct"
    api_server_count: Annotated[int, _bounded("api_server_count")] = 1
    start_method: StartMethod = "auto"
    ready_timeout_s: Annotated[float, _bounded("ready_timeout_s")] = 600.0
    stop_timeout_s: Annotated[float, _bounded("stop_timeout_s")] = 5.0
    log_level: LogLevel | None = None
    quiet: bool = False
    verbose: bool = False


class EngineSettings(_Section):
    """vLLM's arguments by their own names, and the threads of a stage."""

    served_model_name: Names | None = None
    dtype: Dtype | None = None
    max_model_len: Length | None = None
    max_num_seqs: Annotated[int, _bounded("max_num_seqs")] | None = None
    max_num_batched_tokens: (
        Annotated[int, BeforeValidator(_count), _bounded("max_num_batched_tokens")] | None
    ) = None
    kv_cache_memory_bytes: (
        Annotated[int, BeforeValidator(_count), _bounded("kv_cache_memory_bytes")] | None
    ) = None
    tensor_parallel_size: Annotated[int, _bounded("tensor_parallel_size")] | None = None
    pipeline_parallel_size: Annotated[int, _bounded("pipeline_parallel_size")] | None = None
    data_parallel_size: Annotated[int, _bounded("data_parallel_size")] | None = None
    distributed_executor_backend: Executor | None = None
    threads: Annotated[int, _bounded("threads")] | None = None
    enforce_eager: bool | None = None
    load_format: Text | None = None
    seed: Annotated[int, _bounded("seed")] | None = None
    quantization: Text | None = None
    trust_remote_code: bool | None = None
    tokenizer: Text | None = None
    chat_template: Text | None = None
    tool_call_parser: Text | None = None
    enable_auto_tool_choice: bool | None = None
    reasoning_parser: Text | None = None
    gpu_memory_utilization: Annotated[float, _bounded("gpu_memory_utilization")] | None = None
    generation_config: Text | None = None
    enable_prefix_caching: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """All settings of one run; built once, by ``read_settings``.

    Attributes:
        origins: Where each value comes from, by field; fields of all three sections have distinct
            names.
    """

    http: HttpSettings
    runtime: RuntimeSettings
    engine: EngineSettings
    origins: Mapping[str, Origin]

    def origin(self, field: str) -> Origin:
        """Where the value of a field comes from."""
        return self.origins.get(field, "default")

    def subject(self, field: str) -> str:
        """The field as the user spelt it: its variable if that gave the value, else its flag."""
        return _subject(field, self.origin(field))

    def engine_given(self) -> dict[str, object]:
        """The engine settings that a flag or the environment gives, by field."""
        return {name: value for name, value in self.engine if value is not None}


def read_settings(given: Mapping[str, object]) -> tuple[ServeSettings, list[Problem]]:
    """Merge flags and environment into settings.

    Args:
        given: Flag values by field; None, and an empty list, stand for a flag that was not given.

    Returns:
        The settings and every value that cannot be used. Each of those is replaced by its default,
        so that the rest can still be checked; a run must not start while there are problems.
    """
    flags = {name: value for name, value in given.items() if value is not None and value != []}
    problems: list[Problem] = []
    http = _section(HttpSettings, flags, problems)
    runtime = _section(RuntimeSettings, flags, problems)
    engine = _section(EngineSettings, flags, problems)
    unknown = flags.keys() - {*HttpSettings.model_fields} - {*RuntimeSettings.model_fields}
    assert unknown <= EngineSettings.model_fields.keys(), f"flags without a field: {unknown}"
    origins = {
        name: origin
        for section in (http, runtime, engine)
        for name in type(section).model_fields
        if (origin := _origin(name, flags)) != "default"
    }
    return ServeSettings(http=http, runtime=runtime, engine=engine, origins=origins), problems


_SectionT = TypeVar("_SectionT", bound=_Section)


def _section(
    section: type[_SectionT], flags: Mapping[str, object], problems: list[Problem]
) -> _SectionT:
    values: dict[str, Any] = {name: flags[name] for name in section.model_fields if name in flags}
    try:
        return section(**values)
    except ValidationError as error:
        bad: dict[str, Problem] = {}
        for detail in error.errors(include_url=False):
            field = str(detail["loc"][0])
            origin = _origin(field, flags)
            bad.setdefault(
                field,
                Problem(
                    subject=_subject(field, origin),
                    value=_given(field, origin, flags),
                    origin=origin,
                    reason=_reason(field, detail),
                ),
            )
        problems.extend(bad.values())
        defaults = {name: section.model_fields[name].default for name in bad}
        return section(**values | defaults)


def _origin(field: str, flags: Mapping[str, object]) -> Origin:
    if field in flags:
        return "flag"
    return "environment" if os.environ.get(variable_name(field)) else "default"


def _given(field: str, origin: Origin, flags: Mapping[str, object]) -> object:
    value = flags[field] if origin == "flag" else os.environ[variable_name(field)]
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "''" if value == "" else value


def _subject(field: str, origin: Origin) -> str:
    return variable_name(field) if origin == "environment" else flag_name(field)


def _reason(field: str, detail: Mapping[str, Any]) -> str:
    kind = str(detail["type"])
    context = detail.get("ctx") or {}
    match kind:
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return f"must be {str(context['expected']).replace(chr(39), '')}"
        case "bool_parsing" | "bool_type":
            return "must be true or false"
        case "string_too_short":
            return "must not be empty"
        case "string_too_long":
            return f"is longer than {MAX_TEXT_CHARS} characters"
    if field in BOUNDS:
        number = "a number" if kind.startswith("float") else "a whole number"
        parsing = kind.endswith(("_parsing", "_type", "_from_float"))
        return f"must be {number} from {limits(field)}" if parsing else f"must be {limits(field)}"
    return str(detail["msg"])

"""The settings of `omni serve`: flag, then environment, then settings file, then default, and each
value knows which it was.

This module is imported when a server is about to start and never for a help page: pydantic-settings
costs 0.17 s. Bounds and choices are the catalogue's, and every value was read by them before it
comes here (``sources``); the types below say what the rest of the program relies on.

vLLM's arguments are None, or missing, when nobody gave them; what is used then is decided by the
plan, from the pipeline, the catalogue of models and the platform.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from omni_cli.flags.catalogue import Catalogue
from omni_cli.flags.parsed import Given
from omni_cli.serve.layer import Layer
from omni_cli.serve.problems import Origin, Problem
from server.settings import MAX_BODY_BYTES, MAX_HEAD_BYTES, MAX_HEADER_COUNT

__all__ = [
    "EngineSettings",
    "HttpSettings",
    "RuntimeSettings",
    "SecuritySettings",
    "ServeSettings",
    "read_settings",
]

# As in pipeline files: every served name becomes a label of metrics and a line of /v1/models.
MAX_SERVED_NAMES = 32
MAX_NAME_CHARS = 256
MAX_SHOWN_CHARS = 60  # of a value in a message

Name = Annotated[str, Field(max_length=MAX_NAME_CHARS)]
StartMethod = Literal["auto", "fork", "spawn"]
LogLevel = Literal["debug", "info", "warning", "error"]


class _LayerSource(PydanticBaseSettingsSource):
    """One layer as pydantic-settings takes it; several layers are several sources."""

    def __init__(self, settings_cls: type[BaseSettings], layer: Layer) -> None:
        super().__init__(settings_cls)
        self._given = layer.given

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        given = self._given.get(field_name)
        return None if given is None else given.value, field_name, False

    def __call__(self) -> dict[str, Any]:
        fields = self.settings_cls.model_fields.items()
        values = {name: self.get_field_value(field, name)[0] for name, field in fields}
        return {name: value for name, value in values.items() if value is not None}


class _Section(BaseSettings):
    """Built from ``layers``, the strongest first, and from nothing else."""

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
        assert isinstance(init_settings, InitSettingsSource)
        layers: Sequence[Layer] = init_settings.init_kwargs["layers"]
        return tuple(_LayerSource(settings_cls, layer) for layer in layers)


class HttpSettings(_Section):
    """The listening socket, and what is said on it."""

    host: str = "127.0.0.1"
    port: int = 8000
    root_path: str | None = None
    disable_fastapi_docs: bool = False
    h11_max_incomplete_event_size: int = MAX_HEAD_BYTES
    h11_max_header_count: int = MAX_HEADER_COUNT
    max_body_bytes: int = MAX_BODY_BYTES


class SecuritySettings(_Section):
    """Who may call; ``api_key`` holds SHA-256 hashes, hexadecimal."""

    api_key: tuple[str, ...] = ()
    api_key_file: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_ca_certs: str | None = None
    ssl_cert_reqs: int = 0
    ssl_ciphers: str | None = None
    allowed_origins: tuple[str, ...] = ()
    allowed_methods: tuple[str, ...] = ("*",)
    allowed_headers: tuple[str, ...] = ("*",)
    allow_credentials: bool = False


class RuntimeSettings(_Section):
    """What runs, and how its processes are started, watched and stopped."""

    target: str = "smollm2-135m-instruct"
    api_server_count: int = 1
    start_method: StartMethod = "auto"
    ready_timeout_s: float = 600.0
    stop_timeout_s: float = 5.0
    log_level: LogLevel | None = None
    quiet: bool = False
    verbose: bool = False


class EngineSettings(_Section):
    """What every stage is told."""

    served_model_name: Annotated[tuple[Name, ...], Field(max_length=MAX_SERVED_NAMES)] | None = None
    distributed_executor_backend: str | None = None
    threads: int | None = None
    # vLLM's arguments by destination. They stay wrapped: pydantic-settings merges mappings of
    # several sources, but an object that a flag gives takes the place of the file's.
    args: dict[str, Any] = {}


_SECTIONS = (HttpSettings, SecuritySettings, RuntimeSettings, EngineSettings)
_ARGS = "args"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """All settings of one run; built once, by ``read_settings``.

    Attributes:
        layers: What was given, the strongest first.
        flags: The catalogue.
    """

    http: HttpSettings
    security: SecuritySettings
    runtime: RuntimeSettings
    engine: EngineSettings
    layers: tuple[Layer, ...]
    flags: Catalogue

    def origin(self, dest: str) -> Origin:
        """Where the value of a setting comes from."""
        return next((layer.origin for layer in self.layers if dest in layer.given), "default")

    def given(self, dest: str) -> bool:
        """Whether anybody gave the setting: a flag, a variable or the settings file."""
        return self.origin(dest) != "default"

    def subject(self, dest: str) -> str:
        """The setting as the user spelt it (``-tp``, ``OMNI_PORT``, ``omni.yaml:3: port``); its
        flag if nobody gave it."""
        spellings = (each.given[dest].spelling for each in self.layers if dest in each.given)
        return next(spellings, self.flags.by_dest[dest].name)

    def value(self, dest: str) -> object:
        """The effective value of any flag, ours or vLLM's: as given, else our default, else the
        default of vLLM's parser, which is None where vLLM decides later.

        Defaults that depend on the platform, the model or a pipeline file are not in it: those are
        a stage's (``StageWish``, ``RuntimePlan``).
        """
        for section in (self.http, self.security, self.runtime, self.engine):
            if dest in type(section).model_fields:
                return getattr(section, dest)
        for layer in self.layers:
            if dest in layer.given:
                return layer.given[dest].value
        return self.flags.by_dest[dest].default

    def engine_given(self) -> dict[str, object]:
        """What is given for every stage, by destination: vLLM's arguments, and the stage's own
        fields."""
        args = {dest: given.value for dest, given in self.engine.args.items()}
        own = {name: value for name, value in self.engine if name != _ARGS and value is not None}
        return own | args


def read_settings(layers: Sequence[Layer], flags: Catalogue) -> tuple[ServeSettings, list[Problem]]:
    """Merge what was given.

    Args:
        layers: From ``read_sources``, the strongest first; their problems are in the result.
        flags: The catalogue.

    Returns:
        The settings and every value that cannot be used. Each of those is left out, so that the
        rest can still be checked; a run must not start while there are problems.
    """
    problems = [problem for layer in layers for problem in layer.problems]
    layers = tuple(_with_args(layer, flags) for layer in _unhidden(layers))
    http = _section(HttpSettings, layers, problems)
    security = _section(SecuritySettings, layers, problems)
    runtime = _section(RuntimeSettings, layers, problems)
    engine = _section(EngineSettings, layers, problems)
    settings = ServeSettings(
        http=http,
        security=security,
        runtime=runtime,
        engine=engine,
        layers=layers,
        flags=flags,
    )
    return settings, problems


def _unhidden(layers: Sequence[Layer]) -> Iterator[Layer]:
    """The layers without what a stronger one hides with "no value" (``--ssl-keyfile None``)."""
    hidden: set[str] = set()
    for layer in layers:
        kept = {dest: given for dest, given in layer.given.items() if dest not in hidden}
        hidden |= {dest for dest, given in kept.items() if given.value is None}
        yield replace(layer, given=kept)


def _with_args(layer: Layer, flags: Catalogue) -> Layer:
    """The layer with vLLM's arguments gathered under one name, as the engine's section has them."""
    typed = {name for section in _SECTIONS for name in section.model_fields}
    args = {
        dest: given
        for dest, given in layer.given.items()
        if dest not in typed and flags.by_dest[dest].scope == "stage"
    }
    return replace(layer, given={**layer.given, _ARGS: Given(args, "")}) if args else layer


_SectionT = TypeVar("_SectionT", bound=_Section)


def _section(
    section: type[_SectionT], layers: Sequence[Layer], problems: list[Problem]
) -> _SectionT:
    """Merge one section; a value that its types refuse becomes a problem.

    The catalogue has read every value already, so this finds what the catalogue leaves open.
    """
    try:
        return section(layers=layers)  # type: ignore[call-arg]
    except ValidationError as error:
        bad = {str(detail["loc"][0]): detail for detail in error.errors(include_url=False)}
    for dest, detail in bad.items():
        owner = next(layer for layer in layers if dest in layer.given)
        given = owner.given[dest]
        problems.append(
            Problem(
                subject=given.spelling,
                value=_shown(given.value),
                origin=owner.origin,
                reason=_reason(detail),
            )
        )
    rest = [
        replace(layer, given={d: g for d, g in layer.given.items() if d not in bad})
        for layer in layers
    ]
    return section(layers=rest)  # type: ignore[call-arg]


def _shown(value: object) -> object:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}..."


def _reason(detail: Mapping[str, Any]) -> str:
    context = detail.get("ctx") or {}
    match detail["type"]:
        case "literal_error":
            return f"must be {str(context['expected']).replace(chr(39), '')}"
        case "too_long":
            return f"are more than {context['max_length']} names"
        case "string_too_long":
            return f"must be names of at most {context['max_length']} characters"
        case "tuple_type" | "string_type":
            return 'must be a list of texts, such as ["https://a.example"]'
    return str(detail["msg"])

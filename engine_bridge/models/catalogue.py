"""The bundled models, as ``catalogue.json`` beside this file lists them.

A model's weights ship inside an ordinary package of the package index. The package is downloaded
and never installed: its members are taken out, compared with the hashes given here, and prepared
into a folder that vLLM loads.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import msgspec

from engine_bridge.errors import ModelError

__all__ = ["Catalogue", "Entry", "Member", "Package", "entry", "load", "names", "parse"]

# Raised whenever a prepared folder would come out differently from the same packages, so that
# caches are renewed.
PREPARE_REVISION = 2

# Suggestions for a misspelt name; more would not fit into one line.
MAX_SUGGESTIONS = 3

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")]
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
Size = Annotated[int, msgspec.Meta(ge=0)]


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file inside a package.

    Attributes:
        path: Its path inside the package.
        target: Where it goes, relative to the model's folder; what a preparation consumes is
            removed afterwards.
        bytes: Its size.
        sha256: Of its content.
    """

    path: str
    target: str
    bytes: Size
    sha256: Sha256

    def __post_init__(self) -> None:
        target = PurePosixPath(self.target)
        if not target.parts or target.is_absolute() or ".." in target.parts:
            raise ValueError(f"target {self.target!r} leaves the model's folder")


class Package(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of the package index; ``sha256`` and ``bytes`` are those of that file."""

    distribution: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    version: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9.!+]*$")]
    bytes: Size
    sha256: Sha256
    members: tuple[Member, ...]

    @property
    def pin(self) -> str:
        """``distribution==version``."""
        return f"{self.distribution}=={self.version}"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model of the catalogue.

    Attributes:
        name: As the user types it.
        task: What the model does.
        summary: One line for people.
        licence: SPDX identifier of the licence of the weights.
        prepare: ``copy`` takes the members as they are; ``gguf-llama`` turns the member
            ``model.gguf`` into bfloat16 safetensors, configuration and tokenizer.
        disk_bytes: Size of the prepared folder, rounded up.
        packages: Where the weights come from.
        vllm_args: Defaults for vLLM's engine arguments, by destination.
    """

    name: Name
    task: Literal["generate", "embed"]
    summary: str
    licence: str
    prepare: Literal["gguf-llama", "copy"]
    disk_bytes: Size
    packages: tuple[Package, ...]
    vllm_args: Mapping[str, object]

    @property
    def download_bytes(self) -> int:
        """Size of all package files."""
        return sum(package.bytes for package in self.packages)

    @property
    def member_bytes(self) -> int:
        """Size of all members, once they are taken out of their packages."""
        return sum(member.bytes for package in self.packages for member in package.members)

    @property
    def recipe(self) -> str:
        """Fingerprint of all that decides what the prepared folder holds."""
        facts = msgspec.json.encode((PREPARE_REVISION, self.name, self.prepare, self.packages))
        return hashlib.sha256(facts).hexdigest()


class Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All bundled models, in the order in which they are shown."""

    models: tuple[Entry, ...]

    def __post_init__(self) -> None:
        if len(set(self.names())) != len(self.models):
            raise ValueError("two models have the same name")

    def entry(self, name: str) -> Entry | None:
        """Return the model of that name, or None."""
        return next((model for model in self.models if model.name == name), None)

    def names(self) -> tuple[str, ...]:
        """Return the names of all models."""
        return tuple(model.name for model in self.models)

    def require(self, name: str) -> Entry:
        """Return the model of that name.

        Raises:
            ModelError: If there is none; names the nearest ones.
        """
        found = self.entry(name)
        if found is None:
            raise ModelError(name, "is not in the catalogue of bundled models", self.suggest(name))
        return found

    def suggest(self, name: str) -> str:
        """Return a way out for an unknown name: the nearest names, or all if none is near."""
        wanted = name.lower()
        begun = [known for known in self.names() if wanted and known.startswith(wanted)]
        near = (begun or difflib.get_close_matches(wanted, self.names()))[:MAX_SUGGESTIONS]
        if near:
            return f"did you mean {' or '.join(near)}?"
        return f"there are {', '.join(self.names())}"


def parse(text: bytes | str) -> Catalogue:
    """Read a catalogue from JSON.

    Raises:
        msgspec.ValidationError: If the text is not a valid catalogue; names the field.
    """
    return msgspec.json.decode(text, type=Catalogue)


@cache
def load() -> Catalogue:
    """Return the catalogue that comes with omni."""
    return parse(Path(__file__).with_name("catalogue.json").read_bytes())


def entry(name: str) -> Entry | None:
    """Return the bundled model of that name, or None."""
    return load().entry(name)


def names() -> tuple[str, ...]:
    """Return the names of all bundled models."""
    return load().names()

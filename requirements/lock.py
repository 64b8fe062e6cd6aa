"""Write cpu.lock and test.lock beside this file; ``make lock`` runs it in .venv.

cpu.lock  = pyproject.toml's dependencies + cpu.in, without what overrides.txt leaves out.
test.lock = the extras ``test`` and ``dev``, constrained by cpu.lock, without what stands there.

Pins that are still allowed stay as they are; ``make lock ARGS=--upgrade`` moves them. Both files
are for CPython 3.11 on Linux x86-64 and are installed with ``--no-deps``. Hashes are those of the
wheels that fit there. torch has none: its CPU wheel comes from wherever the user points to, and
repacked copies of it are common.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

HERE = Path(__file__).resolve().parent
UV = Path(sys.executable).parent / "uv"
PYTHON = (3, 11)
PLATFORM = "x86_64-manylinux_2_31"  # the oldest glibc for which every wheel is built
UNHASHED = {"torch"}
HEADER = "# For CPython 3.11 on Linux x86-64. Written by requirements/lock.py; run `make lock`.\n"


def compile_lock(requirements: list[str], out: Path, *more: str) -> None:
    """Resolve ``requirements`` into ``out``, a requirements file or (by its suffix) a pylock."""
    target = ["--python-version", ".".join(map(str, PYTHON)), "--python-platform", PLATFORM]
    # No host of an index in a committed file: another machine may use another one.
    quiet = ["--no-emit-index-url", "--no-emit-find-links", "--no-header", "--quiet"]
    subprocess.run(
        [str(UV), "pip", "compile", "-", *more, "--override", "overrides.txt", *target, *quiet]
        + ["--output-file", str(out)],
        input="\n".join(requirements),
        text=True,
        check=True,
        cwd=HERE,
    )


def fitting_tags() -> frozenset[Tag]:
    """Tags of wheels that load on the platform, whatever its glibc from 2.31 on."""
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(5, 40)]
    platforms += [
        "manylinux1_x86_64",
        "manylinux2010_x86_64",
        "manylinux2014_x86_64",
        "linux_x86_64",
    ]
    pure = compatible_tags(PYTHON, "cp311", ["any", *platforms])
    return frozenset([*cpython_tags(PYTHON, platforms=platforms), *pure])


def wheel_hashes(pylock: Path) -> dict[str, list[str]]:
    """SHA-256 of every fitting wheel by package; a package without one cannot be locked."""
    tags = fitting_tags()
    found: dict[str, list[str]] = {}
    for package in tomllib.loads(pylock.read_text())["packages"]:
        hashes = []
        for wheel in package.get("wheels", []):
            file = wheel.get("name") or wheel.get("url", wheel.get("path", "")).rsplit("/", 1)[-1]
            if parse_wheel_filename(file.replace("%2B", "+"))[3] & tags:
                hashes.append(wheel["hashes"]["sha256"])
        if not hashes:
            raise SystemExit(f"{package['name']}: no wheel fits {PLATFORM}; nothing was locked")
        found[canonicalize_name(package["name"])] = sorted(hashes)
    return found


def add_hashes(lock: Path, hashes: dict[str, list[str]]) -> None:
    lines = [HEADER]
    for line in lock.read_text().splitlines():
        if not line or line[0] == "#":
            continue
        name = canonicalize_name(line.split("==")[0])
        if line[0] != " " and name not in UNHASHED:
            line += "".join(f" \\\n    --hash=sha256:{digest}" for digest in hashes[name])
        lines.append(f"{line}\n")
    lock.write_text("".join(lines))


def pins(lock: Path) -> list[str]:
    lines = lock.read_text().splitlines()
    return [line.removesuffix(" \\") for line in lines if line and line[0] not in " #"]


def write_lock(name: str, requirements: list[str], *more: str) -> None:
    lock = HERE / name
    with tempfile.TemporaryDirectory() as scratch:
        draft = Path(scratch, name)
        if lock.exists():  # uv takes the pins of an existing output as its preferences
            draft.write_text(lock.read_text())
        compile_lock(requirements, draft, *more)
        pylock = Path(scratch, "pylock.toml")
        compile_lock(pins(draft), pylock, "--no-deps")
        add_hashes(draft, wheel_hashes(pylock))
        lock.write_text(draft.read_text())


def main() -> None:
    os.environ.setdefault("UV_FIND_LINKS", os.environ.get("PIP_FIND_LINKS", ""))
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    more_inputs = (HERE / "cpu.in").read_text().splitlines()
    write_lock("cpu.lock", [*project["dependencies"], *more_inputs], *sys.argv[1:])
    known = [line.split("==")[0] for line in pins(HERE / "cpu.lock")]
    beyond = ["-c", "cpu.lock", *(f"--no-emit-package={name}" for name in known)]
    extras = project["optional-dependencies"]
    write_lock("test.lock", [*extras["test"], *extras["dev"]], *beyond, *sys.argv[1:])


main()

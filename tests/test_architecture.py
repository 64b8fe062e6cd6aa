"""The rules of the house that a tool can check: linters, types, imports, faces and drawings."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_bridge import errors

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PACKAGES = ("omni_cli", "server", "engine_bridge", "protocol")
HEAVY = ("vllm", "torch", "transformers")
# Half a second and more, on every start of a client command.
SLOW_TO_IMPORT = (*HEAVY, "fastapi", "starlette", "httpx", "pydantic", "pydantic_settings", "numpy")
BANS = {"TID251", "TID253", "PLC0415"}
MAX_MODULE_LINES = 600
MYPY_TIMEOUT_S = 240  # a cold cache on a loaded machine with two cores


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {dotted(path): path for path in sources()}
TREES = {name: ast.parse(path.read_text()) for name, path in SOURCES.items()}


def is_upstream(name: str) -> bool:
    """Whether a module may import vLLM and torch at its top."""
    package, _, module = name.partition(".")
    return (package, module[:5]) == ("engine_bridge", "vllm_") or (
        package == "server" and module.startswith("upstream")
    )


def exported(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if node.targets[0].id == "__all__":
                return list(ast.literal_eval(node.value))
    return None


def top_level_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Assign():
                names.update(target.id for target in node.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Import() | ast.ImportFrom():
                names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
            case ast.If() | ast.Try():
                names |= top_level_names(ast.Module(body=node.body, type_ignores=[]))
    return names


def loaded_after(statement: str, watched: tuple[str, ...]) -> list[str]:
    """Which of the watched packages a fresh interpreter holds after a statement."""
    report = f"print(json.dumps([name for name in {watched!r} if name in sys.modules]))"
    code = f"import json, sys\n{statement}\n{report}"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    loaded: list[str] = json.loads(run.stdout.splitlines()[-1])
    return loaded


class TestTools:
    @pytest.mark.parametrize(
        "command",
        [
            ["ruff", "check"],
            ["ruff", "format", "--check"],
            ["lint-imports", "--no-cache"],
            ["mypy"],
        ],
        ids=" ".join,
    )
    def test_tool_is_content(self, command: list[str]) -> None:
        run = subprocess.run(
            [BIN / command[0], *command[1:]],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=MYPY_TIMEOUT_S,
        )
        assert run.returncode == 0, run.stdout + run.stderr

    @pytest.mark.parametrize(
        ("path", "code", "rule"),
        [
            ("engine_bridge/x.py", "import torch\n", "TID253"),
            ("server/x.py", "from vllm import LLM\n", "TID253"),
            ("omni_cli/x.py", "import click\n", "TID251"),
            ("engine_bridge/x.py", "import pickle\n", "TID251"),
            ("server/x.py", "def f() -> None:\n    import json\n", "PLC0415"),
            ("omni_cli/x.py", "print(1)\n", "T201"),
            ("server/x.py", "try:\n    pass\nexcept Exception:\n    pass\n", "BLE001"),
        ],
    )
    def test_ruff_refuses(self, path: str, code: str, rule: str) -> None:
        assert rule in ruff_rules(path, code)

    @pytest.mark.parametrize(
        ("path", "code"),
        [
            ("engine_bridge/vllm_x.py", "import torch\n\nX = torch\n"),
            ("server/upstream_x.py", "import vllm\n\nX = vllm\n"),
            ("server/x.py", "def f() -> object:\n    import torch\n\n    return torch\n"),
            ("engine_bridge/vllm_config.py", "import pickle\n\nX = pickle\n"),
        ],
    )
    def test_ruff_allows(self, path: str, code: str) -> None:
        assert BANS.isdisjoint(ruff_rules(path, code))


def ruff_rules(path: str, code: str) -> list[str]:
    source = f"from __future__ import annotations\n\n{code}"
    run = subprocess.run(
        [BIN / "ruff", "check", "--output-format=json", f"--stdin-filename={path}", "-"],
        input=source,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return [found["code"] for found in json.loads(run.stdout)]


class TestImports:
    def test_client_side_modules_import_nothing_slow(self) -> None:
        # The settings are validation, so they load pydantic; a command loads them when it runs.
        light = [
            name
            for name in SOURCES
            if name.startswith("omni_cli") and not name.startswith("omni_cli.serve.")
        ]
        assert "omni_cli.app" in light
        assert loaded_after(f"import {', '.join(light)}", SLOW_TO_IMPORT) == []

    def test_parent_side_modules_import_no_engine(self) -> None:
        # Of the server only what these import runs in the parent; the rest lives in frontends.
        light = [
            name for name in SOURCES if not name.startswith("server") and not is_upstream(name)
        ]
        assert loaded_after(f"import {', '.join(light)}", HEAVY) == []

    def test_importing_server_imports_nothing(self) -> None:
        assert loaded_after("import server", (*SLOW_TO_IMPORT, "server.app")) == []


class TestFaces:
    @pytest.mark.parametrize("name", SOURCES)
    def test_all_names_what_is_there(self, name: str) -> None:
        names = exported(TREES[name])
        if names is None:
            return
        assert len(names) == len(set(names))
        assert set(names) <= top_level_names(TREES[name])

    @pytest.mark.parametrize("name", [name for name in SOURCES if SOURCES[name].stem == "__init__"])
    def test_package_init_runs_nothing(self, name: str) -> None:
        body = TREES[name].body
        assert ast.get_docstring(TREES[name]), "says what the package is"
        imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
        rest = [node for node in body[1:] if node not in imports]
        assert all(isinstance(node, ast.Assign) for node in rest)
        reexported = {
            alias.asname or alias.name
            for node in imports
            if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")
            for alias in node.names
        }
        assert reexported == set(exported(TREES[name]) or ())

    def test_packages_use_only_what_another_exports(self) -> None:
        inside = [
            f"{name}:{node.lineno}: {node.module}.{alias.name}"
            for name, tree in TREES.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module in TREES
            if node.module.split(".")[0] != name.split(".")[0]
            for alias in node.names
            if f"{node.module}.{alias.name}" not in TREES
            if alias.name not in (exported(TREES[node.module]) or ())
        ]
        assert inside == []

    @pytest.mark.parametrize("name", SOURCES)
    def test_module_is_of_a_readable_size(self, name: str) -> None:
        assert len(SOURCES[name].read_text().splitlines()) <= MAX_MODULE_LINES


class TestErrors:
    def test_drawing_shows_the_classes(self) -> None:
        assert drawn_parents(errors.__doc__ or "") == {
            cls.__name__: cls.__bases__[0].__name__
            for cls in vars(errors).values()
            if inspect.isclass(cls) and issubclass(cls, errors.OmniError)
        }

    def test_every_error_is_exported(self) -> None:
        assert set(errors.__all__) == set(drawn_parents(errors.__doc__ or ""))

    def test_no_branch_grows_elsewhere(self) -> None:
        # A module may refine a branch for itself; the branches carry the exit codes.
        elsewhere = [
            f"{name}.{node.name}"
            for name, tree in TREES.items()
            if name != "engine_bridge.errors"
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
            for base in node.bases
            if isinstance(base, ast.Name | ast.Attribute)
            if (base.id if isinstance(base, ast.Name) else base.attr) == "OmniError"
        ]
        assert elsewhere == []


def drawn_parents(drawing: str) -> dict[str, str]:
    """Child to parent in a tree drawn with box characters; the root's parent is Exception."""
    parents: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in drawing.splitlines():
        column = len(line) - len(line.lstrip(" │├└─"))
        branch = any(mark in line for mark in "├└")
        if not line.strip() or (not branch and not path and not line.startswith("    ")):
            continue
        if not branch and path:
            break
        name = line[column:].split()[0]
        while path and path[-1][0] >= column:
            path.pop()
        parents[name] = path[-1][1] if path else "Exception"
        path.append((column, name))
    return parents

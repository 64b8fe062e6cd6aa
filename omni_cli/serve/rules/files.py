"""Rows about files and folders that flags name."""

from __future__ import annotations

from collections.abc import Mapping

from omni_cli.serve.facts import ADAPTERS, FILES, FOLDERS, PathState, adapter, adapter_paths
from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.models import TINY
from omni_cli.serve.rules.rule import Example, Found, Rule

__all__ = ["ROWS"]

_SERVE = "./tiny --load-format dummy"
# Fields of LoRAModulePath that may be left out (vllm/entrypoints/openai/models/protocol.py).
_ADAPTER_OPTIONS = ("base_model_name", "is_3d_lora_weight")
_FOLDER = {"tiny/config.json": TINY}


def _named(line: Line, dests: tuple[str, ...], *states: PathState) -> Found:
    """Paths that are in one of the states; what the facts do not know is not looked at."""
    paths = line.facts.paths
    return [
        {"blame": dest, "value": line.text(dest)}
        for dest in dests
        if line.given(dest) and paths.get(line.text(dest)) in states
    ]


def _adapters(line: Line) -> Found:
    """Entries of which vLLM cannot make an adapter."""
    value = line.value(ADAPTERS)
    written = [item for item in (value if isinstance(value, list | tuple) else ()) if item]
    both = {"name", "path"}
    return not all(
        isinstance(entry, Mapping) and both <= set(entry) <= {*both, *_ADAPTER_OPTIONS}
        for entry in map(adapter, written)
    )


_RUN_FILES = tuple(dest for dest, where in FILES.items() if where == "run")
_STAGE_FILES = tuple(dest for dest, where in FILES.items() if where == "stage")

ROWS = (
    Rule(
        id="chat-template",
        flags=("chat_template",),
        when=lambda line: _named(line, ("chat_template",), "missing", "folder", "unreadable"),
        reason="is neither a file that can be read nor a template",
        way_out="give the path of a Jinja file",
        source="vllm/renderers/chat_utils.py validate_chat_template",
        example=Example(words="--chat-template nowhere.jinja"),
        allowed=Example(words="--chat-template '{{ messages }}'"),
    ),
    Rule(
        id="file-missing",
        flags=_RUN_FILES,
        each="run",
        when=lambda line: _named(line, _RUN_FILES, "missing"),
        reason="does not exist",
        way_out="check the path",
        example=Example(words="--ssl-certfile nowhere.pem --ssl-keyfile nowhere.pem"),
        allowed=Example(words="--ssl-certfile c.pem --ssl-keyfile c.pem", files={"c.pem": ""}),
    ),
    Rule(
        id="file-unreadable",
        flags=_RUN_FILES,
        each="run",
        when=lambda line: _named(line, _RUN_FILES, "folder", "unreadable"),
        reason="is not a file that can be read",
        way_out="check the path and its rights",
        example=Example(words="--ssl-certfile . --ssl-keyfile ."),
        allowed=Example(words="--ssl-certfile c.pem --ssl-keyfile c.pem", files={"c.pem": ""}),
    ),
    Rule(
        id="stage-file-missing",
        flags=_STAGE_FILES,
        when=lambda line: _named(line, _STAGE_FILES, "missing", "folder", "unreadable"),
        reason="is not a file that can be read",
        way_out="check the path and its rights",
        example=Example(words="--tool-parser-plugin ./nowhere.py"),
        allowed=Example(words="--tool-parser-plugin ./p.py", files={"p.py": ""}),
    ),
    Rule(
        id="folder-missing",
        flags=tuple(FOLDERS),
        when=lambda line: _named(line, tuple(FOLDERS), "missing", "file", "unreadable"),
        reason="is not a folder that can be read",
        way_out="check the path and its rights",
        source="vllm/engine/arg_utils.py EngineArgs.__post_init__",
        example=Example(words=f"{_SERVE} --tokenizer ./nowhere", files=_FOLDER),
        allowed=Example(words=f"{_SERVE} --tokenizer ./tiny", files=_FOLDER),
    ),
    Rule(
        id="adapter-unreadable",
        flags=(ADAPTERS,),
        when=_adapters,
        reason="holds something that names no adapter",
        way_out="write NAME=PATH, or an object with name and path",
        source="vllm/entrypoints/launchers/cli_args.py LoRAParserAction",
        example=Example(words="""--enable-lora --lora-modules '{"name": "a"}'"""),
        allowed=Example(
            words="""--enable-lora --lora-modules '{"name": "a", "path": "./a"}'""",
            files={"a/adapter_config.json": "{}"},
        ),
    ),
    Rule(
        id="adapter-missing",
        flags=(ADAPTERS,),
        when=lambda line: [
            {"value": path, "name": name}
            for name, path in adapter_paths(line.value(ADAPTERS)).items()
            if line.facts.paths.get(path) in ("missing", "file", "unreadable")
        ],
        reason="is the path of the adapter {name}, but not a folder that can be read",
        way_out="check the path and its rights",
        example=Example(words="--enable-lora --lora-modules a=./nowhere"),
        allowed=Example(
            words="--enable-lora --lora-modules a=./a", files={"a/adapter_config.json": "{}"}
        ),
    ),
)

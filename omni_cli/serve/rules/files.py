"""Rows about files and folders that flags name."""

from __future__ import annotations

from omni_cli.serve.facts import ADAPTERS, FILES, FOLDERS, PathState, adapter_paths
from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.models import TINY
from omni_cli.serve.rules.rule import Example, Found, Rule

__all__ = ["ROWS"]

_SERVE = "./tiny --load-format dummy"
_FOLDER = {"tiny/config.json": TINY}


def _named(line: Line, dests: tuple[str, ...], *states: PathState) -> Found:
    """Paths that are in one of the states; what the facts do not know is not looked at."""
    paths = line.facts.paths
    return [
        {"blame": dest, "value": line.text(dest)}
        for dest in dests
        if line.given(dest) and paths.get(line.text(dest)) in states
    ]


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

"""Asks vLLM itself about command lines, in a process of its own: it reads, checks and configures
as `vllm serve` does, up to the start of the first process.

Standard input holds a JSON list of lines, each with words, files and environ; standard output gets
what vLLM says to each, an empty text where it takes the line.
"""

from __future__ import annotations

import importlib
import json
import os
import shlex
import sys
import tempfile
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

TARGET = "tiny"


class Accepted(Exception):
    """vLLM would now start processes."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        out = os.dup(1)
        os.dup2(2, 1)  # whatever vLLM prints
        said = [_ask(each) for each in json.load(sys.stdin)]
        os.write(out, json.dumps(said).encode())


def _ask(line: Mapping[str, Any]) -> str:
    for name, text in line["files"].items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    before = dict(os.environ)
    os.environ.update(line["environ"])
    try:
        _serve(shlex.split(line["words"]))
    except Accepted:
        return ""
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it says is the answer
        return f"{type(error).__name__}: {error}"
    finally:
        os.environ.clear()
        os.environ.update(before)
    raise AssertionError("vLLM neither started nor said why")


def _serve(words: list[str]) -> None:
    from vllm.entrypoints.cli import serve
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.model_executor.models import registry

    _Parser = importlib.import_module("engine_bridge.vllm_config")._Parser
    registry._run_in_subprocess = lambda function: function()
    # Defaults of a parser are objects that a configuration changes, so each line gets its own.
    parser = make_arg_parser(_Parser())
    at_target = words and not words[0].startswith("-")
    args = parser.parse_args(words if at_target else [TARGET, *words])
    args.subparser = "serve"
    command = serve.ServeSubcommand()
    command.validate(args)
    _stop_before_processes(serve, args)
    command.cmd(args)


def _stop_before_processes(serve: Any, args: Any) -> None:
    """Leave every check of `vllm serve` as it is, and let what follows them raise Accepted."""

    def accept(*_: object, **__: object) -> NoReturn:
        raise Accepted

    def check_parsers(*_: object, **__: object) -> tuple[None, None]:
        importlib.import_module("vllm.entrypoints.launchers.launcher").validate_api_server_args(
            args
        )
        return None, None

    def one_server(coroutine: Any) -> NoReturn:
        coroutine.close()
        check_parsers()
        engine_args = serve.vllm.AsyncEngineArgs.from_cli_args(args)
        engine_args._api_process_count = 1
        engine_args.create_engine_config(usage_context=serve.UsageContext.OPENAI_API_SERVER)
        raise Accepted

    def supervisor(args: Any) -> NoReturn:
        one_server(types.SimpleNamespace(close=lambda: None))

    serve.uvloop = types.SimpleNamespace(run=one_server)
    serve.run_dp_supervisor = supervisor
    serve.setup_server = check_parsers
    serve.setup_multiprocess_prometheus = lambda: None
    serve.Executor = types.SimpleNamespace(get_class=accept)
    serve.MultiprocExecutor = serve.CoreEngineProcManager = accept


if __name__ == "__main__":
    main()

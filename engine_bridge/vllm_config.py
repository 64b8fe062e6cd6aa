"""From a stage's plan to vLLM's own arguments and configuration, built once and handed to every
frontend.

The configuration is left in a file of the private run directory (mode 0700) and not sent over a
socket: it has to be pickled, and nothing on a socket is unpickled here.

Source: vllm/engine/arg_utils.py, vllm/entrypoints/launchers/cli_args.py.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from vllm.config import VllmConfig
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.launchers.cli_args import (
    make_arg_parser,
    propagate_flash_late_interaction,
    validate_parsed_serve_args,
)
from vllm.exceptions import VLLMClientError
from vllm.model_executor.models import registry
from vllm.usage.usage_lib import UsageContext
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.utils.import_utils import import_plugin

from engine_bridge import vllm_env

__all__ = ["ArgumentRejected", "build", "load", "load_plugins", "parse", "save"]


class ArgumentRejected(Exception):
    """A vLLM argument that vLLM does not know, or a value that it does not take; says which in one
    line.
    """


class _Parser(FlexibleArgumentParser):  # type: ignore[misc]
    """vLLM's parser, which raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise ArgumentRejected(message)


def parse(
    model_path: str, served_names: tuple[str, ...], vllm_args: Mapping[str, object]
) -> argparse.Namespace:
    """Read a stage's arguments with vLLM's own parser.

    Args:
        model_path: A folder or a Hugging Face id.
        served_names: Names of the model; the first is the canonical one.
        vllm_args: By destination (``max_model_len``) or flag spelling (``max-model-len``), JSON
            values.

    Raises:
        ArgumentRejected: If one is unknown or has a value that vLLM refuses.
    """
    parser = make_arg_parser(_Parser())
    actions = {action.dest: action for action in parser._actions if action.option_strings}
    words = [f"--model={model_path}", "--served-model-name", *served_names]
    for name, value in vllm_args.items():
        dest = name.lstrip("-").replace("-", "_")
        action = actions.get(dest)
        if action is None:
            near = difflib.get_close_matches(dest, actions, n=1)
            hint = f"; did you mean {near[0].replace('_', '-')}?" if near else ""
            raise ArgumentRejected(f"vLLM has no argument --{dest.replace('_', '-')}{hint}")
        words += _words(action, value)
    args: argparse.Namespace = parser.parse_args(words)
    try:
        validate_parsed_serve_args(args)
    except (TypeError, ValueError, VLLMClientError) as error:
        raise ArgumentRejected(str(error)) from error
    return args


def _words(action: argparse.Action, value: object) -> list[str]:
    flag = next(
        (text for text in action.option_strings if text.startswith("--")), action.option_strings[0]
    )
    if value is None:
        return [f"{flag}=None"] if _takes_none(action) else []
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise ArgumentRejected(f"{flag} takes true or false, not {value!r}")
        if isinstance(action, argparse.BooleanOptionalAction):
            return [flag if value else f"--no-{flag.removeprefix('--')}"]
        return [flag] if value else []
    if action.nargs == "?" and value is True:
        return [flag]
    if isinstance(value, dict) or (isinstance(value, list) and action.nargs is None):
        return [f"{flag}={json.dumps(value)}"]
    if isinstance(value, list):
        texts = [json.dumps(each) if isinstance(each, dict) else str(each) for each in value]
        # A single word may look like a flag; several never can.
        return [f"{flag}={texts[0]}"] if len(texts) == 1 else [flag, *texts]
    return [f"{flag}={value}"]


def _takes_none(action: argparse.Action) -> bool:
    """Whether "no value" can be said, and is not what holds anyway."""
    if action.default is None or not callable(action.type):
        return False
    try:
        return action.type("None") is None
    except (TypeError, ValueError, argparse.ArgumentTypeError):
        return False


def load_plugins(args: argparse.Namespace) -> None:
    """Import the files in which the user registers parsers; in each process that looks them up.

    Raises:
        ArgumentRejected: If one cannot be imported; vLLM has logged why.
    """
    for dest in ("tool_parser_plugin", "reasoning_parser_plugin"):
        path = getattr(args, dest)
        # vLLM takes a path that starts with a dot for a relative import.
        found = os.path.abspath(path) if os.path.isfile(path) else path
        if path and import_plugin(found) is None:
            raise ArgumentRejected(f"--{dest.replace('_', '-')} {path} cannot be imported")


def build(args: argparse.Namespace, clients: int) -> VllmConfig:
    """Build the engine's configuration.

    Args:
        args: From `parse`.
        clients: Ranks that will be connected to the engine.

    Raises:
        Exception: Whatever vLLM raises for a model that it cannot read or a combination that it
            refuses.
    """
    engine_args = AsyncEngineArgs.from_cli_args(args)
    propagate_flash_late_interaction(args, engine_args)
    engine_args._api_process_count = clients
    engine_args._api_process_rank = -1
    # vLLM inspects the model's class in a fresh interpreter, lest this process should touch CUDA: 8
    # s the first time. This process is an engine, and may.
    registry._run_in_subprocess = lambda function: function()
    with vllm_env.restored():
        return engine_args.create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)


def save(path: Path, config: VllmConfig, args: argparse.Namespace) -> None:
    """Leave the configuration for the frontends, whole or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_bytes(pickle.dumps((config, args), protocol=pickle.HIGHEST_PROTOCOL))
    os.replace(partial, path)


def load(path: Path) -> tuple[VllmConfig, argparse.Namespace]:
    """This process's own copy of what `save` left in the private run directory."""
    config, args = pickle.loads(path.read_bytes())
    return config, args

"""Where every child begins, whichever way it was launched.

Run as a module it is the spawned way; the zygote calls `run` in its forks.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import os
import signal
import socket
import sys
import traceback
from typing import NoReturn

from engine_bridge.logs import say_levels
from engine_bridge.process import die_with_parent, name_process

__all__ = ["run"]


def run(*, parent: int, name: str, target: str, channel_fd: int, output_fd: int) -> NoReturn:
    """Become the child `name` and call its target; never returns.

    Args:
        parent: Pid of the process that this one must not outlive.
        name: For the process title.
        target: ``module:function``, called with the control channel's socket.
        channel_fd: This side of the control channel.
        output_fd: Where standard output and error go.
    """
    code = 1
    try:
        die_with_parent(parent)
        if os.getpgrp() != os.getpid():
            # A process group of its own: an engine's workers are in it, and end with it.
            os.setpgid(0, 0)
        os.set_inheritable(channel_fd, False)
        os.dup2(output_fd, 1)
        os.dup2(output_fd, 2)
        os.close(output_fd)
        # Ctrl-C on a terminal reaches every process of the foreground group; only the parent acts
        # on it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        faulthandler.enable()
        say_levels()
        name_process(f"omni: {name}")
        module, _, function = target.partition(":")
        code = (
            getattr(importlib.import_module(module), function)(socket.socket(fileno=channel_fd))
            or 0
        )
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    except BaseException:  # noqa: BLE001 - the outer edge of a process: it can only say why
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Not sys.exit: the interpreter of a fork carries the zygote's exit handlers.
        os._exit(code)


def main() -> NoReturn:
    """The spawned way."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("target")
    parser.add_argument("channel", type=int)
    parser.add_argument("output", type=int)
    given = parser.parse_args()
    run(
        parent=given.parent,
        name=given.name,
        target=given.target,
        channel_fd=given.channel,
        output_fd=given.output,
    )


if __name__ == "__main__":
    main()

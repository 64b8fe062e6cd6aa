"""The entry of ``omni``: the one place that turns what was raised into one line on stderr and an
exit code.

Exit codes: 0 done, 1 failed while running, 2 usage, 3 failed to start, 130 interrupted, 141 when
the reader of a pipe left (what a shell shows for a program that SIGPIPE ended).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import takewhile

from omni_cli.help import page_width, render, root_page
from omni_cli.terminal import Terminal

__all__ = ["main", "run", "version_line"]

FAILED = 1
USAGE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141

DISTRIBUTION = "omni-serve"


def main() -> None:
    """Run the command line of this process and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(args: Sequence[str]) -> int:
    """Run one command line.

    Args:
        args: The words after ``omni``.

    Returns:
        The exit code. Everything there is to say has been said.
    """
    try:
        args = _asked_help(args)
        code = _answer_root(args)
        if code is None:
            code = _dispatch(args)
        _flush()
    except BrokenPipeError:
        _forget_stdout()
        return PIPE_CLOSED
    except OSError as error:  # a full disk, mostly
        _forget_stdout()
        where = f": {error.filename}" if error.filename else ""
        return _fail(f"{error.strerror or error}{where}", FAILED, error)
    return code


def version_line() -> str:
    """What ``omni --version`` prints."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - late: 20 ms

    try:
        return f"omni {version(DISTRIBUTION)}"
    except PackageNotFoundError:
        return "omni (not installed)"


def _asked_help(args: Sequence[str]) -> Sequence[str]:
    """``omni help COMMAND`` as ``omni COMMAND --help``; anything else as it is."""
    if list(args[:1]) != ["help"]:
        return args
    words = args[2:] if list(args[1:2]) == ["help"] else args[1:]
    return [*takewhile(lambda word: word != "--", words), "--help"]


def _answer_root(args: Sequence[str]) -> int | None:
    """Answer what needs no command, without importing Typer; None if it is something else."""
    terminal = Terminal()
    if list(args) in ([], ["-h"], ["--help"]):
        terminal.out.write(render(root_page(), width=page_width(), bold=terminal.out.colour))
        return 0
    if list(args) == ["--version"]:
        terminal.out.write(f"{version_line()}\n")
        return 0
    return None


def _dispatch(args: Sequence[str]) -> int:
    os.environ["TYPER_USE_RICH"] = "0"  # read once, when Typer is imported
    import typer  # noqa: PLC0415 - late, with all that follows: 50 ms

    from engine_bridge.errors import OmniError  # noqa: PLC0415
    from omni_cli.app import root_command  # noqa: PLC0415

    try:
        command = root_command()
        with command.make_context("omni", list(args)) as ctx:
            command.invoke(ctx)
    except typer.Exit as done:
        return done.exit_code
    except typer.TyperException as error:
        from omni_cli.usage_line import usage_line  # noqa: PLC0415

        return _fail(usage_line(error, args), error.exit_code, error)
    except OmniError as error:
        return _fail(str(error), error.exit_code, error)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - the process's outer edge
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        hint = "" if _debug() else " (a defect in omni; set OMNI_DEBUG=1 for the traceback)"
        return _fail(f"{reason}{hint}", FAILED, error)
    return 0


def _fail(line: str, code: int, error: BaseException) -> int:
    if _debug():
        import traceback  # noqa: PLC0415 - late

        traceback.print_exception(error)
    Terminal().error(line)
    return code


def _debug() -> bool:
    return os.environ.get("OMNI_DEBUG", "") not in ("", "0")


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _forget_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's own flush at exit cannot fail a second
    time."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


if __name__ == "__main__":
    main()

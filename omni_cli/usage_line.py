"""What Typer refuses, said in omni's form: the flag, its value, the reason and the way out.

Typer's own sentences are partly pydantic's, and name a variable that gave nothing. Only facts are
taken from its exceptions; where there are none, its sentence stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from omni_cli.flags.limits import any_of
from omni_cli.help import COMMANDS, choices_of

__all__ = ["did_you_mean", "usage_line"]

MAX_SUGGESTIONS = 3
# Of names without their dashes; below, a suggestion is rather a guess
MIN_LIKENESS = 0.6
_NOUNS = {"int": "a whole number", "float": "a number", "bool": "true or false"}


def usage_line(error: Any, args: Sequence[str]) -> str:
    """One line from Typer's exception; most end with the command whose help to read.

    Args:
        error: A TyperException.
        args: The words after ``omni``.
    """
    ctx = getattr(error, "ctx", None)
    given = _bad_value(error, ctx, args)
    if given:
        return given
    command = f"omni {args[0]}" if args and args[0] in COMMANDS else "omni"
    path = command if ctx is None else ctx.command_path
    return f"{_reason(error, ctx, args)} (see `{path} --help`)"


def did_you_mean(word: str, names: Iterable[str], likeness: float = MIN_LIKENESS) -> str:
    """The names that are likely to be meant by an unknown one, as the end of a sentence; or empty.

    Those that begin like it come alone, since it is a name cut short.
    """
    by_text = {name.lstrip("-"): name for name in names}
    wanted = word.lstrip("-")
    begun = [text for text in by_text if wanted and text.startswith(wanted)]
    near = begun or get_close_matches(wanted, by_text, MAX_SUGGESTIONS, likeness)
    found = tuple(by_text[text] for text in near[:MAX_SUGGESTIONS])
    return f"; did you mean {any_of(found)}?" if found else ""


def _bad_value(error: Any, ctx: Any, args: Sequence[str]) -> str:
    """The line for a value that its option or argument does not take; empty for anything else."""
    param = getattr(error, "param", None)
    problems = getattr(error.__cause__, "errors", None)  # pydantic's ValidationError
    value = problems()[0]["input"] if problems else getattr(error, "value", None)
    if param is None or value is None:
        return ""
    choices = tuple(choices_of(param))
    if choices:
        reason = f"must be {any_of(choices)}{did_you_mean(str(value).lower(), choices)}"
    else:
        reason = f"must be {_taken(param)}"
    return f"{_subject(param, ctx, args)} {value}: {reason}"


def _taken(param: Any) -> str:
    """What an option takes, as a phrase: ``a whole number of at least 1``."""
    kind = param.bare_type().removeprefix("list[").rstrip("]").lower()
    noun = _NOUNS.get(kind, "a " + kind)
    low, high = (getattr(param.type_descriptor.parameter_info, name) for name in ("min", "max"))
    if low is not None and high is not None:
        return f"{noun} from {low:g} to {high:g}"
    if low is not None:
        return f"{noun} of at least {low:g}"
    return noun if high is None else f"{noun} of at most {high:g}"


def _subject(param: Any, ctx: Any, args: Sequence[str]) -> str:
    """As the user spelt it: the variable if that gave the value, the flag as typed, or the
    argument."""
    source = None if ctx is None else ctx.get_parameter_source(param.name)
    if source is not None and source.name == "ENVIRONMENT":
        return str(param.envvar)
    if param.param_type_name == "argument":
        return str(param.metavar or param.name.upper())
    typed = [
        opt
        for word in reversed(args)
        for opt in param.opts
        if word.partition("=")[0] == opt or (len(opt) == 2 and word.startswith(opt))
    ]
    return str(typed[0] if typed else max(param.opts, key=len))


def _reason(error: Any, ctx: Any, args: Sequence[str]) -> str:
    message = " ".join(str(error.message).split()).rstrip(".")
    option = getattr(error, "option_name", None)
    if hasattr(error, "possibilities"):
        return f"no such option: {option}{did_you_mean(str(option), _options(ctx))}"
    if option is not None and "requires" in message:
        return f"{option}: needs a value"
    if option is not None and "does not take" in message:
        values = [word.partition("=")[2] for word in args if word.startswith(f"{option}=")]
        return f"{' '.join([option, *values[:1]])}: takes no value"
    param = getattr(error, "param", None)
    if param is not None and hasattr(error, "param_type"):
        choices = tuple(choices_of(param))
        hint = f"; give {any_of(choices)}" if choices else ""
        return f"{_subject(param, None, args)}: is missing{hint}"
    if message.startswith("Got unexpected extra argument"):
        words = message.partition(" (")[2].removesuffix(")")
        return f"{words}: {'are words' if ' ' in words else 'is one word'} too many"
    message = " ".join(str(error.format_message()).split()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}"


def _options(ctx: Any) -> list[str]:
    params = [] if ctx is None else ctx.command.get_params(ctx)
    shown = [param for param in params if not getattr(param, "hidden", False)]
    return [
        opt
        for param in shown
        for opt in (*param.opts, *param.secondary_opts)
        if opt.startswith("--")
    ]

"""The command line, the environment and a settings file, read before anything is merged.

Every value is read by the kind of its flag, so that an error is told in the same words whoever gave
the value. A refused flag is answered here as well: the reason is the flag's own and not that of a
combination. API keys leave this module as hashes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omni_cli.flags.catalogue import Catalogue
from omni_cli.flags.dispositions import remark
from omni_cli.flags.parsed import Given, Parsed
from omni_cli.serve.keys import KEY_FILE, KEYS, sealed
from omni_cli.serve.layer import TARGET, Layer
from omni_cli.serve.problems import Origin, Problem
from omni_cli.serve.refusals import refusal
from omni_cli.serve.sources_environment import read_environment

__all__ = ["CONFIG_VARIABLE", "read_sources"]

CONFIG_VARIABLE = "OMNI_CONFIG"
# vLLM's other name of TARGET.
MODEL = "model"
# Where vLLM looks for a key when its command line has none.
VLLM_KEY_VARIABLE = "VLLM_API_KEY"


def read_sources(parsed: Parsed, flags: Catalogue, environ: Mapping[str, str]) -> tuple[Layer, ...]:
    """Read everything that a run is told, the strongest layer first.

    Args:
        parsed: The command line.
        flags: The catalogue.
        environ: Where ``OMNI_*`` is looked up.
    """
    layers = [_command_line(parsed), read_environment(flags, environ)]
    if parsed.config is not None:
        layers.append(_file(parsed.config, "--config", "flag", flags))
    elif path := environ.get(CONFIG_VARIABLE):
        layers.append(_file(path, CONFIG_VARIABLE, "environment", flags))
    keyless = not any(dest in layer.given for layer in layers for dest in (KEYS, KEY_FILE))
    if keyless and environ.get(VLLM_KEY_VARIABLE):
        # Whoever comes from vLLM would believe the server locked.
        warning = f"{VLLM_KEY_VARIABLE} is not read, so no key is asked for; set OMNI_API_KEY"
        layers[1] = replace(layers[1], warnings=(*layers[1].warnings, warning))
    return tuple(sealed(_usable(layer, flags)) for layer in layers)


def _command_line(parsed: Parsed) -> Layer:
    given = dict(parsed.given)
    if parsed.target is not None:
        given[TARGET] = Given(parsed.target, "TARGET")
    return Layer(origin="flag", given=given, problems=parsed.problems, warnings=parsed.warnings)


def _file(path: str, named_by: str, origin: Origin, flags: Catalogue) -> Layer:
    from omni_cli.serve.sources_file import read_file  # noqa: PLC0415 - late: most runs have none

    return read_file(path, named_by, origin, flags)


def _usable(layer: Layer, flags: Catalogue) -> Layer:
    """The layer without what is refused, and with one name for TARGET."""
    kept: dict[str, Given] = {}
    problems: list[Problem] = []
    warnings: list[str] = []
    for dest, given in layer.given.items():
        flag = flags.by_dest[dest]
        problem = refusal(flag, given.spelling, given.value, layer.origin)
        if problem is not None:
            problems.append(problem)
        elif flag.scope == "run" and isinstance(given.value, list) and None in given.value:
            # An empty word, or vLLM's "None": mostly a variable of the shell that is not set.
            problems.append(
                Problem(
                    subject=given.spelling,
                    value=None if flag.secret else "''",
                    origin=layer.origin,
                    reason="must not be empty",
                )
            )
        elif flag.scope != "refused":
            kept[dest] = given
            if layer.origin != "flag":  # the parser has told its own
                warnings += filter(None, [remark(flag, given.spelling, given.value)])
    model = kept.pop(MODEL, None)
    target = kept.setdefault(TARGET, model) if model else None
    if model is not None and target is not None and target.value != model.value:
        problems.append(
            Problem(
                subject=model.spelling,
                value=model.value,
                origin=layer.origin,
                reason=f"contradicts {target.spelling}, which is {target.value}",
                way_out="give one of them",
            )
        )
    return replace(
        layer,
        given=kept,
        problems=(*layer.problems, *problems),
        warnings=(*layer.warnings, *warnings),
    )

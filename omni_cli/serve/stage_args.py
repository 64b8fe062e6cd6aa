"""The ``args`` of a pipeline file, read by the catalogue of flags.

What a stage would refuse when its engine starts, half a minute later and with exit code 3, is told
here with its place in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from engine_bridge.pipelines import Pipeline, StageSpec
from omni_cli.flags.catalogue import Catalogue
from omni_cli.flags.dispositions import remark
from omni_cli.flags.flag import Flag
from omni_cli.flags.values import BadValue, read_native
from omni_cli.serve.problems import Problem
from omni_cli.serve.refusals import refusal

__all__ = ["read_stage_args", "stage_remarks"]

# What is a key of the stage itself.
_KEYS: Mapping[str, str] = {
    "distributed_executor_backend": "executor",
    "model": "model",
    "model_tag": "model",
    "served_model_name": "served_model_name",
    "target": "model",
    "threads": "threads",
}


def read_stage_args(pipeline: Pipeline, flags: Catalogue) -> tuple[Pipeline, list[Problem]]:
    """Read every stage's arguments by the kind of their flag.

    Args:
        pipeline: Checked for form.
        flags: The catalogue.

    Returns:
        The pipeline without the arguments that cannot be used, and those.
    """
    problems: list[Problem] = []
    stages = tuple(_read(spec, flags, problems) for spec in pipeline.stages)
    return replace(pipeline, stages=stages), problems


def stage_remarks(pipeline: Pipeline, flags: Catalogue) -> list[str]:
    """Sentences about arguments that are taken but do not do what they seem to.

    Args:
        pipeline: Checked for form.
        flags: The catalogue.
    """
    return [
        said
        for spec in pipeline.stages
        for key, value in spec.args.items()
        if (flag := flags.find(key)) is not None
        if (said := remark(flag, spec.places[key], value))
    ]


def _read(spec: StageSpec, flags: Catalogue, problems: list[Problem]) -> StageSpec:
    args: dict[str, object] = {}
    places: dict[str, str] = {}
    for key, value in spec.args.items():
        place = spec.places[key]
        flag = flags.find(key)
        if key in _KEYS:
            way_out = f"write {_KEYS[key]}: beside it"
            problems.append(_problem(place, None, "is a key of the stage, not of args", way_out))
        elif flag is None:
            problems.append(_unknown(place, key, flags))
        elif f"--{key.replace('_', '-')}" in flag.off:
            problems.append(_negative(place, flag, value))
        elif flag.dest in places:
            way_out = "keep one of them"
            problems.append(_problem(place, None, f"says the same as {flag.name}", way_out))
        elif problem := refusal(flag, place, value, "pipeline"):
            problems.append(problem)
        elif flag.scope == "run":
            reason = "belongs to the whole server, not to a stage"
            problems.append(_problem(place, None, reason, f"use {flag.name}"))
        elif flag.scope == "stage" and (value is not None or flag.nullable):
            places[flag.dest] = place
            args.update(_value(place, flag, value, problems))
    return replace(spec, args=args, places=places)


def _value(
    place: str, flag: Flag, value: object, problems: list[Problem]
) -> Iterator[tuple[str, object]]:
    try:
        yield flag.dest, read_native(flag, value)
    except BadValue as error:
        shown = None if flag.secret else value
        problems.append(_problem(place, shown, error.reason, error.way_out))


def _unknown(place: str, key: str, flags: Catalogue) -> Problem:
    advice = flags.advice(f"--{key}", as_key=True)
    return _problem(place, None, "is not an argument of vLLM", advice)


def _negative(place: str, flag: Flag, value: object) -> Problem:
    shown = str(value is False).lower()
    way_out = f"write {flag.name.lstrip('-')}: {shown}"
    return _problem(place, None, "is a flag's negative form", way_out)


def _problem(place: str, value: object, reason: str, way_out: str = "") -> Problem:
    return Problem(subject=place, value=value, origin="pipeline", reason=reason, way_out=way_out)

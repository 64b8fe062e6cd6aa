"""The ``args`` of a pipeline file, read by the catalogue of flags.

What a stage would refuse when its engine starts, half a minute later and with exit code 3, is told
here with its place in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine_bridge.pipelines import Pipeline, StageSpec
from omni_cli.flags.catalogue import Catalogue
from omni_cli.flags.flag import Flag
from omni_cli.flags.values import BadValue, read_native
from omni_cli.serve.problems import Problem
from omni_cli.serve.refusals import refusal

__all__ = ["place", "read_stage_args"]


def read_stage_args(pipeline: Pipeline, flags: Catalogue) -> tuple[Pipeline, list[Problem]]:
    """Read every stage's arguments by the kind of their flag.

    Args:
        pipeline: Checked for form.
        flags: The catalogue.

    Returns:
        The pipeline without the arguments that cannot be used, and those.
    """
    problems: list[Problem] = []
    stages = tuple(
        replace(spec, args=dict(_read(spec, flags, problems))) for spec in pipeline.stages
    )
    return replace(pipeline, stages=stages), problems


def place(spec: StageSpec, dest: str) -> str:
    """Where an argument stands, for messages: file, line of the stage, key."""
    return f"{spec.where}: args.{dest}"


def _read(
    spec: StageSpec, flags: Catalogue, problems: list[Problem]
) -> Iterator[tuple[str, object]]:
    for dest, value in spec.args.items():
        flag = flags.by_dest.get(dest)
        if flag is None:
            problems.append(_unknown(spec, dest, flags))
        elif problem := refusal(flag, place(spec, dest), value, "pipeline"):
            problems.append(problem)
        elif flag.scope == "run":
            reason = f"belongs to the whole server, not to the stage {spec.name}"
            problems.append(_problem(spec, flag, None, reason, f"use {flag.name}"))
        elif flag.scope == "stage" and (value is not None or flag.nullable):
            try:
                yield dest, read_native(flag, value)
            except BadValue as error:
                problems.append(_problem(spec, flag, value, error.reason, error.way_out))


def _unknown(spec: StageSpec, dest: str, flags: Catalogue) -> Problem:
    advice = flags.advice(f"--{dest}")
    if advice.startswith("did you mean"):
        advice = advice.replace(" --", " ")  # keys have no dashes in front
    return Problem(
        subject=place(spec, dest),
        value=None,
        origin="pipeline",
        reason="is not an argument of vLLM",
        way_out=advice,
    )


def _problem(spec: StageSpec, flag: Flag, value: object, reason: str, way_out: str = "") -> Problem:
    return Problem(
        subject=place(spec, flag.dest),
        value=None if flag.secret else value,
        origin="pipeline",
        reason=reason,
        way_out=way_out,
    )

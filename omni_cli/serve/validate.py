"""Validation of a run: the combination table applied to settings, stages and facts."""

from __future__ import annotations

from collections.abc import Sequence

from omni_cli.serve.facts import Facts
from omni_cli.serve.problems import Problem
from omni_cli.serve.rules import RULES, Line, problems
from omni_cli.serve.rules.line import Settings
from omni_cli.serve.stages import StageWish

__all__ = ["validate"]


def validate(settings: Settings, stages: Sequence[StageWish], facts: Facts) -> list[Problem]:
    """Find everything that keeps these settings from running on this machine.

    Returns:
        All problems, those of the run before those of the stages; a problem that several stages
        share stands once.
    """
    run = Line(settings=settings, stages=stages, facts=facts)
    found = [problem for rule in RULES if rule.each == "run" for problem in problems(rule, run)]
    for stage in stages:
        line = Line(settings=settings, stages=stages, facts=facts, stage=stage)
        found += [
            problem for rule in RULES if rule.each == "stage" for problem in problems(rule, line)
        ]
    return list(dict.fromkeys(found))

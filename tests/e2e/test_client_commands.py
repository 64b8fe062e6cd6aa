"""`omni complete` and `omni bench serve` against a real server."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import httpx
import pytest

from tests.e2e.serving import CHAT_MODEL, OMNI

pytestmark = pytest.mark.engine


def omni(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [OMNI, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )


def test_a_completion_is_what_the_route_answers(omni_server: Any) -> None:
    prompt = "One, two, three,"
    body = {"model": CHAT_MODEL, "prompt": prompt, "temperature": 0.0, "max_tokens": 12}
    reply = httpx.post(f"{omni_server.url}/v1/completions", json=body, timeout=60)
    expected = reply.json()["choices"][0]["text"]
    flags = ("--url", omni_server.url, "--temperature", "0", "--max-tokens", "12")
    run = omni("complete", *flags, prompt)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.rstrip("\n") == expected.rstrip("\n")
    run = omni("complete", *flags, "--json", "--echo", "--logprobs", "1", prompt)
    found = json.loads(run.stdout)
    assert (run.returncode, found["text"]) == (0, prompt + expected), run.stderr
    assert found["usage"]["completion_tokens"] == 12
    (choice,) = found["choices"]
    assert "".join(choice["logprobs"]["tokens"]) == prompt + expected
    assert len(choice["logprobs"]["token_logprobs"]) == len(choice["logprobs"]["tokens"])


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_a_load_is_measured(omni_server: Any, endpoint: str) -> None:
    flags = f"--num-prompts 8 --concurrency 4 --input-len 16 --output-len 12 --endpoint {endpoint}"
    run = omni(
        "bench", "serve", "--url", omni_server.url, "--json", "--ignore-eos", "--goodput",
        "ttft:60000", *flags.split(),
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads(run.stdout)
    assert found["requests"] == {"planned": 8, "ok": 8, "failed": 0, "unfinished": 0}
    # Exactly as many as were asked for, by the server's own count
    assert found["tokens"]["output"] == 8 * 12
    assert found["tokens"]["prompt"] >= 8 * 16
    assert found["goodput"]["share"] == 1.0
    assert found["concurrency"]["peak"] == 4
    assert 0 < found["ttft_ms"]["p50"] < found["e2e_ms"]["p50"]
    # Every token after the first of each answer, but those that yield no text
    assert 8 * 6 < found["itl_token_ms"]["count"] <= 8 * 11


def test_embeddings_are_measured(omni_server: Any) -> None:
    flags = ("--endpoint", "embeddings", "--num-prompts", "8", "--input-len", "16")
    run = omni("bench", "serve", "--url", omni_server.url, "--json", *flags)
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads(run.stdout)
    assert found["target"]["model"] == "minilm-l6"
    assert (found["requests"]["ok"], found["ttft_ms"]) == (8, None)
    assert found["tokens"]["prompt"] >= 8 * 16

"""`omni bench`: flags, exit codes, and what is printed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from omni_cli.main import run
from tests.omni_cli.bench.conftest import DONE, Script, TimedServer, text, timed
from tests.omni_cli.conftest import COMMAND, DEADLINE_S, ROOT, omni_env

if TYPE_CHECKING:
    from tests.omni_cli.conftest import RunOmni

__all__ = ["timed"]  # a fixture


def bench(omni: RunOmni, timed: TimedServer, *flags: str) -> tuple[int, dict[str, Any]]:
    done = omni("bench", "serve", "--url", timed.url, "--json", *flags)
    assert done.out.count("\n") == 1, done.err
    return done.code, json.loads(done.out)


class TestServe:
    def test_a_load_is_told_as_one_object(self, timed: TimedServer, omni: RunOmni) -> None:
        timed.script = lambda index: Script.tokens(4, 0.05, 0.1)
        flags = (
            "--num-prompts",
            "6",
            "--concurrency",
            "3",
            "--warmup",
            "2",
            "--save",
            "save.jsonl",
        )
        limits = ("--goodput", "ttft:5000", "tpot:1000", "--percentiles", "50,99.9")
        code, found = bench(omni, timed, *flags, *limits)
        assert code == 0
        assert found["target"] == {"url": timed.url, "model": "tiny", "endpoint": "chat"}
        assert found["requests"] == {"planned": 6, "ok": 6, "failed": 0, "unfinished": 0}
        assert (found["ended"], found["failures"]) == ("complete", [])
        assert list(found["ttft_ms"]) == ["count", "mean", "p50", "p99.9", "max"]
        assert 50 <= found["ttft_ms"]["p50"] < 1000
        # Chunks that arrive together on a busy machine are one
        assert 9 <= found["itl_token_ms"]["count"] <= 18
        assert found["tokens"] == {"prompt": 18, "output": 24, "estimated_answers": 0}
        assert found["goodput"]["limits_ms"] == {"ttft": 5000.0, "tpot": 1000.0}
        assert found["goodput"]["share"] == 1.0
        # The warm-up was asked, and counts for nothing
        assert len(timed.asked) == 8
        lines = [json.loads(line) for line in Path("save.jsonl").read_text().splitlines()]
        assert [line["index"] for line in lines] == list(range(6))
        assert {line["outcome"] for line in lines} == {"ok"}
        assert {len(line["gaps_s"]) for line in lines} <= {1, 2, 3}
        assert all(len(line["gaps_s"]) == len(line["gap_tokens"]) for line in lines)

    def test_the_request_is_what_the_flags_say(self, timed: TimedServer, omni: RunOmni) -> None:
        flags = "--num-prompts 2 --warmup 0 --input-len 5 --output-len 7 --ignore-eos --chunk-usage"
        code, _ = bench(omni, timed, *flags.split(), "--temperature", "0", "--api-key", "k")
        assert (code, timed.asked[0].path) == (0, "/v1/chat/completions")
        body = timed.asked[0].body
        (message,) = body.pop("messages")
        assert (message["role"], len(message["content"].split())) == ("user", 5)
        assert body == {
            "model": "tiny",
            "max_tokens": 7,
            "stream": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
            "ignore_eos": True,
            "temperature": 0.0,
        }

    def test_a_dataset_is_asked_in_order(self, timed: TimedServer, omni: RunOmni) -> None:
        Path("set.jsonl").write_text('"a"\n{"prompt": "b", "max_tokens": 2}\n')
        flags = ("--dataset", "set.jsonl", "--warmup", "0", "--endpoint", "completions")
        assert bench(omni, timed, *flags, "-c", "1", "-n", "3")[0] == 0
        bodies = [(asked.body["prompt"], asked.body["max_tokens"]) for asked in timed.asked]
        assert bodies == [("a", 128), ("b", 2), ("a", 128)]

    def test_a_model_that_suits_is_found(self, timed: TimedServer, omni: RunOmni) -> None:
        timed.models = {"data": [{"id": "talker"}, {"id": "embedder"}]}
        refused = Script.json({"error": {"message": "does not support it"}}, 400)
        timed.script = lambda index: refused if index == 0 else Script.json({"data": []})
        flags = ("--endpoint", "embeddings", "--warmup", "0", "-n", "1")
        code, found = bench(omni, timed, *flags)
        assert (code, found["target"]["model"]) == (0, "embedder")
        assert [asked.body["model"] for asked in timed.asked] == ["talker", "embedder", "embedder"]

    def test_embeddings_are_no_output_tokens(self, timed: TimedServer, omni: RunOmni) -> None:
        usage = {"prompt_tokens": 3, "total_tokens": 3, "completion_tokens": 0}
        timed.script = lambda index: Script.json({"data": [], "usage": usage})
        flags = ("--endpoint", "embeddings", "--warmup", "0", "-n", "1")
        done = omni("bench", "serve", "--url", timed.url, *flags)
        assert done.code == 0
        assert "prompt tokens" in done.out
        assert "output tokens" not in done.out

    def test_failures_come_first(self, timed: TimedServer, omni: RunOmni) -> None:
        boom = Script.json({"error": {"message": "boom\n\x1b[2J"}}, 500)
        cut = Script((text("a"),), end="cut")
        timed.script = lambda index: {1: boom, 3: cut, 4: cut}.get(index, Script.tokens(2, 0, 0))
        flags = ("--num-prompts", "6", "--warmup", "0", "--concurrency", "1")
        done = omni("bench", "serve", "--url", timed.url, *flags)
        assert done.code == 1
        lines = done.out.splitlines()
        assert re.fullmatch(r"FAILED: 3 of 6 requests in \d+\.\d\d s", lines[0])
        assert lines[1] == "       2 cut_stream  the stream ended early, the answer is incomplete"
        assert lines[2] == "       1 http_500    boom \u241b[2J"
        assert "do not believe them" in lines[3]

    def test_text_names_every_number(self, timed: TimedServer, omni: RunOmni) -> None:
        timed.script = lambda index: Script.tokens(3, 0.1, 0.1)
        flags = ("--num-prompts", "4", "--request-rate", "50", "--goodput", "ttft:5000")
        done = omni("bench", "serve", "--url", timed.url, *flags)
        assert done.code == 0
        assert done.out.startswith("4 requests in ")
        assert ": none failed\n" in done.out
        for name in (
            "time to first token",
            "inter-token, by token",
            "inter-token, by chunk",
            "time per output token",
            "end to end",
            "sent later than planned",
            "output tokens",
            "goodput",
            "100.0% of the requests were within ttft:5000",
            "in flight:",
            "this client: loop lag",
        ):
            assert name in done.out

    @pytest.mark.parametrize(
        ("status", "hint"), [(400, ""), (404, ""), (500, "; --warmup 0 measures all the same")]
    )
    def test_a_warm_up_that_fails_spares_the_load(
        self, timed: TimedServer, omni: RunOmni, status: int, hint: str
    ) -> None:
        timed.script = lambda index: Script.json({"error": {"message": "no"}}, status)
        done = omni("bench", "serve", "--url", timed.url)
        assert (done.code, done.out, len(timed.asked)) == (1, "", 1)
        line = f"every warm-up request failed (http_{status}): no{hint}"
        assert done.err.endswith(f"error: {timed.url}: {line}\n")

    def test_max_seconds_ends_it(self, timed: TimedServer, omni: RunOmni) -> None:
        timed.script = lambda index: (
            Script((text("a"), 30.0, DONE)) if index else Script.tokens(1, 0, 0)
        )
        code, found = bench(omni, timed, "--max-seconds", "1", "-n", "3", "-c", "2")
        assert (code, found["ended"]) == (1, "max_seconds")
        assert found["requests"] == {"planned": 3, "ok": 0, "failed": 0, "unfinished": 2}

    def test_a_warm_up_that_takes_all_the_time_says_so(
        self, timed: TimedServer, omni: RunOmni
    ) -> None:
        timed.script = lambda index: Script((text("a"), 30.0, DONE))
        done = omni("bench", "serve", "--url", timed.url, "--max-seconds", "0.3")
        line = "the warm-up took all of --max-seconds 0.3; give more, or --warmup 0"
        assert (done.code, done.out) == (1, "")
        assert done.err.endswith(f"error: {timed.url}: {line}\n")

    def test_ctrl_c_tells_what_was_measured(self, timed: TimedServer) -> None:
        slow = threading.Event()

        def script(index: int) -> Script:
            if index < 3:
                return Script.tokens(2, 0.0, 0.0)
            slow.set()
            return Script((text("a"), 30.0, DONE))

        timed.script = script
        flags = ("--json", "--warmup", "0", "-n", "5", "-c", "1")
        process = subprocess.Popen(
            [*COMMAND, "bench", "serve", "--url", timed.url, *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=omni_env(),
        )
        assert slow.wait(DEADLINE_S)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE_S)
        found = json.loads(out)
        assert (process.returncode, found["ended"], err) == (130, "interrupted", b"")
        assert found["requests"] == {"planned": 5, "ok": 3, "failed": 0, "unfinished": 1}

    @pytest.mark.parametrize(
        ("flags", "line"),
        [
            ("--goodput speed:3", "--goodput speed:3: limits none of ttft, tpot, e2e"),
            ("tpot:50", "bench serve tpot:50: is an argument, and it takes none"),
            ("--percentiles 50,x", "--percentiles 50,x: is no list of numbers"),
            ("--percentiles 101", "--percentiles 101: must be numbers from 0 to 100"),
            ("--input-len 0", "--input-len 0: must be 1 or more"),
            ("--dataset none.jsonl", "--dataset none.jsonl: cannot be read"),
            ("--dataset x --input-len 3", "--input-len 3: is what the dataset decides"),
            ("--num-prompts 0", "--num-prompts 0: must be a whole number from 1 to"),
            ("--endpoint speech", "--endpoint speech: must be chat, completions or emb"),
            ("--save /nowhere/x", "--save /nowhere/x: cannot be written"),
        ],
    )
    def test_a_mistake_is_one_line(
        self, capsys: pytest.CaptureFixture[str], flags: str, line: str
    ) -> None:
        assert run(["bench", "serve", *flags.split()]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith(f"error: {line}")

    def test_nobody_there(self, timed: TimedServer, omni: RunOmni) -> None:
        timed.close()
        done = omni("bench", "serve", "--url", timed.url)
        assert (done.code, done.out) == (1, "")
        assert "no server there (connection refused)" in done.err


def keys(found: object, path: str = "") -> set[str]:
    """Every key of an object, with dots."""
    if not isinstance(found, dict):
        return set()
    named = {f"{path}{name}": value for name, value in found.items()}
    return set(named).union(*(keys(value, f"{name}.") for name, value in named.items()))


def test_the_document_names_every_key(timed: TimedServer, omni: RunOmni) -> None:
    _, found = bench(omni, timed, "-n", "2", "--request-rate", "50", "--goodput", "ttft:5000")
    document = (ROOT / "docs" / "bench.md").read_text()
    measured = {key for key in keys(found) if not re.search(r"_ms\.(count|mean|max|p\d+)$", key)}
    missing = {key for key in measured if f"`{key}`" not in document}
    assert missing - {"goodput.limits_ms.ttft"} == set()

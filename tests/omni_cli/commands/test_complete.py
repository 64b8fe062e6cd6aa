"""`omni complete`: which text becomes the prompt, what reaches stdout, and the exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.omni_cli.conftest import COMMAND, DEADLINE_S, DONE, Reply, omni_env, sse

if TYPE_CHECKING:
    from tests.omni_cli.conftest import RunOmni, ScriptedServer


def piece(text: str, index: int = 0, finish: str | None = None, **more: Any) -> bytes:
    """One SSE frame of a completion."""
    choice = {"index": index, "text": text, "finish_reason": finish, **more}
    return sse({"model": "tiny", "choices": [choice]})


def completion(*texts: str) -> Reply:
    usage = {"prompt_tokens": 3, "completion_tokens": len(texts)}
    pieces = [piece(text) for text in texts]
    return Reply([*pieces, piece("", finish="stop"), sse({"choices": [], "usage": usage}), DONE])


class TestPrompt:
    @pytest.mark.parametrize(
        ("words", "stdin", "prompt"),
        [
            (["Once", "upon"], None, "Once upon"),
            (["Once "], "not read", "Once "),
            ([], " from a pipe\n\n", " from a pipe\n"),
            (["-"], "from a pipe\r\n", "from a pipe"),
            (["--file", "prompt.txt"], "not read", "déjà vu\n"),
        ],
    )
    def test_it_comes_from_one_place(
        self,
        server: ScriptedServer,
        omni: RunOmni,
        words: list[str],
        stdin: str | None,
        prompt: str,
    ) -> None:
        Path("prompt.txt").write_text("déjà vu\n\n")
        server.enqueue(completion(" a", " time"))
        run = omni("complete", "--url", server.url, *words, stdin=stdin)
        assert (run.code, run.out, run.err) == (0, " a time\n", "")
        assert server.asked[0]["prompt"] == prompt

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            ([], "PROMPT: there is no text to complete"),
            ([""], "PROMPT: there is no text to complete"),
            (["--file", "none.txt"], "--file none.txt: cannot be read: No such file or directory"),
            (["--file", "empty.txt"], "--file empty.txt: there is no text to complete"),
            (["--file", "empty.txt", "x"], "--file empty.txt: there is a PROMPT as well"),
            (["--file", "bytes"], "--file bytes: is not UTF-8 text (byte 0)"),
            (["--logprobs", "2", "x"], "--logprobs: shows nothing as text; add --json"),
            (["--ca-file", "empty.txt", "x"], "--ca-file empty.txt: holds no certificate"),
            (["--ca-file", "none.txt", "x"], "--ca-file none.txt: cannot be read: No such file"),
            (["--ca-file", "x", "--insecure", "x"], "--insecure: contradicts --ca-file"),
        ],
    )
    def test_a_mistake_is_one_line(self, omni: RunOmni, words: list[str], line: str) -> None:
        Path("empty.txt").write_text("")
        Path("bytes").write_bytes(b"\xff\xfe")
        run = omni("complete", *words)
        assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
        assert run.err.startswith(f"error: {line}")


class TestRequest:
    def test_options_become_fields(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.enqueue(completion("x"))
        flags = "--model other --temperature 0 --top-p 0.5 --max-tokens 7 --seed 3 --echo -n 1"
        more = ("--stop", ".", "--stop", "\n", "--logprobs", "2", "--json", "--api-key", "k")
        run = omni("complete", "--url", server.url, *flags.split(), *more, "hello")
        assert (run.code, run.err) == (0, "")
        assert server.asked == [
            {
                "model": "other",
                "prompt": "hello",
                "temperature": 0.0,
                "top_p": 0.5,
                "max_tokens": 7,
                "seed": 3,
                "stop": [".", "\n"],
                "echo": True,
                "n": 1,
                "logprobs": 2,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        ]
        assert server.paths == ["/v1/completions"]
        assert server.heads[0]["authorization"] == "Bearer k"

    def test_without_options_nothing_is_chosen_for_the_server(
        self, server: ScriptedServer, omni: RunOmni
    ) -> None:
        server.enqueue(Reply.json({"choices": [{"text": "x"}]}))
        assert omni("complete", "--url", server.url, "--no-stream", "hello").out == "x\n"
        assert server.asked == [{"model": "tiny", "prompt": "hello", "stream": False}]


class TestOutput:
    def test_several_completions_stand_in_order(
        self, server: ScriptedServer, omni: RunOmni
    ) -> None:
        pieces = [piece("b1", 1), piece("a1"), piece("b2", 1, "stop"), piece("a2\n", 0, "stop")]
        server.enqueue(Reply([*pieces, DONE]))
        assert omni("complete", "--url", server.url, "-n", "2", "x").out == "a1a2\n---\nb1b2\n"

    def test_json_is_one_object(self, server: ScriptedServer, omni: RunOmni) -> None:
        first = {"tokens": ["a"], "token_logprobs": [-1.0], "top_logprobs": None}
        second = {"tokens": ["b"], "token_logprobs": [-2.0], "top_logprobs": None}
        pieces = [piece("a", logprobs=first), piece("b", finish="length", logprobs=second)]
        server.enqueue(Reply([*pieces, piece("c", 1, "stop"), DONE]))
        run = omni("complete", "--url", server.url, "--json", "--logprobs", "1", "x")
        found = json.loads(run.out)
        timings = found.pop("timings")
        assert (run.code, run.out.count("\n")) == (0, 1)
        both = {"tokens": ["a", "b"], "token_logprobs": [-1.0, -2.0], "top_logprobs": None}
        assert found == {
            "text": "ab",
            "choices": [
                {"text": "ab", "finish_reason": "length", "logprobs": both},
                {"text": "c", "finish_reason": "stop"},
            ],
            "model": "tiny",
            "finish_reason": "length",
            "usage": None,
        }
        assert 0 < timings["first_token_s"] <= timings["total_s"]

    def test_stats_go_to_stderr(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.enqueue(completion("a", "b"))
        run = omni("complete", "--url", server.url, "--stats", "x")
        assert (run.code, run.out, run.err.count("\n")) == (0, "ab\n", 1)
        assert run.err.startswith("stats: first token ")

    @pytest.mark.parametrize("limit", [True, False])
    def test_a_cut_is_told_to_whoever_set_no_limit(
        self, server: ScriptedServer, omni: RunOmni, limit: bool
    ) -> None:
        server.enqueue(Reply([piece("a", finish="length"), DONE]))
        flags = ["--max-tokens", "1"] if limit else []
        run = omni("complete", "--url", server.url, *flags, "x")
        told = "the answer was cut at its limit; --max-tokens N sets another limit\n"
        assert (run.code, run.out, run.err) == (0, "a\n", "" if limit else told)

    def test_text_leaves_as_it_streams_until_ctrl_c(self, server: ScriptedServer) -> None:
        server.enqueue(Reply([piece("first")], end="hang"))
        process = subprocess.Popen(
            [*COMMAND, "complete", "--url", server.url, "hello"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=omni_env(),
        )
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 100) == b"first"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, out, err) == (130, b"\n", b"")
        assert server.client_left.wait(DEADLINE_S)

    def test_a_reader_that_leaves_ends_it_quietly(self, server: ScriptedServer) -> None:
        server.enqueue(completion(*["line\n"] * 20000))
        command = f"{' '.join(COMMAND)} complete --url {server.url} hello | head -n 1"
        run = subprocess.run(
            ["bash", "-c", f'{command}; echo "${{PIPESTATUS[0]}}"'],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            env=omni_env(),
        )
        assert (run.stdout, run.stderr) == ("line\n141\n", "")


class TestFaults:
    @pytest.mark.parametrize("as_json", [False, True])
    def test_error_frame_keeps_the_text_before_it(
        self, server: ScriptedServer, omni: RunOmni, as_json: bool
    ) -> None:
        frame = sse({"error": {"message": "stage chat died", "code": 500}})
        server.enqueue(Reply([piece("partial"), frame, DONE]))
        run = omni("complete", "--url", server.url, *(["--json"] if as_json else []), "x")
        line = f"{server.url}/v1/completions: the server failed: stage chat died"
        assert (run.code, run.err) == (1, f"error: {line}\n")
        if as_json:
            found = json.loads(run.out)
            assert (found["text"], found["error"]) == ("partial", line)
        else:
            assert run.out == "partial\n"

    def test_stream_without_terminator_ended_early(
        self, server: ScriptedServer, omni: RunOmni
    ) -> None:
        server.enqueue(Reply([piece("par"), piece("tial")], end="cut"))
        run = omni("complete", "--url", server.url, "x")
        assert (run.code, run.out) == (1, "partial\n")
        assert run.err.endswith("the stream ended early, the answer is incomplete\n")

    def test_model_that_is_not_there(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.enqueue(Reply.json({"error": {"message": "no such model", "code": 404}}, 404))
        run = omni("complete", "--url", server.url, "--model", "huge", "x")
        line = f"error: {server.url}: model huge is not served there; served: tiny\n"
        assert (run.code, run.out, run.err) == (1, "", line)

    def test_waits_for_a_server_that_starts(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.before = [Reply.json({"error": {"message": "starting"}}, 503, retry_after="0")]
        server.enqueue(completion("x"))
        run = omni("complete", "--url", server.url, "x")
        assert (run.code, run.out) == (0, "x\n")
        assert run.err == f"{server.url} is not ready yet\n"

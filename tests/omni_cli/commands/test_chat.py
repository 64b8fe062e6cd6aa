"""`omni chat` asked once: what reaches stdout, what is said on stderr, and the exit code."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.omni_cli.conftest import COMMAND, DEADLINE_S, DONE, Reply, chunk, omni_env, sse

if TYPE_CHECKING:
    from tests.omni_cli.conftest import RunOmni, ScriptedServer


class TestQuestion:
    @pytest.mark.parametrize(
        ("words", "stdin", "question"),
        [
            (["hello", "there"], None, "hello there"),
            ([], "from a pipe\n", "from a pipe"),
            (["Summarise:"], "line 1\nline 2\n", "Summarise:\n\nline 1\nline 2"),
            (["-"], "from a pipe\n", "from a pipe"),
            (["naïve"], "\ufeffdéjà vu", "naïve\n\ndéjà vu"),
        ],
    )
    def test_words_and_pipe_become_one_message(
        self,
        server: ScriptedServer,
        omni: RunOmni,
        words: list[str],
        stdin: str | None,
        question: str,
    ) -> None:
        server.enqueue(Reply.answer("Hi"))
        run = omni("chat", "--url", server.url, *words, stdin=stdin)
        assert (run.code, run.out, run.err) == (0, "Hi\n", "")
        assert server.asked[0]["messages"] == [{"role": "user", "content": question}]

    @pytest.mark.parametrize("words", [[], ["-"], [""], [" "]])
    def test_no_question_is_a_usage_error(self, omni: RunOmni, words: list[str]) -> None:
        run = omni("chat", *words)
        assert run.code == 2
        assert run.out == ""
        assert run.err.startswith("error: MESSAGE: ")
        assert run.err.count("\n") == 1

    def test_closed_stdin_is_a_usage_error(self) -> None:
        command = f"{' '.join(COMMAND)} chat <&-"
        run = subprocess.run(
            command, shell=True, capture_output=True, text=True, timeout=60, env=omni_env()
        )
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr.startswith("error: MESSAGE: there is no question")

    def test_stdin_that_is_not_text_is_a_usage_error(self, omni: RunOmni) -> None:
        run = omni("chat", stdin=b"\xff\xfe\x00")
        assert (run.code, run.out) == (2, "")
        assert run.err == "error: stdin: is not UTF-8 text (byte 0)\n"

    def test_an_inherited_null_stdin_is_not_read(
        self, server: ScriptedServer, omni: RunOmni
    ) -> None:
        server.enqueue(Reply.answer("Hi"))
        assert omni("chat", "--url", server.url, "hello").out == "Hi\n"


class TestRequest:
    def test_options_become_fields(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.enqueue(Reply.answer("Hi"))
        flags = (
            "--model other --system Be-brief --temperature 0 --top-p 0.5 --max-tokens 7 --seed 3"
        )
        run = omni("chat", "--url", server.url, *flags.split(), "--api-key", "k", "hello")
        assert (run.code, run.err) == (0, "")
        assert server.asked == [
            {
                "model": "other",
                "messages": [
                    {"role": "system", "content": "Be-brief"},
                    {"role": "user", "content": "hello"},
                ],
                "temperature": 0.0,
                "top_p": 0.5,
                "max_tokens": 7,
                "seed": 3,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        ]
        assert server.paths == ["/v1/chat/completions"]
        assert server.heads[0]["authorization"] == "Bearer k"

    def test_environment_names_server_and_key(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.enqueue(Reply.answer("Hi"))
        env = {"OMNI_URL": f"{server.url}/v1/", "OMNI_API_KEY": "k", "OPENAI_API_KEY": "no"}
        assert omni("chat", "hello", **env).out == "Hi\n"
        assert {head["authorization"] for head in server.heads} == {"Bearer k"}

    def test_a_foreign_key_is_not_sent(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.enqueue(Reply.answer("Hi"))
        omni("chat", "--url", server.url, "hello", OPENAI_API_KEY="secret")
        assert all("authorization" not in head for head in server.heads)

    def test_a_proxy_is_not_asked_about_this_machine(
        self, server: ScriptedServer, omni: RunOmni
    ) -> None:
        server.enqueue(Reply.answer("Hi"))
        proxy = {"HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1"}
        assert omni("chat", "--url", server.url, "hello", NO_PROXY="", **proxy).out == "Hi\n"

    @pytest.mark.parametrize(
        ("cards", "chosen"),
        [
            ([{"id": "a"}, {"id": "b"}], "a"),
            ([{"id": "a", "task": "embed"}, {"id": "b", "task": "generate"}], "b"),
            ([{"id": "a"}, {"id": "b", "capabilities": ["chat"]}], "b"),
        ],
    )
    def test_default_model_can_chat(
        self, server: ScriptedServer, omni: RunOmni, cards: list[object], chosen: str
    ) -> None:
        server.models = Reply.json({"data": cards})
        server.enqueue(Reply.answer("Hi"))
        omni("chat", "--url", server.url, "hello")
        assert server.asked[0]["model"] == chosen


class TestOutput:
    @pytest.mark.parametrize("pieces", [["Hi\n\n"], ["Hi", "\n", "\n"], ["H", "i"], ["Hi\r\n"]])
    def test_answer_ends_in_one_newline(
        self, server: ScriptedServer, omni: RunOmni, pieces: list[str]
    ) -> None:
        server.enqueue(Reply.answer(*pieces))
        assert omni("chat", "--url", server.url, "hello").out == "Hi\n"

    def test_a_pipe_gets_the_text_as_it_is(self, server: ScriptedServer, omni: RunOmni) -> None:
        text = "# T\n\n**b** \x1b[2J\x9b \u202e ü 漢 🎉\ttab\r\n| a |\n"
        server.enqueue(Reply.answer(*text))
        assert omni("chat", "--url", server.url, "hello", FORCE_COLOR="1").out == text
        server.enqueue(Reply.json({"choices": [{"message": {"content": text}}]}))
        assert omni("chat", "--url", server.url, "--no-stream", "hello").out == text

    def test_text_leaves_as_it_streams(self, server: ScriptedServer) -> None:
        server.enqueue(Reply.answer("first", end="hang"))
        process = subprocess.Popen(
            [*COMMAND, "chat", "--url", server.url, "hello"],
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

    def test_json_is_one_object(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.enqueue(Reply.answer("Hé", "llo", tokens=2))
        run = omni("chat", "--url", server.url, "--json", "hello")
        found = json.loads(run.out)
        timings = found.pop("timings")
        assert (run.code, run.err, run.out.count("\n")) == (0, "", 1)
        assert found == {
            "answer": "Héllo",
            "model": "tiny",
            "finish_reason": "stop",
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        }
        assert 0 < timings["first_token_s"] <= timings["total_s"]
        assert timings["tokens_per_s"] > 0

    def test_stats_go_to_stderr(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.enqueue(Reply.answer("a", "b", tokens=5))
        run = omni("chat", "--url", server.url, "--stats", "hello")
        assert (run.code, run.out) == (0, "ab\n")
        words = run.err.split()
        assert words[:3] == ["stats:", "first", "token"]
        assert words[5:7] == ["5", "tokens"]
        assert words[-1] == "tokens/s"

    def test_a_reader_that_leaves_ends_it_quietly(self, server: ScriptedServer) -> None:
        server.enqueue(Reply.answer(*["line\n"] * 20000))
        command = f"{' '.join(COMMAND)} chat --url {server.url} hello | head -n 1"
        run = subprocess.run(
            ["bash", "-c", f'{command}; echo "${{PIPESTATUS[0]}}"'],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            env=omni_env(),
        )
        assert (run.stdout, run.stderr) == ("line\n141\n", "")

    def test_a_full_disk_is_one_line(self, server: ScriptedServer) -> None:
        server.enqueue(Reply.answer("Hi"))
        with open("/dev/full", "wb") as full:
            run = subprocess.run(
                [*COMMAND, "chat", "--url", server.url, "hello"],
                stdin=subprocess.DEVNULL,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=60,
                env=omni_env(),
            )
        assert run.returncode == 1
        assert run.stderr == "error: cannot write the output: No space left on device\n"


class TestStream:
    @pytest.mark.parametrize(
        "pieces",
        [
            [b": keep-alive\n\n", chunk("é"), b":\n\n", chunk("!"), DONE],
            [chunk("é").replace(b"\n", b"\r\n"), chunk("!").replace(b"\n", b"\r"), DONE],
            [
                bytes([byte])
                for byte in b"data: "
                + b'{"choices":[{"delta":{"content":"\xc3\xa9!"}}]}\n\n'
                + DONE
            ],
            [b"event: x\nid: 1\nretry: 5\n" + chunk("é!"), DONE],
        ],
        ids=["comments", "line-ends", "byte-by-byte", "other-fields"],
    )
    def test_stream_is_read_whatever_its_form(
        self, server: ScriptedServer, omni: RunOmni, pieces: list[bytes]
    ) -> None:
        server.enqueue(Reply(pieces))
        run = omni("chat", "--url", server.url, "hello")
        assert (run.code, run.out, run.err) == (0, "é!\n", "")

    @pytest.mark.parametrize("end", ["whole", "cut"])
    def test_stream_without_terminator_ended_early(
        self, server: ScriptedServer, omni: RunOmni, end: str
    ) -> None:
        server.enqueue(Reply([chunk("par"), chunk("tial")], end=end))
        run = omni("chat", "--url", server.url, "hello")
        assert (run.code, run.out) == (1, "partial\n")
        url = f"{server.url}/v1/chat/completions"
        assert run.err == f"error: {url}: the stream ended early, the answer is incomplete\n"

    @pytest.mark.parametrize("as_json", [False, True])
    def test_error_frame_keeps_the_text_before_it(
        self, server: ScriptedServer, omni: RunOmni, as_json: bool
    ) -> None:
        frame = sse({"error": {"message": "stage chat died", "code": 500}})
        server.enqueue(Reply([chunk("partial"), frame, DONE]))
        run = omni("chat", "--url", server.url, *(["--json"] if as_json else []), "hello")
        line = f"{server.url}/v1/chat/completions: the server failed: stage chat died"
        assert (run.code, run.err) == (1, f"error: {line}\n")
        if as_json:
            found = json.loads(run.out)
            assert (found["answer"], found["error"]) == ("partial", line)
        else:
            assert run.out == "partial\n"

    def test_silence_is_bounded(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.enqueue(Reply.answer("partial", end="hang"))
        run = omni("chat", "--url", server.url, "--timeout", "0.5", "hello")
        assert (run.code, run.out) == (1, "partial\n")
        assert "sent nothing for 0.5 s; give it longer with --timeout" in run.err

    def test_garbage_is_one_line(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.enqueue(Reply([b"data: {nope\n\n"]))
        run = omni("chat", "--url", server.url, "hello")
        assert (run.code, run.out, run.err.count("\n")) == (1, "", 1)
        assert "sent a chunk that is not JSON: {nope" in run.err


class TestFaults:
    def check(self, run: object, code: int, line: str) -> None:
        assert (run.code, run.out, run.err) == (code, "", f"error: {line}\n")  # type: ignore[attr-defined]

    def test_dead_server(self, omni: RunOmni) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
        hint = "start one with `omni serve`, or point --url at yours"
        line = f"{url}/v1/models: no server there (connection refused); {hint}"
        self.check(omni("chat", "--url", url, "hello"), 1, line)

    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("ftp://host", "cannot speak ftp"),
            ("http://", "names no server"),
            ("http://host:99999", "is no address: Port out of range 0-65535"),
            ("http://a b", "names no server"),
            ("http://host/?q=1", "must not carry a query or a fragment"),
        ],
    )
    def test_address_that_is_none(self, omni: RunOmni, url: str, reason: str) -> None:
        line = f"--url {url}: {reason}; give it like http://127.0.0.1:8000"
        self.check(omni("chat", "--url", url, "hello"), 2, line)

    def test_name_that_does_not_resolve(self, omni: RunOmni) -> None:
        url = "http://no-such-host.invalid:8000"
        line = f"{url}/v1/models: its host name cannot be resolved; is --url right?"
        self.check(omni("chat", "--url", url, "hello"), 1, line)

    def test_tls_towards_plain_http(self, server: ScriptedServer, omni: RunOmni) -> None:
        url = server.url.replace("http://", "https://")
        run = omni("chat", "--url", url, "hello")
        assert (run.code, run.out, run.err.count("\n")) == (1, "", 1)
        assert "no TLS connection" in run.err
        assert "does the server speak plain http://?" in run.err

    @pytest.mark.parametrize(
        ("reply", "reason"),
        [
            (
                Reply.json({"detail": "Not Found"}, 404),
                "no OpenAI-style API there (404); is --url right?",
            ),
            (
                Reply([b"<html>"], 404, "text/html"),
                "no OpenAI-style API there (404); is --url right?",
            ),
            (
                Reply([b"<html>"], 200, "text/html"),
                "answered with text/html, not JSON; is --url right?",
            ),
            (
                Reply([b"[]"], 200, "application/json"),
                "answered with JSON that is no object; is --url right?",
            ),
            (Reply.json({}), "answered with JSON that is no list of models; is --url right?"),
            (
                Reply([], 302, headers={"location": "http://x/"}),
                "redirects to http://x/; give that address with --url",
            ),
            (
                Reply.json({"error": {"message": "No."}}, 401),
                "the server asks for an API key; give it with --api-key or OMNI_API_KEY",
            ),
            (Reply.json({"error": {"message": "Boom."}}, 500), "Boom (500)"),
            (Reply([b"oops"], 502, "text/plain"), "answered 502 with text/plain"),
        ],
    )
    def test_answer_that_is_none(
        self, server: ScriptedServer, omni: RunOmni, reply: Reply, reason: str
    ) -> None:
        server.models = reply
        run = omni("chat", "--url", server.url, "hello")
        self.check(run, 1, f"{server.url}/v1/models: {reason}")

    def test_refused_key(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.models = Reply.json({"error": {"message": "no"}}, 401)
        run = omni("chat", "--url", server.url, "--api-key", "bad", "hello")
        assert run.code == 1
        assert "the server refused the API key" in run.err

    def test_key_that_no_header_carries(self, omni: RunOmni) -> None:
        line = "--api-key: has characters that an HTTP header cannot carry"
        self.check(omni("chat", "--api-key", "k\n", "hello"), 2, line)

    def test_model_that_is_not_there(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.enqueue(Reply.json({"error": {"message": "no such model", "code": 404}}, 404))
        run = omni("chat", "--url", server.url, "--model", "huge", "hello")
        self.check(run, 1, f"{server.url}: model huge is not served there; served: tiny")

    def test_no_model_at_all(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.models = Reply.json({"data": []})
        self.check(omni("chat", "--url", server.url, "hello"), 1, f"{server.url}: serves no model")

    def test_refused_request_shows_the_servers_reason(
        self, server: ScriptedServer, omni: RunOmni
    ) -> None:
        server.enqueue(Reply.json({"error": {"message": "too long:\n9 \x1b[2J tokens."}}, 400))
        run = omni("chat", "--url", server.url, "hello")
        url = f"{server.url}/v1/chat/completions"
        self.check(run, 1, f"{url}: too long: 9 \u241b[2J tokens (400)")

    @pytest.mark.parametrize(
        ("flag", "value"),
        [("--temperature", "-1"), ("--top-p", "2"), ("--max-tokens", "0"), ("--seed", "x")],
    )
    def test_bad_value_names_the_flag(self, omni: RunOmni, flag: str, value: str) -> None:
        run = omni("chat", flag, value, "hello")
        assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
        assert run.err.startswith(f"error: {flag} {value}: must be a ")


class TestStarting:
    busy = Reply.json({"error": {"message": "starting"}}, 503, retry_after="0")

    def test_waits_and_says_for_what(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.before = [self.busy, self.busy]
        phase = {"name": "load weights", "state": "running", "elapsed_s": 3.2}
        server.startup = {"phases": [{"name": "imports", "state": "done", "elapsed_s": 1}, phase]}
        server.enqueue(Reply.answer("Hi"))
        run = omni("chat", "--url", server.url, "hello")
        assert (run.code, run.out) == (0, "Hi\n")
        assert run.err == f"{server.url} is not ready yet: load weights, 3 s\n"

    def test_the_wait_is_bounded(self, server: ScriptedServer, omni: RunOmni) -> None:
        server.before = [self.busy] * 100
        started = time.monotonic()
        run = omni("chat", "--url", server.url, "--timeout", "0.5", "hello")
        assert time.monotonic() - started < DEADLINE_S
        assert (run.code, run.out) == (1, "")
        hint = "wait and try again, or give it longer with --timeout"
        assert run.err.endswith(f"error: {server.url}: still not ready after 0.5 s; {hint}\n")

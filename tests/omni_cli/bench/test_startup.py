"""Starts of servers: measured, compared, and cleaned up after."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from engine_bridge.errors import StartError, UsageError
from omni_cli.bench.launch import Start, answers, free_port, measure_start
from omni_cli.bench.startup import Side, bench_startup, omni_side, other_side
from tests.omni_cli.conftest import DEADLINE_S, omni_env

if TYPE_CHECKING:
    from tests.omni_cli.conftest import RunOmni

# Ready after a while; its child does not end by itself, and says where it is
SERVER = """
import http.server, os, subprocess, sys, time
port, wait_s, note = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(note, "a").write(f"{child.pid}\\n")
time.sleep(wait_s)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
    def log_message(self, *args):
        pass
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
URL = "http://127.0.0.1:{port}/health"


def side(name: str, wait_s: float = 0.0) -> Side:
    command = (sys.executable, "-c", SERVER, "{port}", str(wait_s), f"{name}.pids")
    return Side(name, command, URL)


def left_over(name: str) -> list[int]:
    """Children that a server noted and that still run."""
    pids = [int(line) for line in Path(f"{name}.pids").read_text().split()]
    return [pid for pid in pids if psutil.pid_exists(pid) and alive(pid)]


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class TestOneStart:
    def test_time_and_memory_are_measured_and_nothing_is_left(self) -> None:
        start = side("a", wait_s=0.3).measure(DEADLINE_S)
        assert 0.3 < start.ready_s < DEADLINE_S
        # Two interpreters
        assert 4e6 < start.pss_bytes < 200e6
        assert left_over("a") == []

    @pytest.mark.parametrize(
        ("code", "timeout_s", "reason"),
        [
            ("import sys; sys.exit('no\\nport taken')", 20.0, "it ended with 1: port taken"),
            ("raise SystemExit(3)", 20.0, "it ended with 3: it said nothing"),
            ("import time; print('slow', flush=True); time.sleep(99)", 1.5, "its last line: slow"),
        ],
    )
    def test_one_that_does_not_start_says_why(
        self, code: str, timeout_s: float, reason: str
    ) -> None:
        url = f"http://127.0.0.1:{free_port()}/"
        command = [sys.executable, "-c", code]
        with pytest.raises(StartError, match=reason):
            measure_start("it", command, lambda: answers(url), timeout_s=timeout_s)

    @pytest.mark.parametrize("said", ["error: --foo: is no flag; look", "no such flag"])
    @pytest.mark.parametrize("code", [2, 3])
    def test_a_refusal_of_omnis_is_passed_on(self, code: int, said: str) -> None:
        program = f"import sys; print('a note', '{said}', sep='\\n'); sys.exit({code})"
        refused = code == 2 and said.startswith("error: ")
        with pytest.raises(UsageError if refused else StartError) as caught:
            measure_start("it", [sys.executable, "-c", program], lambda: False, timeout_s=20.0)
        told = "--foo: is no flag; look"
        assert str(caught.value) == (
            told if refused else f"it could not start: it ended with {code}: {said}"
        )

    def test_no_such_command(self) -> None:
        with pytest.raises(StartError, match="No such file or directory: /no/such"):
            measure_start("it", ["/no/such"], lambda: True, timeout_s=1.0)


class TestSides:
    @pytest.mark.parametrize(
        ("words", "url"),
        [
            ([], "http://127.0.0.1:{port}/readyz"),
            (["m", "--port", "9000"], "http://127.0.0.1:9000/readyz"),
            (["m", "--port=9000", "--host", "0.0.0.0"], "http://127.0.0.1:9000/readyz"),
            (["--host=::1"], "http://[::1]:{port}/readyz"),
            (["--ssl-certfile", "c.pem"], "https://127.0.0.1:{port}/readyz"),
        ],
    )
    def test_ours_is_asked_where_it_listens(self, words: list[str], url: str) -> None:
        ours = omni_side(words)
        assert ours.ready_url == url
        assert ours.command[3 : 4 + len(words)] == ("serve", *words)
        assert ("{port}" in ours.command) == ("{port}" in url)

    def test_our_key_is_taken_from_the_words_and_not_shown(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ours = omni_side(["--api-key", "secret"])
        assert ours.api_key == "secret"
        monkeypatch.setattr(Side, "measure", lambda self, timeout_s: Start(1.0, 1))
        bench_startup([ours], pairs=1, warmup=0, timeout_s=1.0, as_object=True)
        found = json.loads(capsys.readouterr().out)
        assert "--api-key ***" in found["sides"][0]["command"]
        assert "secret" not in str(found)

    def test_our_key_is_taken_from_a_key_file(self, tmp_path: Path) -> None:
        keys = tmp_path / "keys.txt"
        keys.write_text("# of the tests\n\n secret \nother\n")
        assert omni_side([f"--api-key-file={keys}"]).api_key == "secret"
        assert omni_side(["--api-key-file", str(tmp_path / "none")]).api_key is None

    def test_the_others_name_and_address(self) -> None:
        other = other_side("python -m vllm.entrypoints.openai.api_server --port {port}", None)
        assert (other.name, other.ready_url) == ("vllm.entrypoints.openai.api_server", URL)
        assert other_side("/bin/x 'a b'", "http://h/").command == ("/bin/x", "a b")

    @pytest.mark.parametrize(
        ("command", "url", "reason"),
        [
            ("x", None, "does not say where it listens"),
            ("'x", None, "is no command"),
            (" ", None, "is empty"),
            ("x", "ftp://h", "is no http address"),
        ],
    )
    def test_another_that_cannot_be_measured(
        self, command: str, url: str | None, reason: str
    ) -> None:
        with pytest.raises(UsageError, match=reason):
            other_side(command, url)


class TestReport:
    def test_pairs_take_turns(self, capsys: pytest.CaptureFixture[str]) -> None:
        sides = [side("a"), side("b", wait_s=0.5)]
        code = bench_startup(sides, pairs=2, warmup=1, timeout_s=DEADLINE_S, as_object=True)
        found = json.loads(capsys.readouterr().out)
        assert (code, found["interrupted"]) == (0, False)
        a, b = found["sides"]
        assert (a["name"], len(a["ready_s"]), len(b["pss_mb"])) == ("a", 2, 2)
        # The warm-up counts for nothing, but did start
        assert len(Path("a.pids").read_text().split()) == 3
        assert found["ratio"]["ready"] == pytest.approx(
            (a["ready_s"][0] / b["ready_s"][0] + a["ready_s"][1] / b["ready_s"][1]) / 2, abs=0.01
        )
        assert b["median_ready_s"] > 0.5
        assert left_over("a") == left_over("b") == []

    def test_text(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        starts = iter([Start(2.0, 50_000_000), Start(4.0, 100_000_000)])
        monkeypatch.setattr(Side, "measure", lambda self, timeout_s: next(starts))
        bench_startup([side("a"), side("b")], pairs=1, warmup=0, timeout_s=1.0, as_object=False)
        assert capsys.readouterr().out.splitlines() == [
            "   starts  ready (median, range), s  memory (PSS, median), MB",
            "a       1  2.00 (2.00 to 2.00)                             50",
            "b       1  4.00 (4.00 to 4.00)                            100",
            "a / b, median of the pairs: ready 0.500, memory 0.500",
        ]


class TestCommand:
    def test_words_that_serve_refuses_exit_with_2_and_its_line(self, omni: RunOmni) -> None:
        run = omni("bench", "startup", "--warmup", "0", "--", "--no-such-flag")
        assert (run.code, run.out) == (2, "")
        assert run.err.splitlines()[-1] == omni("serve", "--no-such-flag").err.splitlines()[0]

    def test_a_server_that_cannot_start_is_a_start_error(self) -> None:
        with pytest.raises(StartError, match="could not start: it ended with 0: it said nothing"):
            other_side(f"{sys.executable} -c 0 {{port}}", None).measure(DEADLINE_S)

    def test_a_ready_address_alone_is_refused(self, omni: RunOmni) -> None:
        run = omni("bench", "startup", "--against-ready", "http://h/")
        assert (run.code, run.err) == (2, "error: --against-ready http://h/: needs --against\n")

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_signal_leaves_nothing_behind(self, number: signal.Signals, code: int) -> None:
        script = (
            "import sys; from omni_cli.bench.startup import bench_startup, Side; "
            "from omni_cli.chat.console import ended_by_signals\n"
            "side = Side('a', (sys.executable, '-c', sys.argv[1], '{port}', '600', 'a.pids'), "
            f"{URL!r})\n"
            "with ended_by_signals():\n"
            "    sys.exit(bench_startup([side], pairs=1, warmup=0, timeout_s=60, as_object=True))"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", script, SERVER],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=omni_env(),
        )
        wait_for_line(Path("a.pids"))
        process.send_signal(number)
        out, _ = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == code
        assert left_over("a") == []
        if number == signal.SIGINT:
            assert json.loads(out)["interrupted"] is True


def wait_for_line(path: Path) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)

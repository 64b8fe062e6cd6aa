"""Servers with a certificate of their own, asked by each client command."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.certificates import make_pair
from tests.omni_cli.conftest import DONE, Reply, ScriptedServer, sse

if TYPE_CHECKING:
    from tests.omni_cli.conftest import RunOmni


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[ScriptedServer]:
    """Its certificate is in server.crt; other.crt is another's."""
    files = make_pair().write(tmp_path)
    make_pair().write(tmp_path, "other")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(files.certfile), str(files.keyfile))
    server = ScriptedServer(tls=context)
    yield server
    server.close()


@pytest.mark.parametrize("flags", [["--ca-file", "server.crt"], ["--insecure"]])
@pytest.mark.parametrize("command", ["chat", "complete", "bench serve"])
def test_a_server_that_is_trusted(
    secure: ScriptedServer, omni: RunOmni, command: str, flags: list[str]
) -> None:
    completion = Reply([sse({"choices": [{"index": 0, "text": "Hi"}]}), DONE])
    secure.enqueue(completion if command == "complete" else Reply.answer("Hi"))
    load = ["--num-prompts", "1", "--warmup", "0"] if command == "bench serve" else ["hello"]
    run = omni(*command.split(), "--url", secure.url, *flags, *load)
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith("Hi\n" if command != "bench serve" else "1 request in ")


@pytest.mark.parametrize("flags", [["--ca-file", "other.crt"], []])
@pytest.mark.parametrize("command", ["chat", "complete", "bench serve"])
def test_a_server_that_is_not(
    secure: ScriptedServer, omni: RunOmni, command: str, flags: list[str]
) -> None:
    run = omni(*command.split(), "--url", secure.url, *flags, *([] if "b" in command else ["x"]))
    assert (run.code, run.out, run.err.count("\n"), secure.asked) == (1, "", 1, [])
    assert "its certificate is not trusted" in run.err
    assert run.err.endswith("; name the file of its authority with --ca-file\n")

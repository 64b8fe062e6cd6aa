"""Real servers: `omni serve` as a process, real engines, the bundled models.

The server that most tests share is started once: two stages, three frontends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_bridge.models.store import ModelStore, cache_root
from tests.e2e.serving import CHAT_MODEL, EMBED_MODEL, Server, start_server

PIPELINE = f"""\
stages:
  - name: chat
    model: {CHAT_MODEL}
    # An answer that never stops by itself, which is not rare of so small a model, ends here.
    args: {{max-model-len: 2048}}
  - name: embed
    model: {EMBED_MODEL}
"""


@pytest.fixture(scope="session")
def bundled_models() -> None:
    """Both bundled models, fetched once per machine."""
    store = ModelStore(cache_root(os.environ))
    for name in (CHAT_MODEL, EMBED_MODEL):
        store.pull(name)


@pytest.fixture(scope="session")
def omni_server(tmp_path_factory: pytest.TempPathFactory, bundled_models: None) -> Iterator[Server]:
    """The shared server: stages chat and embed, three frontends."""
    folder = tmp_path_factory.mktemp("omni-server")
    (folder / "pipeline.yaml").write_text(PIPELINE)
    env = {"HF_HUB_OFFLINE": "1", "NO_COLOR": "1", "COLUMNS": "100"}
    server = start_server(folder, "pipeline.yaml", "--api-server-count", "3", env=env)
    try:
        server.wait_ready()
        yield server
    finally:
        server.stop()


@pytest.fixture
def launch(tmp_path: Path, bundled_models: None) -> Iterator[object]:
    """A function that starts a server of the test's own; all are ended with the test."""
    servers: list[Server] = []

    def start(*arguments: str, env: dict[str, str] | None = None) -> Server:
        folder = tmp_path / f"server{len(servers)}"
        folder.mkdir()
        server = start_server(folder, *arguments, env=env)
        servers.append(server)
        return server

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()

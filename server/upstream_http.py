"""The HTTP server of one frontend: uvicorn, with vLLM's balanced accepting."""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from vllm.entrypoints.launchers.launcher import NoSignalServer

from server.accept import AcceptLedger
from server.settings import HttpPlan
from server.tls_watch import TlsWatch
from server.wire import protocol_of_rank

__all__ = ["build_server"]

# Longer than the idle time after which common proxies close, so that they never write to a
# connection just closed.
KEEP_ALIVE_S = 75
# The kernel caps it at net.core.somaxconn; connections wait here while a frontend restarts.
BACKLOG = 2048


class _Connections(set[Any]):
    """uvicorn's set of open connections; says so when one is added or gone."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed

    def add(self, element: Any, /) -> None:
        super().add(element)
        self._changed()

    def discard(self, element: Any, /) -> None:
        super().discard(element)
        self._changed()


class _Server(NoSignalServer):  # type: ignore[misc]
    """Publishes its load at once; upstream waits for the next connection, too late for peers."""

    def __init__(
        self, config: uvicorn.Config, ledger: AcceptLedger, rank: int, tls: TlsWatch | None
    ) -> None:
        super().__init__(config, peer_loads=(ledger, rank))
        self._accepting = False
        self._tls = tls
        self._watching: asyncio.Task[None] | None = None
        self.server_state.connections = _Connections(self._changed)

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self._accepting = True
        if self._tls is not None:
            self._watching = asyncio.create_task(self._tls.run(self._use))

    async def shutdown(self, sockets: Any = None) -> None:
        self._accepting = False
        if self._watching is not None:
            self._watching.cancel()
        await super().shutdown(sockets)

    def _use(self, context: ssl.SSLContext) -> None:
        """Read at each accept; connections that are open have theirs."""
        self.config.ssl = context

    def _changed(self) -> None:
        if self._accepting:
            self._publish_load()


def build_server(
    app: ASGIApp,
    ledger: AcceptLedger,
    rank: int,
    http: HttpPlan,
    *,
    drain_timeout_s: float = 5.0,
    log_level: str = "error",
) -> uvicorn.Server:
    """A server for ``await server.serve(sockets=[sock])``; set ``should_exit`` to stop it.

    It installs no signal handlers and writes no access log. The listening socket is shared by all
    ranks.

    Args:
        app: From ``create_app``.
        ledger: Attached to the run's shared page.
        rank: This frontend's slot in it.
        http: Bounds on heads, and the certificate.
        drain_timeout_s: How long open requests may go on after ``should_exit``.
        log_level: uvicorn's own; its warnings are about what clients send.

    Raises:
        UsageError: If the certificate or its key cannot be used.
    """
    tls = TlsWatch(http.tls) if http.tls is not None else None
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=protocol_of_rank(rank, http),
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level=log_level,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=math.ceil(drain_timeout_s),
        server_header=False,
        proxy_headers=False,
        ssl_context_factory=None if tls is None else lambda config, default: tls.context,
    )
    config.load()
    return _Server(config, ledger, rank, tls)

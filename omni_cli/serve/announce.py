"""What `omni serve` says while it runs: one line when it begins, one block when it is ready, last
words at the end.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from engine_bridge.errors import UsageError
from engine_bridge.plan import RuntimePlan
from engine_bridge.status import RuntimeStatus
from omni_cli.serve.launching import loading_text
from omni_cli.serve.listen import url_of
from omni_cli.terminal import Terminal
from server.hosts import HostList
from server.settings import HttpPlan, Tls

__all__ = ["Announcer"]

TICK_S = 1.0
DEFAULT_URL = "http://127.0.0.1:8000"


class Announcer:
    """Speaks for one run; a context manager around its event loop's part of it.

    Args:
        terminal: Where to speak: standard error, since nothing of it is a result.
        plan: What runs.
        log_level: Lowest level of the children's lines that is shown; if None, that is
            ``warning``, and nothing is shown until the server is ready: vLLM warns of much on
            its way there, and what ends a start is said in one line anyway.
        http: What frontends are told.
        address: Of the listening socket, as ``getsockname`` gives it.
    """

    def __init__(
        self,
        terminal: Terminal,
        plan: RuntimePlan,
        address: tuple[object, ...],
        log_level: str | None,
        http: HttpPlan,
    ) -> None:
        self._terminal = terminal
        self._http = http
        self._always = log_level is not None
        self._plan = plan
        self._url = _url(address, http)
        self._status: RuntimeStatus | None = None
        self._ready = False
        self._stopping = False
        self._ticker: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        models = ", ".join(stage.served_names[0] for stage in self._plan.stages)
        self._terminal.note(f"starting {models} at {self._url}")
        self._ticker = asyncio.create_task(self._tick())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
        self._terminal.progress("")

    async def _tick(self) -> None:
        while not self._ready:
            if self._status is not None and not self._stopping:
                self._terminal.progress(loading_text(self._status))
            await asyncio.sleep(TICK_S)

    def show(self, status: RuntimeStatus) -> None:
        """Take a new status; says that the server is ready when it has become so."""
        self._status = status
        if self._ready or self._stopping or not status.ready:
            return
        self._ready = True
        self._terminal.progress("")
        seconds = time.monotonic() - status.started_at
        self._terminal.note(f"ready after {seconds:.1f} s at {self._url}")
        url = "" if self._url == DEFAULT_URL else f" --url {self._url}"
        url += _ca_file(self._http.tls)
        rows = [("model", ", ".join(stage.served_names)) for stage in self._plan.stages]
        described = f"   (described at {self._url}/docs)" if self._http.docs else ""
        rows += [
            ("chat", f"{_command()} chat{url}   (in another terminal)"),
            ("API", f"{self._url}/v1{described}"),
        ]
        if self._http.key_hashes:
            how = "asked for on every route but liveness; omni chat takes it from OMNI_API_KEY"
            rows.append(("key", how))
        rows.append(("stop", "Ctrl-C"))
        if self._terminal.verbosity >= 0:
            self._terminal.err.write("".join(f"  {name:<6} {text}\n" for name, text in rows))

    def line(self, text: str) -> None:
        """Pass on a child's line."""
        if not (self._ready or self._always):
            return
        self._terminal.progress("")
        self._terminal.err.show(f"{text}\n")

    def stopping(self) -> None:
        """The end was asked for."""
        if self._stopping:
            self._terminal.note("ending at once")
            return
        self._stopping = True
        self._terminal.progress("")
        if self._terminal.err.moves:
            self._terminal.err.write("\r\x1b[K")  # over the ^C that the terminal itself has shown
        self._terminal.note("stopping: running requests may finish; Ctrl-C again ends at once")


def _url(address: tuple[object, ...], http: HttpPlan) -> str:
    """The address to type into a client, by a name that the server answers to."""
    scheme = "http" if http.tls is None else "https"
    url = url_of(address, scheme)
    authority = url.partition("://")[2]
    if HostList(http.allowed_hosts).problem([(b"host", authority.encode())]) is None:
        return url
    names = (name for name in http.allowed_hosts if not name.startswith("*"))
    name = next(names, None)
    return url if name is None else f"{scheme}://{name}:{address[1]}"


def _ca_file(tls: Tls | None) -> str:
    """What a client of this machine needs to believe the certificate, as a flag."""
    if tls is None:
        return ""
    from server.tls import is_trusted  # noqa: PLC0415 - late: OpenSSL, for few servers

    try:
        if is_trusted(tls):
            return ""
    except UsageError:  # the files have changed since they were checked
        return ""
    near = os.path.relpath(tls.certfile)
    return f" --ca-file {shlex.quote(min(near, tls.certfile, key=len))}"


def _command() -> str:
    """How the user called this program, as far as it can be typed again."""
    called = Path(sys.argv[0])
    found = shutil.which("omni")
    if found is not None and Path(found).resolve() == called.resolve():
        return "omni"
    near = os.path.relpath(called)
    return str(called) if near.startswith("..") else near

"""One request of a load: sent, timed, and written down; whatever goes wrong becomes its failure.

aiohttp and not httpx: 40 us against 95 us of CPU for each streamed chunk at 64 streams, and 4 to
10 ms against 70 to 90 ms of loop lag (p99), measured side by side on a 2-core machine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from omni_cli.bench.prompts import Endpoint
from omni_cli.bench.record import Failure, FailureKind, Outcome, Record
from omni_cli.bench.timeline import Timeline
from omni_cli.client import faults
from omni_cli.client.connection import CONNECT_TIMEOUT_S, DONE, MAX_BODY_BYTES
from omni_cli.client.sse import EventTooLong, SseDecoder
from omni_cli.client.target import Target

if TYPE_CHECKING:
    import aiohttp

__all__ = ["LoadClient"]

# Idle connections are dropped before a server does it (uvicorn's bound is 5 s): a request that is
# sent just then would fail, and the failure would be ours.
KEEP_ALIVE_S = 2.0


class _Failed(Exception):
    """Ends a request with a failure."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.failure = Failure(kind, message)


class LoadClient:
    """Sends requests over one pool of connections, without a bound of its own on their number.

    Args:
        clock: Seconds; those of records are its.
        timeout_s: Longest time of one request, from sending to its end.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        target: Target,
        endpoint: Endpoint,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._url = target.address.api(endpoint.path)
        self._streams = endpoint.streams
        self._timeout_s = timeout_s
        self._clock = clock

    @classmethod
    @asynccontextmanager
    async def open(
        cls, target: Target, endpoint: Endpoint, timeout_s: float
    ) -> AsyncIterator[LoadClient]:
        """A client whose connections are closed at the end of the context."""
        import aiohttp  # noqa: PLC0415 - late: it costs more than a help page may take

        connector = aiohttp.TCPConnector(
            limit=0,
            keepalive_timeout=KEEP_ALIVE_S,
            ssl=target.trust.context() if target.address.is_secure else True,
        )
        headers = {"accept-encoding": "identity", "content-type": "application/json"}
        async with aiohttp.ClientSession(
            connector=connector,
            headers={**headers, **target.headers},
            trust_env=not target.address.is_loopback,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
        ) as session:
            yield cls(session, target, endpoint, timeout_s)

    async def ask(self, body: bytes, record: Record, start_s: float) -> None:
        """Send a request now, and fill its record.

        If cancelled, the record stays UNFINISHED with what had arrived.

        Args:
            body: JSON.
            start_s: The clock's value that the record's times count from.
        """
        sent = self._clock()
        record.sent_s = sent - start_s
        timeline = Timeline(sent)
        try:
            with _translated(self._timeout_s):
                async with asyncio.timeout(self._timeout_s):
                    ended = await self._exchange(body, timeline)
            if self._streams and not timeline.has_text:
                raise _Failed(FailureKind.EMPTY, "the answer has no text")
            record.e2e_s = ended - sent
            record.outcome = Outcome.OK
        except _Failed as failed:
            record.outcome = Outcome.FAILED
            record.failure = failed.failure
        finally:
            record.took_s = self._clock() - sent
            timeline.fill(record)

    async def _exchange(self, body: bytes, timeline: Timeline) -> float:
        """Send, read to the end, and return when that was."""
        async with self._session.post(self._url, data=body, allow_redirects=False) as response:
            if response.status != 200:
                content = await _read(response, faults.MAX_ERROR_BYTES)
                said = faults.said_in(content.decode("utf-8", "replace"))
                raise _Failed(f"http_{response.status}", said or str(response.reason or ""))
            if self._streams:
                kind = response.headers.get("content-type", "something untyped")
                if "text/event-stream" not in kind:
                    raise _Failed(FailureKind.NOT_A_STREAM, f"answered with {kind}")
                return await self._read_stream(response, timeline)
            whole = await _read(response, MAX_BODY_BYTES)
            timeline.receive(self._clock(), [_decoded(whole)])
            return self._clock()

    async def _read_stream(self, response: aiohttp.ClientResponse, timeline: Timeline) -> float:
        decoder = SseDecoder()
        ended = None
        # After the terminator as well, until the body's end: then the connection can be used again
        async for chunk in response.content.iter_any():
            now = self._clock()
            try:
                events = decoder.feed(chunk)
            except EventTooLong as error:
                raise _Failed(FailureKind.BAD_CHUNK, f"sent {error}") from error
            if ended is None and events:
                if DONE in events:
                    ended = now
                    events = events[: events.index(DONE)]
                timeline.receive(now, [_decoded(data) for data in events])
        if ended is None:
            raise _Failed(FailureKind.CUT, faults.ENDED_EARLY)
        return ended


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """A body, up to ``limit`` bytes of it."""
    found = bytearray()
    async for chunk in response.content.iter_any():
        found += chunk
        if len(found) >= limit:
            break
    return bytes(found[:limit])


def _decoded(data: str | bytes) -> dict[str, Any]:
    try:
        frame = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _Failed(FailureKind.BAD_CHUNK, f"sent what is not JSON: {data[:80]!r}") from error
    if not isinstance(frame, dict):
        raise _Failed(FailureKind.BAD_CHUNK, f"sent what is no object: {data[:80]!r}")
    said = faults.in_band(frame)
    if said is not None:
        raise _Failed(FailureKind.ERROR_FRAME, said)
    return frame


@contextmanager
def _translated(timeout_s: float) -> Iterator[None]:
    """Turn what the network raises within into _Failed."""
    import aiohttp  # noqa: PLC0415 - late

    try:
        yield
    except (aiohttp.ClientSSLError, aiohttp.ClientConnectorCertificateError) as error:
        raise _Failed(FailureKind.TLS, str(error)) from error
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise _Failed(FailureKind.CONNECT, str(error)) from error
    except TimeoutError as error:
        raise _Failed(FailureKind.TIMEOUT, f"not ended after {timeout_s:g} s") from error
    except aiohttp.ClientPayloadError as error:
        raise _Failed(FailureKind.CUT, faults.ENDED_EARLY) from error
    except (aiohttp.ClientConnectionError, ConnectionError) as error:
        raise _Failed(FailureKind.BROKEN, str(error) or type(error).__name__) from error
    except aiohttp.ClientError as error:
        raise _Failed(FailureKind.PROTOCOL, str(error) or type(error).__name__) from error

"""Requests to a running server."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from omni_cli.client.connection import CONNECT_TIMEOUT_S
from omni_cli.client.target import Target
from server.batch.results import Answer
from server.batch.run import Broken, TimedOut, Unreachable

if TYPE_CHECKING:
    import msgspec

__all__ = ["MAX_ANSWER_BYTES", "HttpSender"]

# A list of embeddings is the largest answer there is; a million numbers are some 20 MB.
MAX_ANSWER_BYTES = 256 << 20


class HttpSender:
    """A ``Sender`` over one pool of connections; an asynchronous context manager.

    Args:
        target: Where the server is; ``timeout_s`` bounds the wait for one answer.
        connections: Most connections at once.
    """

    def __init__(self, target: Target, connections: int) -> None:
        import httpx  # noqa: PLC0415 - late: it costs more than a help page may take

        self._target = target
        self._httpx = httpx
        self._http = httpx.AsyncClient(
            headers={"content-type": "application/json", **target.headers},
            timeout=httpx.Timeout(
                target.timeout_s, connect=min(target.timeout_s, CONNECT_TIMEOUT_S), pool=None
            ),
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            trust_env=not target.address.is_loopback,
            verify=target.address.is_secure and target.trust.context(),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    async def send(self, url: str, body: msgspec.Raw) -> Answer:
        httpx = self._httpx
        try:
            return await self._exchange(self._target.address.root(url), bytes(body))
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unreachable(str(error) or "no connection") from error
        except httpx.TimeoutException as error:
            seconds = f"{self._target.timeout_s:g} s"
            raise TimedOut(f"No answer within {seconds}; --timeout sets another bound.") from error
        except httpx.RequestError as error:
            raise Broken(f"The connection broke: {error or type(error).__name__}.") from error

    async def _exchange(self, url: str, body: bytes) -> Answer:
        parts: list[bytes] = []
        size = 0
        async with self._http.stream("POST", url, content=body) as response:
            async for part in response.aiter_bytes():
                size += len(part)
                if size > MAX_ANSWER_BYTES:
                    raise Broken(f"The answer is larger than {MAX_ANSWER_BYTES} bytes.")
                parts.append(part)
            return Answer(
                status=response.status_code,
                request_id=response.headers.get("x-request-id", ""),
                body=b"".join(parts),
                retry_after=response.headers.get("retry-after", ""),
            )

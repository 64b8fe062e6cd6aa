"""The HTTP side of the client commands: an OpenAI-style server, asked with patience and read with
suspicion.

One thread, one connection. What a person waits for is said through ``progress``; whatever goes
wrong becomes one ClientError. Leaving the iteration of an answer closes its connection, which is
how the server learns to stop.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

from engine_bridge.errors import ClientError
from omni_cli.client import faults
from omni_cli.client.answer import JsonObject
from omni_cli.client.sse import EventTooLong, SseDecoder
from omni_cli.client.target import Target

if TYPE_CHECKING:
    import httpx

__all__ = ["CONNECT_TIMEOUT_S", "DONE", "MAX_BODY_BYTES", "Connection"]

# A server that is there accepts at once; ten seconds allow for a lost packet or two
CONNECT_TIMEOUT_S = 10.0
# Of an answer that is not streamed; far beyond any context length
MAX_BODY_BYTES = 64 * 1024 * 1024
# Between two looks at a server that is starting, whatever Retry-After says
POLL_MIN_S, POLL_MAX_S = 0.2, 2.0
# The data of a stream's last event
DONE = "[DONE]"


class Connection:
    """A connection to one server. Close it, or use it as a context manager.

    Args:
        progress: Told what is being waited for; an empty text ends the wait.

    Attributes:
        reads: How many pieces of streams the network has brought; chunks of the same number came
            together.
    """

    def __init__(
        self, target: Target, *, progress: Callable[[str], None] = lambda text: None
    ) -> None:
        import httpx  # noqa: PLC0415 - late: it costs more than a help page may take

        self.address = target.address
        self._timeout_s = target.timeout_s
        self.reads = 0
        self._progress = progress
        self._http = httpx.Client(
            headers={"accept": "application/json, text/event-stream", **target.headers},
            timeout=httpx.Timeout(
                target.timeout_s, connect=min(target.timeout_s, CONNECT_TIMEOUT_S)
            ),
            # A proxy has no business between two ends of one machine
            trust_env=not target.address.is_loopback,
            # Loading the certificates takes time, and plain HTTP has no use for them
            verify=target.address.is_secure and target.trust.context(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; an answer in progress is abandoned."""
        self._http.close()

    def models(self) -> list[JsonObject]:
        """The cards of the served models, waiting for a server that is still starting.

        Raises:
            ClientError: There is no such server, or it refuses.
        """
        url = self.address.api("/models")
        with self._open("GET", url, None) as response:
            body = self._json(response, url)
        cards = body.get("data")
        if not isinstance(cards, list):
            raise ClientError(url, "answered with JSON that is no list of models", faults.CHECK_URL)
        return [
            card for card in cards if isinstance(card, dict) and isinstance(card.get("id"), str)
        ]

    def default_model(self, able: Callable[[JsonObject], bool] | None = None) -> str:
        """The first served model that can do what is wanted, as far as the cards tell; else the
        first.

        Args:
            able: Whether a card's model can; None asks for one that generates text.

        Raises:
            ClientError: As ``models``, or no model is served.
        """
        cards = self.models()
        if not cards:
            raise ClientError(self.address.shown, "serves no model")
        fit = [card for card in cards if (able or _generates)(card)]
        return str((fit or cards)[0]["id"])

    def frames(
        self,
        path: str,
        body: JsonObject,
        *,
        ready_again: Callable[[], None] = lambda: None,
    ) -> Generator[JsonObject]:
        """Post a request that names a model, and yield the chunks of its stream, or its one body
        if ``stream`` is not set. Close the iterator to stop the server.

        Args:
            path: Route of the OpenAI API, such as ``/completions``.
            ready_again: Called each time the server was not ready and is asked anew.

        Raises:
            ClientError: The server refused, failed midway, or ended the stream early.
        """
        url = self.address.api(path)
        try:
            with self._open("POST", url, body, ready_again) as response:
                if body.get("stream"):
                    yield from self._streamed(response, url)
                else:
                    whole = self._json(response, url)
                    faults.raise_in_band(whole, url)
                    yield whole
        except faults.ModelNotServed as fault:
            served = ", ".join(str(card["id"]) for card in self.models()) or "none"
            reason = f"model {body.get('model')} is not served there"
            raise ClientError(self.address.shown, reason, f"served: {served}") from fault

    @contextmanager
    def _open(
        self,
        method: str,
        url: str,
        body: JsonObject | None,
        ready_again: Callable[[], None] = lambda: None,
    ) -> Iterator[httpx.Response]:
        """Send, wait while the server starts, and hand out a response with status 200."""
        with faults.translated(url, self._timeout_s), self._ending_progress():
            deadline = time.monotonic() + self._timeout_s
            while True:
                with self._http.stream(method, url, json=body) as response:
                    if not _starting(response):
                        self._progress("")
                        if response.status_code != 200:
                            text = _bounded(response, url, faults.MAX_ERROR_BYTES)
                            faults.raise_for(response, text, url, names_model=method == "POST")
                        yield response
                        return
                    pause = _pause(response)
                self._wait(deadline, pause)
                ready_again()

    @contextmanager
    def _ending_progress(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._progress("")

    def _wait(self, deadline: float, pause: float) -> None:
        """Say what a server that is not ready is doing, and let some time pass."""
        import httpx  # noqa: PLC0415 - late

        left = deadline - time.monotonic()
        if left <= 0:
            raise ClientError(
                self.address.shown,
                f"still not ready after {self._timeout_s:g} s",
                "wait and try again, or give it longer with --timeout",
            )
        phase = ""
        # Just when the parent hands its socket to the first frontend, a connection may be dropped.
        with suppress(httpx.RemoteProtocolError, httpx.ReadError):
            phase = _phase(self._http.get(self.address.root("/startupz")))
        self._progress(f"{self.address.shown} is not ready yet{phase}")
        time.sleep(min(pause, left))

    def _streamed(self, response: httpx.Response, url: str) -> Iterator[JsonObject]:
        if "text/event-stream" not in response.headers.get("content-type", ""):
            raise ClientError(
                url, f"answered with {_kind(response)}, not a stream", faults.CHECK_URL
            )
        decoder = SseDecoder()
        for chunk in response.iter_bytes():
            self.reads += 1
            try:
                events = decoder.feed(chunk)
            except EventTooLong as error:
                raise ClientError(url, f"sent {error}") from error
            for data in events:
                if data == DONE:
                    return
                yield _frame(data, url)
        raise ClientError(url, faults.ENDED_EARLY)

    def _json(self, response: httpx.Response, url: str) -> JsonObject:
        text = _bounded(response, url, MAX_BODY_BYTES)
        try:
            body = json.loads(text)
        except ValueError as error:
            raise ClientError(
                url, f"answered with {_kind(response)}, not JSON", faults.CHECK_URL
            ) from error
        if not isinstance(body, dict):
            raise ClientError(url, "answered with JSON that is no object", faults.CHECK_URL)
        return body


def _frame(data: str, url: str) -> JsonObject:
    try:
        frame = json.loads(data)
    except ValueError as error:
        raise ClientError(url, f"sent a chunk that is not JSON: {data[:80]}") from error
    if not isinstance(frame, dict):
        raise ClientError(url, f"sent a chunk that is no object: {data[:80]}")
    faults.raise_in_band(frame, url)
    return frame


def _generates(card: JsonObject) -> bool:
    hints = card.get("capabilities")
    return card.get("task") == "generate" or (isinstance(hints, list | dict) and "chat" in hints)


def _starting(response: httpx.Response) -> bool:
    return response.status_code == 503 and "retry-after" in response.headers


def _pause(response: httpx.Response) -> float:
    try:
        asked = float(response.headers["retry-after"])
    except ValueError:  # a date
        asked = POLL_MAX_S
    return min(max(asked, POLL_MIN_S), POLL_MAX_S)


def _phase(response: httpx.Response) -> str:
    """What /startupz says is going on: its last phase that has not ended."""
    try:
        phases = response.json()["phases"]
        running = [phase for phase in phases if phase["state"] == "running"] or phases
        name, elapsed = running[-1]["name"], running[-1].get("elapsed_s")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return ""
    return f": {name}" + (f", {elapsed:.0f} s" if isinstance(elapsed, int | float) else "")


def _bounded(response: httpx.Response, url: str, limit: int) -> str:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > limit:
            raise ClientError(url, f"sent a body of more than {limit} bytes")
    return body.decode("utf-8", "replace")


def _kind(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "something untyped")).partition(";")[0]

"""Everything that can go wrong between a client and a server, each as one ClientError."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from engine_bridge.errors import ClientError

if TYPE_CHECKING:
    import httpx

__all__ = [
    "CHECK_URL",
    "ENDED_EARLY",
    "MAX_ERROR_BYTES",
    "ModelNotServed",
    "in_band",
    "raise_for",
    "raise_in_band",
    "said_in",
    "translated",
]

CHECK_URL = "is --url right?"
ENDED_EARLY = "the stream ended early, the answer is incomplete"
MAX_ERROR_BYTES = 256 * 1024  # of an error's body; a validation error repeats its input at most


class ModelNotServed(Exception):
    """The server knows the route but not the model; the caller says which ones there are."""


def raise_in_band(frame: dict[str, Any], url: str) -> None:
    """Raise what a body or a chunk of a stream reports instead of an answer.

    Raises:
        ClientError: The frame is an error.
    """
    said = in_band(frame)
    if said is not None:
        raise ClientError(url, f"the server failed: {said}")


def in_band(frame: dict[str, Any]) -> str | None:
    """What a body or a chunk of a stream reports instead of an answer; None if it is an answer."""
    if frame.get("error") or frame.get("object") == "error":
        return _message(frame) or "it does not say why"
    return None


def said_in(text: str) -> str:
    """The message in the body of an error, or nothing."""
    return _message(_object(text))


def raise_for(response: httpx.Response, text: str, url: str, *, names_model: bool) -> NoReturn:
    """Raise what a status other than 200 means.

    Args:
        text: The body.
        names_model: Whether the request named a model.

    Raises:
        ClientError: Always.
    """
    status = response.status_code
    body = _object(text)
    said = _message(body)
    if status in (401, 403):
        key = "authorization" in response.request.headers
        reason = "the server refused the API key" if key else "the server asks for an API key"
        raise ClientError(url, reason, "give it with --api-key or OMNI_API_KEY")
    if status == 404 and names_model and (body.get("error") or body.get("object") == "error"):
        raise ModelNotServed(said or "no such model")
    if status in (404, 405):
        raise ClientError(url, f"no OpenAI-style API there ({status})", CHECK_URL)
    if 300 <= status < 400:
        target = response.headers.get("location", "elsewhere")
        raise ClientError(url, f"redirects to {target}", "give that address with --url")
    if said:
        raise ClientError(url, f"{said.rstrip('.')} ({status})")
    kind = response.headers.get("content-type", "").partition(";")[0] or "nothing readable"
    raise ClientError(url, f"answered {status} with {kind}", CHECK_URL if status < 500 else "")


@contextmanager
def translated(url: str, timeout_s: float) -> Iterator[None]:
    """Turn httpx's exceptions within into ClientError.

    Raises:
        ClientError: For each of them.
    """
    import httpx  # noqa: PLC0415 - late: it costs more than a help page may take

    try:
        yield
    except httpx.ConnectTimeout as error:
        raise ClientError(url, "does not answer: the connection timed out", CHECK_URL) from error
    except httpx.TimeoutException as error:
        raise ClientError(
            url, f"sent nothing for {timeout_s:g} s", "give it longer with --timeout"
        ) from error
    except httpx.ConnectError as error:
        raise _not_connected(url, error) from error
    except httpx.RemoteProtocolError as error:
        if "incomplete" in str(error):
            raise ClientError(url, ENDED_EARLY) from error
        reason = f"does not speak HTTP as expected: {str(error).rstrip('.')}"
        hint = "is it https://?" if url.startswith("http://") else CHECK_URL
        raise ClientError(url, reason, hint) from error
    except (httpx.ReadError, httpx.WriteError, httpx.CloseError) as error:
        raise ClientError(
            url, f"the connection broke, the answer is incomplete: {error}"
        ) from error
    except (httpx.RequestError, httpx.InvalidURL) as error:
        raise ClientError(url, f"cannot be asked: {error}", CHECK_URL) from error


def _not_connected(url: str, error: Exception) -> ClientError:
    causes = list(_chain(error))
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return ClientError(url, "its host name cannot be resolved", CHECK_URL)
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = f"its certificate is not trusted: {cause.verify_message}"
            return ClientError(url, reason, "name the file of its authority with --ca-file")
        if isinstance(cause, ssl.SSLError):
            hint = "does the server speak plain http://?"
            return ClientError(url, f"no TLS connection: {cause.reason or cause}", hint)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return ClientError(
            url,
            "no server there (connection refused)",
            "start one with `omni serve`, or point --url at yours",
        )
    return ClientError(url, f"cannot be reached: {error}", CHECK_URL)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _object(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _message(body: dict[str, Any]) -> str:
    error = body.get("error")
    found = error.get("message") if isinstance(error, dict) else error
    found = found or body.get("message") or body.get("detail")
    return found if isinstance(found, str) else json.dumps(found) if found else ""

"""A request as a line for a shell, so that a failure can be seen again without omni."""

from __future__ import annotations

import shlex
from urllib.parse import urlsplit

from omni_cli.check.wire import Request

__all__ = ["KEY_VARIABLE", "curl_line"]

# The key itself never stands in a report.
KEY_VARIABLE = "OMNI_API_KEY"


def curl_line(base: str, request: Request, *, has_key: bool) -> str:
    """The line, without a final newline.

    Args:
        base: The server's address without a user, a password and a final slash.
        has_key: Whether the run had a key, which the line then takes from KEY_VARIABLE.
    """
    if request.head_shell:
        return f"{request.head_shell} | {_raw(base)}"
    words = ["curl", "-sSiN", "--path-as-is"]
    if request.method != ("POST" if request.body is not None else "GET"):
        words += ["-X", request.method]
    words.append(shlex.quote(f"{base}{request.target}"))
    words += _key(request, has_key)
    if request.body is not None and "content-type" not in request.headers:
        words += ["-H", shlex.quote("content-type: application/json")]
    for name, value in request.headers.items():
        header = f"{name}: {value}"
        words += ["-H", f'"{header}"' if f"${KEY_VARIABLE}" in value else shlex.quote(header)]
    if request.declared_length is not None:
        words += ["-H", shlex.quote(f"content-length: {request.declared_length}")]
    words += _body(request)
    line = " ".join(words)
    return f"{request.body_shell} | {line}" if request.body_shell else line


def _raw(base: str) -> str:
    """What sends its input to the server as it is."""
    parts = urlsplit(base)
    where = f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
    if parts.scheme == "https":
        return f"openssl s_client -quiet -connect {where}"
    return f"curl -sSN telnet://{where}"


def _key(request: Request, has_key: bool) -> list[str]:
    if request.key == "" or (request.key is None and not has_key):
        return []
    words = [f'"authorization: Bearer ${KEY_VARIABLE}"']
    if request.key is not None:
        words = [shlex.quote(f"authorization: Bearer {request.key}")]
    if request.is_anthropic:
        words.append(words[0].replace("authorization: Bearer ", "x-api-key: "))
    return [part for word in words for part in ("-H", word)]


def _body(request: Request) -> list[str]:
    if request.body is None:
        return []
    if request.body_shell:
        return ["--data-binary", "@-"]
    return ["--data-binary", shlex.quote(request.payload.decode("utf-8", "replace"))]

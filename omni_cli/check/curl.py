"""A request as a line for a shell, so that a failure can be seen again without omni."""

from __future__ import annotations

import shlex

from omni_cli.check.wire import Request

__all__ = ["KEY_VARIABLE", "curl_line"]

# The key itself never stands in a report.
KEY_VARIABLE = "OMNI_API_KEY"
# Of a body inside the line; longer ones have a command that writes them
MAX_BODY_CHARS = 1500


def curl_line(base: str, request: Request, *, has_key: bool) -> str:
    """The line, without a final newline.

    Args:
        base: The server's address without a user, a password and a final slash.
        has_key: Whether the run had a key, which the line then takes from KEY_VARIABLE.
    """
    words = ["curl", "-sSiN", "--path-as-is"]
    if request.method != ("POST" if request.body is not None else "GET"):
        words += ["-X", request.method]
    words.append(shlex.quote(f"{base}{request.target}"))
    words += _key(request, has_key)
    if request.body is not None and "content-type" not in request.headers:
        words += ["-H", shlex.quote("content-type: application/json")]
    for name, value in request.headers.items():
        if request.header_shell and len(value) > MAX_BODY_CHARS:
            words += ["-H", "@-"]
        else:
            words += ["-H", shlex.quote(f"{name}: {value}")]
    if request.declared_length is not None:
        words += ["-H", shlex.quote(f"content-length: {request.declared_length}")]
    words += _body(request)
    feed = request.header_shell or request.body_shell
    return f"{feed} | {' '.join(words)}" if feed else " ".join(words)


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

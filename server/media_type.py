"""The content type of a JSON route."""

from __future__ import annotations

from starlette.requests import Request

from server.errors import ApiError

__all__ = ["require_json"]


def require_json(request: Request) -> None:
    """Refuse a body that does not say it is JSON: any site's form can make a browser send one.

    Raises:
        ApiError: 415.
    """
    given = request.headers.get("content-type", "").split(";", 1)[0].strip().lower()
    if given != "application/json":
        raise ApiError(
            415, f"The content type must be application/json, not {given[:100] or 'absent'}."
        )

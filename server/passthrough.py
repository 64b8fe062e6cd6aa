"""Routes that upstream's own application answers, and routes that nobody answers yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from server.body import form_model, json_model, read_body, refuse_unsendable, replay
from server.errors import ApiError
from server.family_errors import renaming
from server.media_type import require_json
from server.route_table import RouteRow, rows
from server.stages import StageSet

__all__ = ["table_routes"]

# What upstream's application may see of a request; the rest was put there by ours while it routed.
SCOPE_KEYS = (
    "type", "asgi", "http_version", "method", "scheme", "path", "raw_path", "query_string",
    "root_path", "headers", "client", "server", "extensions",
)  # fmt: skip

FORM_TYPES = frozenset({"multipart/form-data", "application/x-www-form-urlencoded"})


def table_routes(stages: StageSet, *, docs: bool = True) -> list[Route]:
    """One route for each path of the table that is passed, refused or later.

    Args:
        docs: Whether /docs is served. If not, a path whose reason names it is as unknown as it.
    """
    passed = [
        Route(path, _PassThrough(found, stages), methods=[row.method for row in found])
        for path, found in rows(["passed"]).items()
    ]
    closed = [
        Route(path, _Closed(found), methods=[row.method for row in found])
        for path, found in rows(["refused", "later"]).items()
        if docs or not any("/docs" in f"{row.path} {row.reason}" for row in found)
    ]
    return passed + closed


class _Closed:
    """Says why a route is not served."""

    def __init__(self, found: Sequence[RouteRow]) -> None:
        self._rows = {row.method: row for row in found}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> NoReturn:
        row = self._rows.get(scope["method"]) or next(iter(self._rows.values()))
        status = 501 if row.disposition == "later" else 404
        raise ApiError(status, f"{row.method} {row.path} is not served: {row.reason}.")


class _PassThrough:
    """Chooses the stage and hands the request to upstream's application over it."""

    def __init__(self, found: Sequence[RouteRow], stages: StageSet) -> None:
        self._rows = {row.method: row for row in found}
        self._stages = stages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Starlette adds HEAD to a route that has GET.
        row = self._rows.get(scope["method"]) or self._rows["GET"]
        body = b""
        model = QueryParams(scope["query_string"]).get("model")
        if row.body != "none":
            _check_media_type(row, scope)
            whole = await read_body(receive)
            if whole is None:
                return
            body = whole
            if row.body == "json":
                refuse_unsendable(body)
            model = json_model(body) if row.body == "json" else await form_model(scope, body)
        stage = self._stages.pick(model, row.task, row.path)
        if row.option and not stage.enabled(row.option):
            raise ApiError(
                403, f"{row.path} needs the option {row.option} of stage `{stage.name}`."
            )
        inner = {key: scope[key] for key in SCOPE_KEYS if key in scope}
        inner["state"] = dict(scope.get("state", {}))
        if row.body != "none":
            receive = replay(body, receive)
        await stage.passthrough()(inner, receive, renaming(scope["path"], send))


def _check_media_type(row: RouteRow, scope: Scope) -> None:
    if row.body == "json":
        require_json(Request(scope))
        return
    given = Headers(scope=scope).get("content-type", "").split(";", 1)[0].strip().lower()
    if given not in FORM_TYPES:
        raise ApiError(415, f"{row.path} takes multipart/form-data, not {given or 'nothing'}.")

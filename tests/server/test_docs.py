"""docs/http.md has the route table; run this file as a program to write it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from server import body, early, open_files, settings, tls_watch, wire
from server.request_id import MAX_REQUEST_ID_CHARS
from server.route_table import ROUTES
from server.settings import BODY_IDLE_TIMEOUT_S, MAX_BODY_BYTES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "http.md"
BEGIN, END = "<!-- routes -->\n", "<!-- /routes -->\n"


def table() -> str:
    """The table of all routes, one line for each path and what happens to it."""
    lines: dict[tuple[str, str, str], list[str]] = {}
    for row in ROUTES:
        what = row.reason or (f"needs `{row.option}`" if row.option else "")
        own = "omni's own" if row.own else what
        lines.setdefault((row.path, row.disposition, own), []).append(row.method)
    text = "| route | methods | | |\n|---|---|---|---|\n"
    for (path, disposition, note), methods in lines.items():
        text += f"| `{path}` | {', '.join(methods)} | {disposition} | {note} |\n"
    return text


def test_page_has_the_route_table() -> None:
    page = PAGE.read_text()
    assert page[page.index(BEGIN) + len(BEGIN) : page.index(END)] == table()


def test_page_names_the_bounds() -> None:
    page = PAGE.read_text()
    assert f"1 to {MAX_REQUEST_ID_CHARS} visible" in page
    assert f"within {BODY_IDLE_TIMEOUT_S:.0f} s" in page
    assert f"larger than {MAX_BODY_BYTES // 1024**2} MiB" in page


def test_security_page_names_the_bounds(make_server: Callable[..., Any]) -> None:
    from server.upstream_http import KEEP_ALIVE_S  # noqa: PLC0415

    page = (DOCS / "security.md").read_text()
    rows = page[page.index("<!-- bounds -->") : page.index("<!-- /bounds -->")].splitlines()[3:]
    assert [row.split("|")[2].strip() for row in rows] == [
        f"{settings.MAX_HEAD_BYTES} bytes",
        f"{settings.MAX_HEADER_COUNT}",
        f"{settings.MAX_BODY_BYTES} bytes",
        f"{MAX_REQUEST_ID_CHARS} characters",
        f"{wire.MAX_PIPELINED}",
        f"{KEEP_ALIVE_S} s",
        f"{wire.HEAD_TIMEOUT_S:g} s",
        f"{settings.BODY_IDLE_TIMEOUT_S:g} s",
        f"{body.MAX_UNREAD_BYTES} bytes",
        f"{wire.MAX_LINGER_BYTES} bytes, {wire.LINGER_S:g} s",
        f"every {tls_watch.RELOAD_INTERVAL_S:g} s",
        f"{open_files.MAX_OPEN_FILES}, or the hard limit",
        f"{early.MAX_CONNECTIONS}",
        f"{early.CONNECTION_TIMEOUT_S:g} s",
    ]


if __name__ == "__main__":
    found = PAGE.read_text()
    start, end = found.index(BEGIN) + len(BEGIN), found.index(END)
    PAGE.write_text(found[:start] + table() + found[end:])

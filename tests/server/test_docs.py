"""docs/http.md has the route table; run this file as a program to write it."""

from __future__ import annotations

from pathlib import Path

from server.request_id import MAX_REQUEST_ID_CHARS
from server.route_table import ROUTES
from server.settings import BODY_IDLE_TIMEOUT_S, MAX_BODY_BYTES

PAGE = Path(__file__).parents[2] / "docs" / "http.md"
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


if __name__ == "__main__":
    found = PAGE.read_text()
    start, end = found.index(BEGIN) + len(BEGIN), found.index(END)
    PAGE.write_text(found[:start] + table() + found[end:])

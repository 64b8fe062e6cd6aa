"""A set in 8 bytes for each key."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from server.batch.seen import SeenKeys


@given(st.lists(st.text(max_size=4), max_size=60))
def test_it_tells_what_a_set_tells(keys: list[str]) -> None:
    seen, known = SeenKeys(len(keys)), set()
    for key in keys:
        assert seen.add(key) == (key in known)
        known.add(key)


def test_it_takes_8_bytes_for_each_key() -> None:
    seen = SeenKeys(100_000)
    assert sys.getsizeof(seen._slots) <= 8 * 100_001 + 200
    assert not any(seen.add(f"key {n}") for n in range(100_000))
    assert all(seen.add(f"key {n}") for n in range(0, 100_000, 97))

from __future__ import annotations

import hmac
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.keys import MISSING, REPEATED, WRONG, KeyRing

KEYS = ("sk-first", "sk-second")
RING = KeyRing(sha256(key.encode()).hexdigest() for key in KEYS)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"authorization", b"Bearer %s"),
        (b"authorization", b"bearer %s"),
        (b"authorization", b"BEARER  \t%s "),
        (b"x-api-key", b"%s"),
    ],
)
def test_key_is_known_in_both_headers(name: bytes, value: bytes, key: str) -> None:
    assert RING.problem([(b"host", b"a"), (name, value % key.encode())]) is None


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"authorization", b"")],
        [(b"authorization", b"Bearer")],
        [(b"authorization", b"Bearer ")],
        [(b"authorization", b"sk-first")],
        [(b"authorization", b"Basic c2stZmlyc3Q6")],
        [(b"proxy-authorization", b"Bearer sk-first")],
        [(b"x-api-key", b"")],
        [(b"cookie", b"x-api-key=sk-first")],
    ],
)
def test_without_a_key_it_says_how_to_send_one(headers: list[tuple[bytes, bytes]]) -> None:
    assert RING.problem(headers) == MISSING


@pytest.mark.parametrize(
    "key",
    [
        b"sk-firs",
        b"sk-first sk-second",
        b"SK-FIRST",
        b"sk-first\x00",
        b"\xff\xfe\x80",
        "schlüssel".encode(),
        b"k" * 60_000,
        sha256(b"sk-first").hexdigest().encode(),
    ],
)
def test_wrong_key_is_not_repeated(key: bytes) -> None:
    for headers in ([(b"authorization", b"Bearer " + key)], [(b"x-api-key", key)]):
        assert RING.problem(headers) == WRONG


def test_several_headers_of_one_name_are_refused_even_if_one_is_right() -> None:
    right = (b"authorization", b"Bearer sk-first")
    assert RING.problem([right, right]) == REPEATED
    assert RING.problem([(b"x-api-key", b"sk-first"), right, (b"x-api-key", b"no")]) == REPEATED


def test_one_right_key_is_enough_beside_another_kind_of_authorization() -> None:
    proxy = (b"authorization", b"Basic abc")
    assert RING.problem([proxy, (b"x-api-key", b"sk-second")]) is None


def test_every_kept_key_is_compared_whichever_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(other)
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for key in (*KEYS, "sk-none"):
        RING.problem([(b"x-api-key", key.encode())])
    assert len(compared) == 3 * len(KEYS)


def test_without_keys_nothing_is_asked() -> None:
    assert KeyRing([]).problem([(b"authorization", b"1"), (b"authorization", b"2")]) is None


names = st.sampled_from([b"authorization", b"x-api-key", b"host", b"x-api_key"])


@given(st.lists(st.tuples(names, st.binary(max_size=40)), max_size=5))
def test_no_bytes_get_in_without_a_key(headers: list[tuple[bytes, bytes]]) -> None:
    assert RING.problem(headers) in (MISSING, WRONG, REPEATED)

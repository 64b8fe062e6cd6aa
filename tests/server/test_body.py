from __future__ import annotations

import json

import pytest

from server.body import json_model, refuse_unsendable
from server.errors import ApiError

DEEP = b'{"model": "talker", "messages": ' + b"[" * 100_000


@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "talker"}',
        b'\xef\xbb\xbf{"model": "talker"}',
        '{"model": "talker"}'.encode("utf-16"),
        b'{"model": "talker", "temperature": NaN}',
    ],
)
def test_model_is_found_in_all_that_is_read_as_json(body: bytes) -> None:
    assert json_model(body) == "talker"


@pytest.mark.parametrize("body", [b"", b"{no", b"[]", b'{"model": 1}', b'{"model": "\xff"}', DEEP])
def test_model_of_a_wrong_body_is_none(body: bytes) -> None:
    assert json_model(body) is None


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": "\U0001f600 \\ud800"},
        {"seed": 2**64 - 1, "prompt": [2**63]},
        {"response_format": {"json_schema": {"schema": {"maximum": 10**30}}}},
        {"prompt": "1" * 30},
        {"temperature": 1e30},
    ],
)
def test_what_can_be_sent_is_let_through(body: dict[str, object]) -> None:
    refuse_unsendable(json.dumps(body).encode())


def test_what_is_no_json_is_left_to_the_reader() -> None:
    refuse_unsendable(b"\\ud800 {")
    refuse_unsendable(b"\\ud800" + DEEP)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"stop": "a\\ud800"}', "stop"),
        (b'{"stop": ["a", "\\uDfff b"]}', "stop"),
        (b'{"messages": [{"role": "user", "content": "\\ud83d"}]}', "messages"),
        (b'{"metadata": {"\\ud83d": 1}}', "metadata"),
        (b'{"user": "\xed\xa0\x80"}', "user"),
        (b'{"top_k": 1000000000000000000000000000000}', "top_k"),
        (b'{"stop_token_ids": [-9223372036854775809]}', "stop_token_ids"),
        (b'{"vllm_xargs": {"a": 18446744073709551616}}', "vllm_xargs"),
    ],
)
def test_what_the_engine_cannot_be_sent_is_400_that_names_the_field(
    body: bytes, field: str
) -> None:
    with pytest.raises(ApiError) as caught:
        refuse_unsendable(body)
    assert (caught.value.status_code, caught.value.param) == (400, field)
    assert field in caught.value.detail

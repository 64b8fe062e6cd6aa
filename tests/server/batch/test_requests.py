"""What can be wrong with one line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.batch.requests import ROUTES, faults_of, parse_request
from tests.server.batch.world import request

GOOD: dict[str, Any] = {
    "custom_id": "a",
    "method": "POST",
    "url": "/v1/chat/completions",
    "body": {"model": "m", "messages": []},
}


def told(data: bytes, models: tuple[str, ...] | None = None) -> list[str]:
    faults = faults_of(data, models)[1]
    return [f"{f.field}|{f.value or ''}|{f.reason}|{f.way_out}" for f in faults]


def changed(**fields: object) -> bytes:
    return json.dumps({k: v for k, v in {**GOOD, **fields}.items() if v != "-"}).encode()


def test_good_line_has_no_faults() -> None:
    assert faults_of(changed(), ("m",)) == ("a", ())
    assert told(changed(body={}), ("m",)) == []
    assert told(changed(body={"model": ""}), ("m",)) == []
    assert told(changed(body={"stream": False, "model": "m"})) == []
    assert told(changed(note="mine")) == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (changed(method="GET"), ["method|GET|must be POST|"]),
        (changed(method="-"), ["method||is missing|it must be POST"]),
        (changed(custom_id=""), ["custom_id||is empty|it must be text that is not empty"]),
        (changed(custom_id=7), ["custom_id||is a number|it must be text that is not empty"]),
        (
            changed(custom_id="-", customid="a"),
            ["custom_id||is missing|is customid meant?"],
        ),
        (changed(body=[1]), ["body||is a list|it must be a JSON object"]),
        (changed(body=None), ["body||is null|it must be a JSON object"]),
        (changed(body="-"), ["body||is missing|it must be a JSON object"]),
        (
            changed(url="/v1/chat/completion"),
            [
                "url|/v1/chat/completion|is no route that a batch can use"
                "|did you mean /v1/chat/completions?"
            ],
        ),
        (
            changed(url="http://x/v1/embeddings"),
            [
                "url|http://x/v1/embeddings|is no route that a batch can use"
                "|give the path alone, such as /v1/chat/completions"
            ],
        ),
        (
            changed(body={"stream": True}),
            [
                "body.stream|true|a batch has no streams"
                "|leave it out: a result line holds the whole answer"
            ],
        ),
        (changed(body={"model": "x"}), ["body.model|x|is not served|served: m"]),
        (changed(body={"model": ["m"]}), ["body.model||is a list, not text|"]),
        (
            b"[1]",
            [
                "||is a list, not a JSON object"
                '|write {"custom_id": ..., "method": "POST", "url": ..., "body": {...}}'
            ],
        ),
        (
            b'{"custom_id": }',
            [
                "||is not JSON: Expecting value (column 15)|write one JSON object on one line",
            ],
        ),
        (b'{"custom_id": "\xff"}', ["||is not UTF-8|write the file as UTF-8"]),
        (
            b'{"a": NaN}',
            [
                "||has NaN, Infinity, a number out of range, or half of a surrogate pair"
                "|write numbers and text that JSON has"
            ],
        ),
        (b"[" * 100_000, ["||is nested too deeply|"]),
    ],
)
def test_faults(data: bytes, expected: list[str]) -> None:
    assert told(data, ("m",)) == expected


def test_all_faults_of_a_line_are_found_at_once() -> None:
    data = b'{"custom_id": 1, "method": "GET", "url": 2, "body": {"stream": true}}'
    fields = [fault.field for fault in faults_of(data)[1]]
    assert fields == ["custom_id", "method", "url", "body.stream"]


def test_routes_are_those_with_a_json_body() -> None:
    assert {"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/tokenize"} <= {*ROUTES}
    assert {"/v1/responses", "/v1/messages", "/v1/score", "/v1/rerank", "/classify"} <= {*ROUTES}
    assert {"/v1/audio/transcriptions", "/health", "/v1/realtime", "/abort_requests"}.isdisjoint(
        ROUTES
    )
    assert not any("{" in route for route in ROUTES)


def test_body_is_passed_on_as_it_stands() -> None:
    found = parse_request(b'{"custom_id":"a","method":"POST","url":"/x","body": {"a":  1.50} }')
    assert bytes(found.body) == b'{"a":  1.50}'
    assert (found.custom_id, found.url) == ("a", "/x")
    assert parse_request(request("b")).custom_id == "b"

"""Result lines in OpenAI's shape."""

from __future__ import annotations

import json

import pytest

from server.batch.results import (
    ID_BYTES,
    Answer,
    Failure,
    line_number_of,
    render,
    result_id,
)

DIGEST = "0123456789abcdef0123456789abcdef"
ID = result_id(DIGEST, 7)


def test_success() -> None:
    body = b'{"object": "x",\n "usage": {"prompt_tokens": 3, "completion_tokens": 4}}\n'
    result = render(ID, "é\n", Answer(200, "req", body))
    assert json.loads(result.data) == {
        "id": "batch_req_0123456789ab_7",
        "custom_id": "é\n",
        "response": {"status_code": 200, "request_id": "req", "body": json.loads(body)},
        "error": None,
    }
    assert result.data.count(b"\n") == 1
    assert result.data.endswith(b"\n")
    assert (result.failed, result.prompt_tokens, result.output_tokens) == (False, 3, 4)


def test_refusal_keeps_its_body_and_goes_to_the_errors() -> None:
    body = b'{"error": {"message": "no", "code": 400}}'
    result = render(ID, "a", Answer(400, "req", body))
    line = json.loads(result.data)
    assert result.failed
    assert line["response"] == {
        "status_code": 400,
        "request_id": "req",
        "body": {"error": {"message": "no", "code": 400}},
    }
    assert line["error"] is None


def test_refusal_without_json_gets_a_body() -> None:
    result = render(ID, "a", Answer(502, "", b"<h1>Bad\nGateway</h1>"))
    body = json.loads(result.data)["response"]["body"]
    assert body["error"]["message"] == "<h1>Bad\nGateway</h1>"
    assert body["error"]["code"] == 502
    assert result.failed


@pytest.mark.parametrize("body", [b"", b"text", b'{"a": NaN}', b'{"a": "\xff"}', b"[" * 50_000])
def test_success_that_is_no_json_is_a_failure(body: bytes) -> None:
    result = render(ID, "a", Answer(200, "req", body))
    line = json.loads(result.data)
    assert (result.failed, line["response"]) == (True, None)
    assert line["error"]["code"] == "invalid_response"


def test_line_without_an_answer() -> None:
    line = json.loads(render(ID, "a", Failure("timeout", "No answer.")).data)
    assert line["response"] is None
    assert line["error"] == {"code": "timeout", "message": "No answer."}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 2, "output_tokens": 5}, (2, 5)),
        ({"prompt_tokens": 2}, (2, 0)),
        ({"prompt_tokens": "2"}, (0, 0)),
        (None, (0, 0)),
        ([], (0, 0)),
    ],
)
def test_usage_of_either_family(usage: object, expected: tuple[int, int]) -> None:
    result = render(ID, "a", Answer(200, "", json.dumps({"usage": usage}).encode()))
    assert (result.prompt_tokens, result.output_tokens) == expected


def test_number_is_read_from_the_start_of_a_line() -> None:
    line = render(result_id(DIGEST, 10**17), "a" * 100, Failure("x", "y")).data
    assert line_number_of(line[:ID_BYTES], DIGEST) == 10**17
    assert line_number_of(line, DIGEST) == 10**17
    assert line_number_of(line, "f" * 32) is None
    assert line_number_of(b'{"id":"batch_req_0123456789ab_"', DIGEST) is None
    assert line_number_of(b"", DIGEST) is None

"""Chat completions of a real server, through the official client."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import openai
import pytest

CHAT_MODEL = "smollm2-135m-instruct"
EMBED_MODEL = "minilm-l6"

pytestmark = pytest.mark.engine

# Its first token is no near tie that another CPU decides otherwise: whatever the words around it,
# the answer has a 4. (The capital of France, asked without more, is answered in French on some.)
QUESTION: list[Any] = [{"role": "user", "content": "What is 2 + 2?"}]
PLAIN: dict[str, Any] = {"model": CHAT_MODEL, "messages": QUESTION, "temperature": 0.0}


def tool(name: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """A function whose arguments are all needed; not marked `strict`, as most clients send it."""
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


# Every property is bounded, so that any answer within the grammar ends.
CALLS = {
    "How warm is it in Paris?": tool(
        "get_weather",
        city={"type": "string", "maxLength": 20},
        unit={"type": "string", "enum": ["celsius", "fahrenheit"]},
    ),
    "Book a table for four in Zürich at half past seven.": tool(
        "book_table",
        place={"type": "string", "maxLength": 24},
        guests={"type": "integer", "minimum": 1, "maximum": 12},
        inside={"type": "boolean"},
    ),
    "Draw a red triangle.": tool(
        "draw",
        points={
            "type": "array",
            "minItems": 2,
            "maxItems": 3,
            "items": {
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "items": {"type": "integer", "minimum": -9, "maximum": 9},
            },
        },
        style={
            "type": "object",
            "properties": {"colour": {"enum": ["red", "blue", None]}},
            "required": ["colour"],
            "additionalProperties": False,
        },
    ),
}


@pytest.fixture
def client(omni_server: Any) -> openai.OpenAI:
    return openai.OpenAI(
        base_url=f"{omni_server.url}/v1", api_key="none", max_retries=0, timeout=60
    )


class TestPlain:
    def test_answer_is_text_with_usage(self, client: openai.OpenAI) -> None:
        reply = client.chat.completions.create(**PLAIN, max_tokens=16)
        choice = reply.choices[0]
        assert choice.message.content is not None
        assert "4" in choice.message.content
        assert choice.finish_reason in {"stop", "length"}
        assert reply.model == CHAT_MODEL
        assert reply.usage is not None
        assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens

    def test_n_gives_that_many_choices(self, client: openai.OpenAI) -> None:
        reply = client.chat.completions.create(
            model=CHAT_MODEL, messages=QUESTION, n=2, max_tokens=8, temperature=0.9, seed=1
        )
        assert [choice.index for choice in reply.choices] == [0, 1]

    def test_logprobs_cover_every_token(self, client: openai.OpenAI) -> None:
        reply = client.chat.completions.create(**PLAIN, max_tokens=4, logprobs=True, top_logprobs=2)
        logprobs = reply.choices[0].logprobs
        assert reply.usage is not None
        assert logprobs is not None
        assert logprobs.content is not None
        assert len(logprobs.content) == reply.usage.completion_tokens
        assert all(len(token.top_logprobs) == 2 for token in logprobs.content)

    def test_json_schema_output_is_valid(self, client: openai.OpenAI) -> None:
        schema: Any = {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 20},
                "inhabitants": {"type": "integer", "minimum": 0, "maximum": 99},
            },
            "required": ["city", "inhabitants"],
            "additionalProperties": False,
        }
        reply = client.chat.completions.create(
            **{**PLAIN, "messages": [{"role": "user", "content": "Tell me about a city."}]},
            max_tokens=80,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "city", "schema": schema, "strict": True},
            },
        )
        found = json.loads(reply.choices[0].message.content or "")
        assert set(found) == {"city", "inhabitants"}
        assert isinstance(found["city"], str)
        assert isinstance(found["inhabitants"], int)


class TestStream:
    def test_stream_joins_to_the_plain_answer(self, client: openai.OpenAI) -> None:
        plain = client.chat.completions.create(**PLAIN, max_tokens=16)
        chunks = list(client.chat.completions.create(**PLAIN, max_tokens=16, stream=True))
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        reasons = [c.choices[0].finish_reason for c in chunks if c.choices]
        assert text == plain.choices[0].message.content
        assert [reason for reason in reasons if reason] == [plain.choices[0].finish_reason]

    def test_usage_is_one_frame_at_the_end(self, client: openai.OpenAI) -> None:
        chunks = list(
            client.chat.completions.create(
                **PLAIN, max_tokens=8, stream=True, stream_options={"include_usage": True}
            )
        )
        usages = [chunk.usage for chunk in chunks if chunk.usage]
        assert len(usages) == 1
        assert chunks[-1].usage is usages[0]
        assert 0 < usages[0].completion_tokens <= 8

    def test_n_finishes_each_choice_once(self, client: openai.OpenAI) -> None:
        stream = client.chat.completions.create(
            model=CHAT_MODEL, messages=QUESTION, n=2, max_tokens=8, temperature=0.9, stream=True
        )
        ends = [c.choices[0].index for c in stream if c.choices and c.choices[0].finish_reason]
        assert sorted(ends) == [0, 1]

    @pytest.mark.parametrize("place", [slice(5, 6), slice(6, 10), slice(12, 19)])
    def test_stop_string_cuts_as_in_the_plain_answer(
        self, client: openai.OpenAI, place: slice
    ) -> None:
        whole = client.chat.completions.create(**PLAIN, max_tokens=24).choices[0].message.content
        assert whole is not None
        stop = whole[place]
        plain = client.chat.completions.create(**PLAIN, max_tokens=24, stop=[stop])
        stream = client.chat.completions.create(**PLAIN, max_tokens=24, stop=[stop], stream=True)
        text = "".join(c.choices[0].delta.content or "" for c in stream if c.choices)
        assert text == plain.choices[0].message.content == whole[: whole.index(stop)]
        assert plain.choices[0].finish_reason == "stop"


def tool_call(prompt: str, choice: object) -> dict[str, Any]:
    return {
        "model": CHAT_MODEL,
        "messages": [{"role": "user", "content": prompt}],
        "tools": [CALLS[prompt]],
        "tool_choice": choice,
        "temperature": 0.0,
        "n": 1,
        "max_tokens": 160,
    }


def assert_one_call_streamed_as_plain(client: openai.OpenAI, call: dict[str, Any]) -> None:
    function = call["tools"][0]["function"]
    plain = client.chat.completions.create(**call).choices[0]
    assert plain.message.tool_calls is not None
    (called,) = plain.message.tool_calls
    assert called.type == "function"
    assert called.function.name == function["name"]
    arguments = json.loads(called.function.arguments)
    jsonschema.validate(arguments, function["parameters"])
    assert called.function.arguments == json.dumps(arguments, ensure_ascii=False)

    names, parts, reasons = [], [], []
    for chunk in client.chat.completions.create(**call, stream=True):
        for choice in chunk.choices:
            reasons += [choice.finish_reason] if choice.finish_reason else []
            for piece in choice.delta.tool_calls or []:
                assert piece.function is not None
                names += [piece.function.name] if piece.function.name else []
                parts.append(piece.function.arguments or "")
    assert names == [function["name"]]
    assert "".join(parts) == called.function.arguments
    assert len([part for part in parts if part]) > 1  # a stream, not one piece at its end
    assert reasons == [plain.finish_reason]


class TestToolCall:
    @pytest.mark.parametrize("prompt", CALLS)
    def test_named_function_streamed_equals_plain_and_its_schema(
        self, client: openai.OpenAI, prompt: str
    ) -> None:
        function = {"name": CALLS[prompt]["function"]["name"]}
        call = tool_call(prompt, {"type": "function", "function": function})
        assert_one_call_streamed_as_plain(client, call)

    def test_required_call_streamed_equals_plain_and_its_schema(
        self, client: openai.OpenAI
    ) -> None:
        call = tool_call("How warm is it in Paris?", "required")
        assert_one_call_streamed_as_plain(client, call)


class TestRefused:
    def test_overlong_prompt_streamed_is_a_true_400(self, client: openai.OpenAI) -> None:
        messages: list[Any] = [{"role": "user", "content": "word " * 20_000}]
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model=CHAT_MODEL, messages=messages, stream=True)
        assert "maximum context length" in str(caught.value)

    def test_unknown_model_is_not_found_and_names_the_served(self, client: openai.OpenAI) -> None:
        with pytest.raises(openai.NotFoundError) as caught:
            client.chat.completions.create(model="nobody", messages=QUESTION)
        assert caught.value.param == "model"
        assert CHAT_MODEL in str(caught.value)

    def test_embedding_model_cannot_chat_and_the_chat_model_is_named(
        self, client: openai.OpenAI
    ) -> None:
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model=EMBED_MODEL, messages=QUESTION)
        assert CHAT_MODEL in str(caught.value)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("temperature", "warm"),
            ("structured_outputs", 5),
            ("tools", 5),
            ("messages", 5),
            ("max_tokens", "many"),
            ("stream", {}),
            ("response_format", 5),
            ("n", -1),
        ],
    )
    def test_field_of_a_wrong_type_is_a_400_that_names_it(
        self, client: openai.OpenAI, field: str, value: object
    ) -> None:
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(
                model=CHAT_MODEL, messages=QUESTION, extra_body={field: value}
            )
        assert field in str(caught.value)

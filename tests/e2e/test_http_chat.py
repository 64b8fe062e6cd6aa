"""Chat completions of a real server, through the official client."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

CHAT_MODEL = "smollm2-135m-instruct"
EMBED_MODEL = "minilm-l6"

pytestmark = pytest.mark.engine

QUESTION: list[Any] = [{"role": "user", "content": "What is the capital of France?"}]
PLAIN: dict[str, Any] = {"model": CHAT_MODEL, "messages": QUESTION, "temperature": 0.0}
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 20},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
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
        assert choice.message.content
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
            **PLAIN,
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


class TestToolCall:
    def test_named_function_gives_arguments_of_its_schema(self, client: openai.OpenAI) -> None:
        call: dict[str, Any] = {
            "model": CHAT_MODEL,
            "messages": [{"role": "user", "content": "How warm is it in Paris?"}],
            "tools": [TOOL],
            "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
            "temperature": 0.0,
            "max_tokens": 80,
        }
        plain = client.chat.completions.create(**call).choices[0].message.tool_calls
        assert plain is not None
        assert plain[0].type == "function"
        arguments = json.loads(plain[0].function.arguments)
        assert set(arguments) == {"city", "unit"}
        assert arguments["unit"] in {"celsius", "fahrenheit"}

        names, parts = [], []
        for chunk in client.chat.completions.create(**call, stream=True):
            for piece in (chunk.choices[0].delta.tool_calls or []) if chunk.choices else []:
                assert piece.function is not None
                names += [piece.function.name] if piece.function.name else []
                parts.append(piece.function.arguments or "")
        assert names == ["get_weather"]
        # Upstream writes the plain arguments anew, and streams them as the model spaces them.
        assert json.loads("".join(parts)) == arguments


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

"""Completions, models and token routes of a real server, through the official client."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest

CHAT_MODEL = "smollm2-135m-instruct"
EMBED_MODEL = "minilm-l6"

pytestmark = pytest.mark.engine

PLAIN: dict[str, Any] = {"model": CHAT_MODEL, "prompt": "One, two, three,", "temperature": 0.0}


@pytest.fixture
def client(omni_server: Any) -> openai.OpenAI:
    return openai.OpenAI(
        base_url=f"{omni_server.url}/v1", api_key="none", max_retries=0, timeout=60
    )


class TestCompletions:
    def test_stream_joins_to_the_plain_answer(self, client: openai.OpenAI) -> None:
        plain = client.completions.create(**PLAIN, max_tokens=12)
        stream = client.completions.create(**PLAIN, max_tokens=12, stream=True)
        assert "".join(chunk.choices[0].text for chunk in stream) == plain.choices[0].text
        assert plain.choices[0].text

    def test_n_and_several_prompts_give_every_choice(self, client: openai.OpenAI) -> None:
        reply = client.completions.create(
            model=CHAT_MODEL, prompt=["A", "B"], n=2, max_tokens=4, temperature=0.9
        )
        assert [choice.index for choice in reply.choices] == [0, 1, 2, 3]

    def test_logprobs_and_echo_cover_prompt_and_answer(self, client: openai.OpenAI) -> None:
        reply = client.completions.create(**PLAIN, max_tokens=3, logprobs=1, echo=True)
        logprobs = reply.choices[0].logprobs
        assert reply.usage is not None
        assert logprobs is not None
        assert logprobs.tokens is not None
        assert len(logprobs.tokens) == reply.usage.total_tokens

    def test_stop_string_streamed_equals_plain(self, client: openai.OpenAI) -> None:
        plain = client.completions.create(**PLAIN, max_tokens=24, stop=["five"])
        stream = client.completions.create(**PLAIN, max_tokens=24, stop=["five"], stream=True)
        assert "".join(chunk.choices[0].text for chunk in stream) == plain.choices[0].text
        assert "five" not in plain.choices[0].text

    def test_usage_is_the_last_frame(self, client: openai.OpenAI) -> None:
        chunks = list(
            client.completions.create(
                **PLAIN, max_tokens=4, stream=True, stream_options={"include_usage": True}
            )
        )
        assert [bool(chunk.usage) for chunk in chunks].count(True) == 1
        assert chunks[-1].usage is not None

    def test_overlong_prompt_streamed_is_a_true_400(self, client: openai.OpenAI) -> None:
        with pytest.raises(openai.BadRequestError):
            client.completions.create(model=CHAT_MODEL, prompt="word " * 20_000, stream=True)

    def test_unknown_model_is_not_found(self, client: openai.OpenAI) -> None:
        with pytest.raises(openai.NotFoundError):
            client.completions.create(model="nobody", prompt="A")


class TestModels:
    def test_list_has_every_stage(self, client: openai.OpenAI) -> None:
        assert {CHAT_MODEL, EMBED_MODEL} <= {m.id for m in client.models.list()}

    def test_retrieve_gives_one(self, client: openai.OpenAI) -> None:
        assert client.models.retrieve(CHAT_MODEL).id == CHAT_MODEL

    def test_retrieve_unknown_with_slashes_is_not_found(self, client: openai.OpenAI) -> None:
        with pytest.raises(openai.NotFoundError) as caught:
            client.get("/models/some/body", cast_to=httpx.Response)
        assert "some/body" in str(caught.value)


class TestTokens:
    def test_round_trip_gives_the_text_back(self, omni_server: Any) -> None:
        with httpx.Client(base_url=omni_server.url, timeout=30) as http:
            for model in (CHAT_MODEL, EMBED_MODEL):
                body = {"model": model, "prompt": "hello world", "add_special_tokens": False}
                tokens = http.post("/tokenize", json=body).raise_for_status().json()
                assert tokens["count"] == len(tokens["tokens"]) > 0
                back = {"model": model, "tokens": tokens["tokens"]}
                text = http.post("/detokenize", json=back).raise_for_status().json()
                assert text["prompt"] == "hello world"

    def test_unknown_model_is_not_found(self, omni_server: Any) -> None:
        body = {"model": "nobody", "prompt": "hello"}
        reply = httpx.post(f"{omni_server.url}/tokenize", json=body)
        assert reply.status_code == 404
        assert reply.json()["error"]["param"] == "model"

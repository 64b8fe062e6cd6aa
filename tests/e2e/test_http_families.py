"""The other API families of a real server, which upstream's own application answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

CHAT_MODEL = "smollm2-135m-instruct"
EMBED_MODEL = "minilm-l6"
EMBED_SIZE = 384

pytestmark = pytest.mark.engine


@pytest.fixture
def client(omni_server: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{omni_server.url}/v1", api_key="-", max_retries=0, timeout=60)


@pytest.fixture
def http(omni_server: Any) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=omni_server.url, timeout=60) as made:
        yield made


class TestEmbeddings:
    def test_texts_become_vectors_in_order(self, client: openai.OpenAI) -> None:
        texts = ["a cat", "a kitten", "tax law"]
        reply = client.embeddings.create(model=EMBED_MODEL, input=texts)
        cat, kitten, law = (item.embedding for item in reply.data)
        assert [item.index for item in reply.data] == [0, 1, 2]
        assert len(cat) == EMBED_SIZE
        assert sum(a * b for a, b in zip(cat, kitten, strict=True)) > sum(
            a * b for a, b in zip(cat, law, strict=True)
        )

    def test_chat_model_cannot_embed_and_the_embedding_model_is_named(
        self, client: openai.OpenAI
    ) -> None:
        with pytest.raises(openai.BadRequestError) as caught:
            client.embeddings.create(model=CHAT_MODEL, input="a")
        assert "minilm" in str(caught.value) or "embed" in str(caught.value)

    def test_unknown_model_is_not_found(self, client: openai.OpenAI) -> None:
        with pytest.raises(openai.NotFoundError):
            client.embeddings.create(model="nobody", input="a")

    def test_score_ranks_the_near_text_first(self, http: httpx.Client) -> None:
        body = {"model": EMBED_MODEL, "text_1": "a cat", "text_2": ["a kitten", "tax law"]}
        found = http.post("/score", json=body).raise_for_status().json()["data"]
        assert found[0]["score"] > found[1]["score"]

    def test_invocations_choose_the_stage_of_the_model(self, http: httpx.Client) -> None:
        embed = http.post("/invocations", json={"model": EMBED_MODEL, "input": "a"})
        assert len(embed.raise_for_status().json()["data"][0]["embedding"]) == EMBED_SIZE
        body = {"model": CHAT_MODEL, "prompt": "a", "max_tokens": 2}
        assert http.post("/invocations", json=body).raise_for_status().json()["choices"]


class TestResponses:
    def test_answer_is_text(self, client: openai.OpenAI) -> None:
        reply = client.responses.create(
            model=CHAT_MODEL, input="Say hello.", max_output_tokens=8, temperature=0.0
        )
        assert reply.output_text

    def test_stream_joins_to_the_plain_answer(self, client: openai.OpenAI) -> None:
        asked: dict[str, Any] = {
            "model": CHAT_MODEL,
            "input": "Say hello.",
            "max_output_tokens": 8,
            "temperature": 0.0,
        }
        plain = client.responses.create(**asked)
        events = list(client.responses.create(**asked, stream=True))
        deltas = [e.delta for e in events if e.type == "response.output_text.delta"]
        assert "".join(deltas) == plain.output_text

    def test_unknown_model_is_not_found(self, client: openai.OpenAI) -> None:
        with pytest.raises(openai.NotFoundError):
            client.responses.create(model="nobody", input="a")


class TestMessages:
    ASKED: dict[str, Any] = {
        "model": CHAT_MODEL,
        "max_tokens": 8,
        "messages": [{"role": "user", "content": "Say hello."}],
    }

    def test_answer_is_text_with_usage(self, http: httpx.Client) -> None:
        reply = http.post("/v1/messages", json=self.ASKED).raise_for_status().json()
        assert reply["content"][0]["text"]
        assert reply["usage"]["output_tokens"] <= 8

    def test_stream_ends_with_message_stop(self, http: httpx.Client) -> None:
        reply = http.post("/v1/messages", json={**self.ASKED, "stream": True})
        events = [line for line in reply.text.splitlines() if line.startswith("event: ")]
        assert events[0] == "event: message_start"
        assert events.count("event: message_stop") == 1
        assert events[-1] == "event: message_stop"

    def test_unknown_model_has_anthropics_shape(self, http: httpx.Client) -> None:
        reply = http.post("/v1/messages", json={**self.ASKED, "model": "nobody"})
        assert reply.status_code == 404
        assert reply.json()["type"] == "error"
        assert reply.json()["error"]["type"] == "not_found_error"

    def test_tokens_are_counted(self, http: httpx.Client) -> None:
        body = {key: self.ASKED[key] for key in ("model", "messages")}
        reply = http.post("/v1/messages/count_tokens", json=body).raise_for_status().json()
        assert reply["input_tokens"] > 3


class TestSageMaker:
    def test_ping_is_200(self, http: httpx.Client) -> None:
        assert http.get("/ping").status_code == 200
        assert http.post("/ping").status_code == 200

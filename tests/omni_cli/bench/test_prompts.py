"""What the requests ask: by seed, or from a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine_bridge.errors import UsageError
from omni_cli.bench.prompts import Endpoint, Prompt, Span, random_prompts, read_dataset


class TestRandom:
    def test_the_seed_and_the_index_decide(self) -> None:
        first, again = (random_prompts(Span(5, 9), Span(2, 4), seed=7) for _ in range(2))
        other = random_prompts(Span(5, 9), Span(2, 4), seed=8)
        # In any order
        assert [first(i) for i in (3, 1, 2)] == [again(i) for i in (3, 1, 2)]
        assert [first(i) for i in range(5)] != [other(i) for i in range(5)]
        assert first(0) != first(1)

    def test_lengths_stay_in_their_spans(self) -> None:
        prompts = [random_prompts(Span(5, 7), Span(2, 3), seed=0)(index) for index in range(200)]
        assert {len(str(prompt.text).split()) for prompt in prompts} == {5, 6, 7}
        assert {prompt.max_tokens for prompt in prompts} == {2, 3}

    @pytest.mark.parametrize("text", ["x", "0", "5:2", "", "1:", "-1"])
    def test_a_span_that_is_none_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError, match="--input-len"):
            Span.parse("--input-len", text)


class TestBody:
    def test_each_endpoint_has_its_form(self) -> None:
        prompt = Prompt("hello", 5)
        assert prompt.body(Endpoint.COMPLETIONS) == {"prompt": "hello", "max_tokens": 5}
        messages = [{"role": "user", "content": "hello"}]
        assert prompt.body(Endpoint.CHAT) == {"messages": messages, "max_tokens": 5}
        assert prompt.body(Endpoint.EMBEDDINGS) == {"input": "hello"}
        assert [e.path for e in Endpoint] == ["/chat/completions", "/completions", "/embeddings"]


class TestDataset:
    def read(
        self, *lines: object, endpoint: Endpoint = Endpoint.CHAT, limit: int = 9
    ) -> list[Prompt]:
        text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
        Path("set.jsonl").write_text(text)
        return read_dataset(Path("set.jsonl"), endpoint, 16, limit)

    def test_every_form_of_a_line(self) -> None:
        messages = [{"role": "user", "content": "c"}]
        lines = ['"a"', "", {"prompt": "b", "max_tokens": 2}, {"messages": messages}]
        batch = {"custom_id": "1", "body": {"messages": messages, "max_completion_tokens": 3}}
        assert self.read(*lines, batch) == [
            Prompt("a", 16),
            Prompt("b", 2),
            Prompt(messages, 16),
            Prompt(messages, 3),
        ]

    def test_no_more_is_read_than_is_sent(self) -> None:
        assert len(self.read('"a"', '"b"', "not json", limit=2)) == 2

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("{", "set.jsonl:2: is no JSON"),
            ("{}", "set.jsonl:2: holds no prompt for completions"),
            ('{"prompt": ""}', "set.jsonl:2: holds no prompt for completions"),
            ('{"messages": [{}]}', "set.jsonl:2: holds no prompt for completions"),
            ('{"prompt": "a", "max_tokens": "x"}', "set.jsonl:2: max_tokens x is no number"),
        ],
    )
    def test_a_line_that_is_none_is_named(self, line: str, reason: str) -> None:
        with pytest.raises(UsageError, match=reason):
            self.read('"a"', line, endpoint=Endpoint.COMPLETIONS)

    def test_a_file_without_lines_is_refused(self) -> None:
        with pytest.raises(UsageError, match="has no line"):
            self.read("")
        with pytest.raises(UsageError, match="cannot be read"):
            read_dataset(Path("none"), Endpoint.CHAT, 1, 1)

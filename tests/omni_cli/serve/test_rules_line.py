"""The view that rules have of a command line, and the sentences they make of it."""

from __future__ import annotations

from omni_cli.serve.rules import Example, Line, Rule, problems
from omni_cli.serve.rules.line import MAX_SHOWN_CHARS, shown
from tests.omni_cli.serve.wishes import facts, wanted

PIPELINE = """\
stages:
  - name: chat
    model: smollm2-135m-instruct
    threads: 2
    args: {max-num-seqs: 8, speculative-config: {method: ngram, num-speculative-tokens: 3}}
"""


def line(pipeline: str | None = None, **given: object) -> Line:
    settings, stages = wanted(pipeline, **given)
    return Line(settings=settings, stages=stages, facts=facts(stages), stage=stages[0])


def rule(**changes: object) -> Rule:
    known: dict[str, object] = {
        "id": "a",
        "flags": ("max_num_seqs", "max_num_batched_tokens"),
        "when": lambda line: True,
        "reason": "is wrong",
        "example": Example(words=""),
        "allowed": Example(words=""),
    }
    return Rule(**known | changes)  # type: ignore[arg-type]


class TestValue:
    def test_flag_wins_over_the_pipeline(self) -> None:
        seen = line(PIPELINE, max_num_seqs=4)
        assert (seen.number("max_num_seqs"), seen.origin("max_num_seqs")) == (4, "flag")

    def test_pipeline_wins_over_the_model(self) -> None:
        seen = line(PIPELINE.replace("max-num-seqs: 8", "max-model-len: 100"))
        assert (seen.number("max_model_len"), seen.origin("max_model_len")) == (100, "pipeline")

    def test_model_brings_arguments_that_nobody_gave(self) -> None:
        seen = line()
        assert seen.number("max_model_len") == 8192
        assert not seen.given("max_model_len")

    def test_default_is_the_last_resort(self) -> None:
        seen = line()
        assert seen.value("port") == 8000
        assert not seen.given("port")

    def test_fields_of_the_stage_are_values(self) -> None:
        assert line(PIPELINE).number("threads") == 2
        assert line(distributed_executor_backend="mp").value("distributed_executor_backend") == "mp"

    def test_key_of_an_object_is_found_however_it_is_written(self) -> None:
        seen = line(PIPELINE)
        assert seen.number("speculative_config.num_speculative_tokens") == 3
        assert seen.value("speculative_config.model") is None
        assert seen.value("speculative_config.method.deeper") is None

    def test_number_is_never_a_switch(self) -> None:
        assert line(enforce_eager=True).number("enforce_eager") is None

    def test_switch_that_nobody_touched_is_not_off(self) -> None:
        assert not line().off("enable_prefix_caching")
        assert line(enable_prefix_caching=False).off("enable_prefix_caching")


class TestSentence:
    def test_blames_the_first_flag_that_was_given(self) -> None:
        (found,) = problems(rule(), line(max_num_batched_tokens=64))
        assert str(found) == "--max-num-batched-tokens 64: is wrong"

    def test_blames_the_first_flag_if_none_was_given(self) -> None:
        (found,) = problems(rule(), line())
        assert (found.subject, found.value, found.origin) == ("--max-num-seqs", None, "default")

    def test_names_flags_and_values_as_they_were_given(self) -> None:
        reason = "is not {speculative_config.method} {speculative_config.method.value}, {why}"
        made = rule(reason=reason, way_out="see {threads}", when=lambda line: {"why": "so"})
        (found,) = problems(made, line(PIPELINE))
        assert found.reason == (
            "is not p.yaml:5: stage chat: args.speculative-config.method ngram, so"
        )
        assert found.way_out == "see p.yaml:2: stage chat: threads"
        assert found.origin == "pipeline"

    def test_words_may_name_something_else(self) -> None:
        words = {"subject": "model x", "value": None, "origin": "environment"}
        (found,) = problems(rule(when=lambda line: words), line())
        assert (found.subject, found.value, found.origin) == ("model x", None, "environment")

    def test_one_row_may_find_several_problems(self) -> None:
        words = [{"blame": "threads"}, {"blame": "max_num_seqs"}]
        found = problems(rule(when=lambda line: words), line(threads=1))
        assert [problem.subject for problem in found] == ["--threads", "--max-num-seqs"]

    def test_nothing_is_said_of_a_good_line(self) -> None:
        assert list(problems(rule(when=lambda line: False), line())) == []
        assert list(problems(rule(when=lambda line: []), line())) == []


class TestShown:
    def test_switch_of_the_line_has_no_value(self) -> None:
        assert line(enforce_eager=True).shown("enforce_eager") is None

    def test_switch_of_a_file_has_one(self) -> None:
        seen = line(PIPELINE.replace("max-num-seqs: 8", "enforce-eager: true"))
        assert seen.shown("enforce_eager") == "true"

    def test_lists_and_objects_are_short_text(self) -> None:
        assert shown(["a", "b"]) == "a, b"
        assert shown({"a": 1}) == '{"a": 1}'
        assert len(str(shown(["x" * 1000]))) == MAX_SHOWN_CHARS
        assert shown(1.5) == 1.5

"""Help of serve: short, all, by group, by word."""

from __future__ import annotations

import pytest

from engine_bridge.errors import UsageError
from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.help import MAX_SUMMARY_CHARS, find_help, left_side, short_page
from omni_cli.help import COMMANDS, Page, render


def shown(word: str = "") -> str:
    return render(find_help(catalogue(), word), width=100)


def lefts(page: Page, title: str) -> list[str]:
    return [row.left for group in page.groups if group.title == title for row in group.rows]


class TestShort:
    def test_shows_what_matters_and_how_to_find_the_rest(self) -> None:
        page = short_page(catalogue())
        titles = [group.title for group in page.groups]
        assert titles == [
            "Arguments",
            "Listening",
            "Security",
            "Processes",
            "Model",
            "Engine",
            "Settings",
            "More help",
            "Groups of options",
        ]
        assert page.paragraphs[0] == COMMANDS["serve"]
        rows = sum(len(group.rows) for group in page.groups[:-2])
        assert 12 <= rows <= 20
        assert rows == sum(flag.common for flag in catalogue())

    def test_is_ordered_by_use(self) -> None:
        page = short_page(catalogue())
        assert lefts(page, "Listening") == ["--host HOST", "--port N"]
        assert lefts(page, "Engine")[0] == "--max-model-len TOKENS"

    def test_names_every_group(self) -> None:
        page = short_page(catalogue())
        assert set(lefts(page, "Groups of options")) == set(catalogue().groups) - {"Arguments"}

    def test_is_what_no_word_finds(self) -> None:
        assert find_help(catalogue(), "") == short_page(catalogue())


class TestAll:
    def test_has_every_flag_once(self) -> None:
        page = find_help(catalogue(), "all")
        rows = [row.left for group in page.groups for row in group.rows]
        assert sorted(rows) == sorted(left_side(flag) for flag in catalogue())

    def test_says_what_is_refused_and_why(self) -> None:
        text = " ".join(shown("all").split())
        assert "Refused: gRPC is not built yet; leave it out and use HTTP." in text
        assert "Changes nothing: omni writes no access log." in text

    def test_keeps_texts_short(self) -> None:
        page = find_help(catalogue(), "ALL")
        extra = 200  # the reason of a refusal and the default
        assert max(len(row.text) for group in page.groups for row in group.rows) < (
            MAX_SUMMARY_CHARS + extra
        )


class TestGroup:
    @pytest.mark.parametrize("word", ["LoRAConfig", "loraconfig", "--LORACONFIG"])
    def test_is_found_in_any_case(self, word: str) -> None:
        page = find_help(catalogue(), word)
        assert [group.title for group in page.groups] == ["LoRAConfig"]
        assert "--max-loras N" in lefts(page, "LoRAConfig")

    def test_of_vllm_has_what_omni_files_elsewhere(self) -> None:
        rows = lefts(find_help(catalogue(), "frontend"), "Frontend")
        assert {"--port N", "--api-key KEY...", "--chat-template FILE"} <= set(rows)

    def test_of_omni_is_found_as_well(self) -> None:
        assert "--allowed-hosts NAME..." in lefts(find_help(catalogue(), "security"), "Security")


class TestWord:
    def test_finds_names(self) -> None:
        page = find_help(catalogue(), "max_model_len")
        assert lefts(page, "Named max_model_len") == ["--max-model-len TOKENS"]

    def test_of_one_flag_tells_all_about_it(self) -> None:
        text = " ".join(shown("compilation-config").split())
        assert "-cc, --compilation-config JSON" in text
        assert "pass_config.fuse_norm_quant" in text
        assert "[env: OMNI_COMPILATION_CONFIG]" in text

    def test_puts_the_flag_of_that_name_first(self) -> None:
        assert lefts(find_help(catalogue(), "port"), "Named port")[0] == "--port N"

    @pytest.mark.parametrize("word", ["-tp", "--port", "--no-enforce-eager"])
    def test_with_its_dashes_finds_that_flag_alone(self, word: str) -> None:
        (group,) = find_help(catalogue(), word).groups
        assert len(group.rows) == 1
        assert word in group.rows[0].left

    def test_finds_texts(self) -> None:
        page = find_help(catalogue(), "structural-tag")
        assert page.groups
        assert [group.title for group in page.groups] == ["Speaking of structural-tag"]

    def test_finds_a_choice(self) -> None:
        assert "--moe-backend" in shown("flashinfer_trtllm")

    def test_that_finds_nothing_names_what_is_near(self) -> None:
        with pytest.raises(UsageError) as caught:
            find_help(catalogue(), "prot")
        assert str(caught.value) == (
            "--help=prot: is in no option's name or text; did you mean --port?"
        )

    def test_that_is_near_nothing_points_to_all(self) -> None:
        with pytest.raises(UsageError) as caught:
            find_help(catalogue(), "zzzzz")
        assert str(caught.value).endswith("--help=all shows every option")


@pytest.mark.parametrize(
    ("dest", "left"),
    [
        ("tensor_parallel_size", "-tp, --tensor-parallel-size N"),
        ("enforce_eager", "--enforce-eager / --no-enforce-eager"),
        ("served_model_name", "--served-model-name NAME..."),
        ("hf_token", "--hf-token [TOKEN]"),
        ("start_method", "--start-method auto|fork|spawn"),
        ("moe_backend", "--moe-backend NAME"),
        ("help", "-h, --help[=WORD]"),
        ("target", "[TARGET]"),
    ],
)
def test_a_flag_is_shown_with_its_value(dest: str, left: str) -> None:
    assert left_side(catalogue().by_dest[dest]) == left


@pytest.mark.parametrize(
    ("dest", "name"),
    [("ready_timeout_s", "OMNI_READY_TIMEOUT"), ("max_model_len", "OMNI_MAX_MODEL_LEN")],
)
def test_a_variable_is_named_after_the_flag(dest: str, name: str) -> None:
    assert catalogue().by_dest[dest].variable == name

"""One catalogue of vLLM's flags and omni's own: complete, consistent, searchable."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from omni_cli.flags.catalogue import Catalogue, catalogue
from omni_cli.flags.changed import CHANGED, GROUP_TEXTS
from omni_cli.flags.dispositions import ANY, DISPOSITIONS, FORMER, UNBUILT_VALUES, remark
from omni_cli.flags.flag import Flag, Kind, Many, Scope
from omni_cli.flags.own import GROUPS, OWN
from omni_cli.flags.values import read_native
from server import settings

ROOT = Path(__file__).resolve().parent.parent.parent.parent
VLLM = json.loads((ROOT / "engine_bridge" / "vllm_flags.json").read_text())


@pytest.fixture(scope="module")
def flags() -> Catalogue:
    return catalogue()


class TestContents:
    def test_every_flag_of_vllm_is_there_with_all_its_spellings(self, flags: Catalogue) -> None:
        for dest, entry in VLLM["flags"].items():
            flag = flags.by_dest[dest]
            assert set(entry["names"]) <= set(flag.names), dest
            assert tuple(entry.get("off", ())) == flag.off, dest
            assert entry["kind"] == flag.kind, dest
        assert len(flags.by_dest) == len(VLLM["flags"]) + len(OWN)

    def test_no_spelling_belongs_to_two_flags(self, flags: Catalogue) -> None:
        count = Counter(name for flag in flags for name in (*flag.names, *flag.off))
        assert [name for name, times in count.items() if times > 1] == []

    def test_every_flag_is_told_about(self, flags: Catalogue) -> None:
        for flag in flags:
            assert flag.help, flag.dest
            assert flag.group in flags.groups, flag.dest
            assert flag.kind in get_args(Kind)
            assert flag.many in get_args(Many)
            assert flag.scope in get_args(Scope)
            assert flag.own == (flag.vllm_group == "")

    def test_every_default_is_a_value_of_its_flag(self, flags: Catalogue) -> None:
        for flag in flags:
            if flag.default not in (None, [], {}) and flag.kind != "switch":
                assert read_native(flag, flag.default) == flag.default, flag.dest

    def test_some_dozen_flags_matter(self, flags: Catalogue) -> None:
        assert 12 <= sum(flag.common for flag in flags) <= 20

    def test_secrets_are_marked(self, flags: Catalogue) -> None:
        assert {flag.dest for flag in flags if flag.secret} == {"api_key", "hf_token"}

    def test_groups_are_described(self, flags: Catalogue) -> None:
        assert set(GROUP_TEXTS) == set(VLLM["groups"])
        assert all(flags.groups.values())
        assert set(GROUPS) <= set(flags.groups)

    def test_defaults_of_the_server_are_the_servers(self, flags: Catalogue) -> None:
        assert flags.by_dest["max_body_bytes"].default == settings.MAX_BODY_BYTES
        assert flags.by_dest["h11_max_incomplete_event_size"].default == settings.MAX_HEAD_BYTES
        assert flags.by_dest["h11_max_header_count"].default == settings.MAX_HEADER_COUNT


class TestDispositions:
    def test_they_speak_of_flags_that_vllm_has(self) -> None:
        assert set(DISPOSITIONS) <= set(VLLM["flags"])
        assert set(CHANGED) <= set(VLLM["flags"])
        assert set(UNBUILT_VALUES) <= set(VLLM["flags"])

    def test_none_is_both_refused_and_a_setting(self) -> None:
        assert [dest for dest in DISPOSITIONS if "scope" in CHANGED.get(dest, {})] == []

    @pytest.mark.parametrize("dest", list(DISPOSITIONS))
    def test_each_has_a_reason_without_a_full_stop(self, flags: Catalogue, dest: str) -> None:
        flag = flags.by_dest[dest]
        assert flag.scope in ("refused", "satisfied")
        assert flag.reason
        assert not f"{flag.reason}{flag.way_out}".endswith(".")

    def test_a_way_out_names_flags_that_exist(self, flags: Catalogue) -> None:
        texts = [each.way_out for each in DISPOSITIONS.values()] + list(FORMER.values())
        named = {
            word.strip(",.;:").partition(".")[0]
            for text in texts
            for word in text.split()
            if word.startswith("--")
        }
        assert named
        assert named <= set(flags.spellings)

    def test_former_spellings_are_no_flags_now(self, flags: Catalogue) -> None:
        assert not set(FORMER) & set(flags.spellings)

    def test_a_value_that_omni_fulfils_needs_no_remark(self, flags: Catalogue) -> None:
        flag = flags.by_dest["disable_uvicorn_access_log"]
        assert remark(flag, "--x", True) == ""
        assert remark(flag, "--x", False) == "--x changes nothing: omni writes no access log"

    def test_any_value_may_fulfil(self, flags: Catalogue) -> None:
        flag = flags.by_dest["disable_access_log_for_endpoints"]
        assert flag.fulfilled == ANY
        assert remark(flag, "--x", "/health") == ""

    def test_a_deprecated_flag_is_remarked_on(self, flags: Catalogue) -> None:
        flag = flags.by_dest["disable_cascade_attn"]
        assert remark(flag, "--x", True) == "--x is deprecated and goes with the next vLLM"


class TestSearch:
    @pytest.mark.parametrize(
        ("word", "dest"),
        [
            ("--port", "port"),
            ("port", "port"),
            ("-tp", "tensor_parallel_size"),
            ("--max_model_len", "max_model_len"),
            ("max-model-len", "max_model_len"),
            ("--no-enforce-eager", "enforce_eager"),
            ("ready_timeout_s", "ready_timeout_s"),
        ],
    )
    def test_a_flag_is_found(self, flags: Catalogue, word: str, dest: str) -> None:
        found = flags.find(word)
        assert found is not None
        assert found.dest == dest

    def test_an_unknown_one_is_not(self, flags: Catalogue) -> None:
        assert flags.find("--prot") is None

    @pytest.mark.parametrize(
        ("word", "best"),
        [
            ("--prot", "--port"),
            ("--hots", "--host"),
            ("--dtpye", "--dtype"),
            ("--max-len", "--max-model-len"),
            ("--max_model_length", "--max-model-len"),
            ("--gpu-memory-util", "--gpu-memory-utilization"),
            ("--gpu-utilization", "--gpu-memory-utilization"),
            ("--tensor-paralel-size", "--tensor-parallel-size"),
            ("--no-enforce-eagr", "--no-enforce-eager"),
            ("--apikey", "--api-key"),
            ("--tp", "-tp"),
            ("--threds", "--threads"),
            ("--servedmodelname", "--served-model-name"),
        ],
    )
    def test_the_nearest_comes_first(self, flags: Catalogue, word: str, best: str) -> None:
        assert flags.near(word)[0] == best

    def test_nothing_is_near_to_nonsense(self, flags: Catalogue) -> None:
        assert flags.near("--xyzzy") == []
        assert flags.advice("--xyzzy") == "`omni serve --help=all` lists every flag"

    def test_advice_knows_what_vllm_had(self, flags: Catalogue) -> None:
        assert flags.advice("--task").startswith("use --runner pooling")
        assert flags.advice("--guided_decoding_backend").startswith("use --structured-outputs")

    def test_abbreviations_are_completed(self, flags: Catalogue) -> None:
        assert flags.abbreviated("--por") == ["--port"]


def test_reading_it_imports_nothing_heavy() -> None:
    code = (
        "import sys; from omni_cli.flags.catalogue import catalogue; catalogue(); "
        "from omni_cli.flags import help, parser; "
        "sys.exit(str(sorted({'vllm', 'torch', 'pydantic', 'fastapi', 'typer', 'yaml'} "
        "& set(sys.modules))) if {'vllm', 'torch', 'pydantic', 'fastapi', 'typer', 'yaml'} "
        "& set(sys.modules) else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_flag_is_named_by_its_first_spelling() -> None:
    flag = Flag(dest="x", names=("--x", "-x"))
    assert (flag.name, flag.positional, flag.list_like) == ("--x", False, False)

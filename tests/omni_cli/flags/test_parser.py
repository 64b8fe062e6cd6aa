"""What omni's parser says; what it means is compared with vLLM's in test_parity.py."""

from __future__ import annotations

import shlex

import pytest

from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.parsed import Parsed
from omni_cli.flags.parser import parse


def read(line: str) -> Parsed:
    return parse(shlex.split(line), catalogue())


def told(line: str) -> list[str]:
    return [str(problem) for problem in read(line).problems]


def values(line: str) -> dict[str, object]:
    parsed = read(line)
    assert parsed.problems == ()
    return {dest: given.value for dest, given in parsed.given.items()}


OPEN, CLOSE = '{"a":', "}"


class TestTarget:
    @pytest.mark.parametrize(
        "line",
        [
            "m",
            "m --port 3",
            "--port 3 m",
            "--enforce-eager m",
            "--served-model-name a b -- m",
            "--model m",
            "--model=m",
            "m --model m",
            "--port=3 -- m",
        ],
    )
    def test_is_found(self, line: str) -> None:
        parsed = read(line)
        assert (parsed.target, parsed.problems) == ("m", ())

    def test_may_be_missing(self) -> None:
        assert read("--port 3").target is None

    def test_and_model_contradict_each_other(self) -> None:
        assert told("a --model b") == [
            "--model b: contradicts TARGET, which is a; give one of them"
        ]

    def test_is_one(self) -> None:
        assert told("a b c") == [
            "b: is one word too many: TARGET is a already; give one model or pipeline",
            "c: is one word too many: TARGET is a already; give one model or pipeline",
        ]

    def test_is_not_empty(self) -> None:
        assert told("''") == ["TARGET '': must not be empty"]


class TestSpelling:
    @pytest.mark.parametrize(
        ("line", "spelling"),
        [
            ("--tensor-parallel-size 2", "--tensor-parallel-size"),
            ("--tensor_parallel_size=2", "--tensor_parallel_size"),
            ("-tp 2", "-tp"),
            ("-tp=2", "-tp"),
        ],
    )
    def test_is_kept_for_messages(self, line: str, spelling: str) -> None:
        given = read(line).given["tensor_parallel_size"]
        assert (given.value, given.spelling) == (2, spelling)

    @pytest.mark.parametrize("line", ["-O3", "-O 3", "-O=3"])
    def test_of_the_level(self, line: str) -> None:
        given = read(line).given["optimization_level"]
        assert (given.value, given.spelling) == ("3", "-O")

    def test_of_a_dotted_flag(self) -> None:
        given = read("-cc.mode 3 -cc.cudagraph_mode NONE").given["compilation_config"]
        assert given.value == {"mode": 3, "cudagraph_mode": "NONE"}
        assert given.spelling == "-cc.mode"


class TestProblems:
    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            ("--prot 9000 m", "--prot: is not a flag of omni serve; did you mean --port?"),
            ("--prot=9000 m", "--prot: is not a flag of omni serve; did you mean --port?"),
            (
                "--max_modl_len 3",
                ("--max_modl_len: is not a flag of omni serve; did you mean --max-model-len?"),
            ),
            (
                "--zzz",
                "--zzz: is not a flag of omni serve; `omni serve --help=all` lists every flag",
            ),
            (
                "--task embed",
                (
                    "--task: is not a flag of omni serve; use --runner pooling, and --convert "
                    "embed or classify for a generative model"
                ),
            ),
            ("-host ::1", "-host: is not a flag of omni serve; did you mean --host?"),
            (
                "--device cpu",
                "--device: is not a flag of omni serve; the installed vLLM decides that",
            ),
            ("--dp 2", "--dp: is not a flag of omni serve; did you mean -dp?"),
            ("--por 9000 m", "--por: is an abbreviation; write --port"),
            ("--enforce", "--enforce: is an abbreviation; write --enforce-eager"),
            (
                "--max-num 3",
                (
                    "--max-num: is an abbreviation; write --max-num-active-seqs or "
                    "--max-num-batched-tokens or --max-num-queued-reqs or …"
                ),
            ),
            ("--port", "--port: needs a value; write --port=VALUE if it starts with a dash"),
            (
                "--port --host x",
                "--port: needs a value; write --port=VALUE if it starts with a dash",
            ),
            ("--port x", "--port x: must be a whole number from 0 to 65535"),
            ("--port=", "--port '': must be a whole number from 0 to 65535"),
            (
                "--max-model-len ten",
                (
                    "--max-model-len ten: must be a whole number, optionally with a suffix such "
                    "as 256M or 1G, or auto"
                ),
            ),
            ("--enforce-eager=true", "--enforce-eager: takes no value; write --enforce-eager"),
            (
                "--enforce-eager=false",
                ("--enforce-eager: takes no value; write --no-enforce-eager"),
            ),
            (
                "--enforce-eager false",
                ("--enforce-eager false: takes no value; write --no-enforce-eager"),
            ),
            ("m --headless=0", "--headless: takes no value; leave it out"),
            (
                "--compilation-config.level 3",
                ("--compilation-config: has no key level; did you mean mode?"),
            ),
            (
                "--compilation-config.mode",
                ("--compilation-config.mode: needs a key and a value; such as --NAME.KEY VALUE"),
            ),
            ("--port.x 3", "--port.x: is not right: --port has no keys; write --port"),
            (
                "--compilation-confg.mode 3",
                (
                    "--compilation-confg: is not a flag of omni serve; "
                    "did you mean --compilation-config?"
                ),
            ),
            (
                "--config a.yaml --config b.yaml",
                ("--config b.yaml: is a second settings file; give one"),
            ),
        ],
    )
    def test_are_told(self, line: str, problem: str) -> None:
        assert told(line) == [problem]

    def test_all_are_told_at_once(self) -> None:
        problems = read("m --port x --prot 3 --seed -1 --dtype int4 extra").problems
        subjects = [problem.subject for problem in problems]
        assert subjects == ["--port", "--prot", "--seed", "--dtype", "extra"]
        assert {problem.origin for problem in problems} == {"flag"}

    def test_a_bad_value_is_not_given(self) -> None:
        assert dict(read("m --port 3 --port x").given) == {}

    def test_a_value_of_an_unknown_flag_is_not_the_target(self) -> None:
        assert read("--prot 9000 m").target == "m"
        assert read("--enforce-eagr m").target == "m"

    def test_a_secret_is_not_repeated(self) -> None:
        assert told("m --hf-token 'a\udcffb'") == ["--hf-token: is not valid UTF-8"]

    def test_a_refused_flag_is_given_for_whoever_answers_it(self) -> None:
        assert values("m --headless") == {"headless": True}


class TestRepeated:
    def test_the_last_one_wins(self) -> None:
        assert values("m --port 1 --port 2") == {"port": 2}
        assert values("m --logits-processors a:b --logits-processors c:d e:f") == {
            "logits_processors": ["c:d", "e:f"]
        }

    def test_what_may_be_repeated_adds_up(self) -> None:
        assert values("m --api-key a b --api-key=c --api-key-file x --api-key-file y") == {
            "api_key": ["a", "b", "c"],
            "api_key_file": ["x", "y"],
        }


class TestWarnings:
    @pytest.mark.parametrize(
        ("line", "warning"),
        [
            (
                "m --no-enable-ssl-refresh",
                "--no-enable-ssl-refresh changes nothing: omni always reads changed certificates "
                "again",
            ),
            (
                "m --disable-cascade-attn",
                "--disable-cascade-attn is deprecated and goes with the next vLLM",
            ),
            (
                "m -cc '{\"mode\": 3}' -cc.cudagraph_mode NONE",
                "-cc.cudagraph_mode replaces what -cc gives as a whole, as in vLLM; give all keys "
                "of --compilation-config in one way",
            ),
        ],
    )
    def test_are_given(self, line: str, warning: str) -> None:
        parsed = read(line)
        assert (parsed.problems, parsed.warnings) == ((), (warning,))

    def test_are_not_given_for_what_omni_does(self) -> None:
        assert read("m --enable-ssl-refresh --disable-uvicorn-access-log").warnings == ()


class TestAside:
    @pytest.mark.parametrize(
        "line", ["--config x.yaml m", "m --config=x.yaml", "m --port 3 --config x.yaml"]
    )
    def test_the_settings_file_may_stand_anywhere(self, line: str) -> None:
        parsed = read(line)
        assert (parsed.config, parsed.target) == ("x.yaml", "m")
        assert "config" not in parsed.given

    def test_the_settings_may_be_asked_for(self) -> None:
        parsed = read("m --print-config --json")
        assert (parsed.print_config, parsed.json, dict(parsed.given)) == (True, True, {})

    @pytest.mark.parametrize(
        ("line", "word"),
        [
            ("--help", ""),
            ("-h", ""),
            ("m -h", ""),
            ("--help=all", "all"),
            ("--help=LoRAConfig m", "LoRAConfig"),
            ("--help=max_model", "max_model"),
            ("--port x --help", ""),
        ],
    )
    def test_help_may_be_asked_for(self, line: str, word: str) -> None:
        assert read(line).help == word

    def test_nothing_is_asked_for_otherwise(self) -> None:
        parsed = read("m")
        assert (parsed.help, parsed.config, parsed.print_config, parsed.json) == (
            None,
            None,
            False,
            False,
        )


@pytest.mark.parametrize(
    "word",
    [
        *("-", "--", "-=", "--=", "=", "-.", "--.x", "-O", "-O=", "--help=="),
        f"--hf-overrides.a={'1' * 5000}",  # more digits than Python reads
        f"--hf-overrides.{'.'.join('a' * 3000)}=1",
        f"--hf-overrides={OPEN * 900}1{CLOSE * 900}",
    ],
)
def test_odd_words_raise_nothing(word: str) -> None:
    for line in ([word], ["m", word], ["m", word, "3"], ["m", "--port", word]):
        parse(line, catalogue())


def test_a_very_long_line_is_read_quickly() -> None:
    words = ["m"] + ["--port", "1"] * 2000
    assert parse(words, catalogue()).given["port"].value == 1

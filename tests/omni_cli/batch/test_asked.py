"""Command lines of run-batch, taken apart."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from omni_cli.batch.asked import Asked, read_asked
from omni_cli.batch.flags import batch_catalogue
from omni_cli.flags.parser import parse

FLAGS = batch_catalogue()


def asked(line: str, environ: Mapping[str, str] | None = None) -> Asked:
    found, problems = read_asked(parse(line.split(), FLAGS), FLAGS, environ or {})
    assert problems == []
    assert found is not None
    return found


def refused(line: str, environ: Mapping[str, str] | None = None) -> list[str]:
    found, problems = read_asked(parse(line.split(), FLAGS), FLAGS, environ or {})
    assert found is None
    return [str(problem) for problem in problems]


def test_engines_of_its_own() -> None:
    found = asked("-tp 2 in.jsonl -o out.jsonl some/model --max-num-seqs 4 --unordered")
    assert found.target is None
    assert (found.wish.source, found.wish.output, found.wish.ordered) == (
        "in.jsonl",
        "out.jsonl",
        False,
    )
    assert found.wish.error_target == "out.errors.jsonl"
    assert found.stages.target == "some/model"
    assert {dest: each.value for dest, each in found.stages.given.items()} == {
        "tensor_parallel_size": 2,
        "max_num_seqs": 4,
    }


def test_server() -> None:
    found = asked("- -o - --url localhost:1 --api-key k --timeout 3 --concurrency 7")
    assert found.target is not None
    assert found.target.address.base == "http://localhost:1"
    assert (found.target.api_key, found.target.timeout_s) == ("k", 3.0)
    assert (found.wish.error_target, found.wish.concurrency) == ("-", 7)


def test_variables_name_a_server_unless_the_line_asks_for_engines() -> None:
    environ = {"OMNI_URL": "http://a:1", "OMNI_API_KEY": "k"}
    by_variable = asked("in -o out --quiet", environ)
    assert by_variable.target is not None
    assert by_variable.target.api_key == "k"
    assert asked("in -o out model", environ).target is None
    assert asked("in -o out --max-num-seqs 4", environ).target is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "--check",
            ["INPUT: is missing; name a file of JSON lines, or - for stdin"],
        ),
        ("in", ["-o: is missing; name a file for the results, or - for stdout"]),
        (
            "in -o out --port 80 --api-server-count 2 --ssl-keyfile k",
            [
                f"{flag}: a batch with engines of its own listens on no port; leave it out"
                for flag in ("--port", "--api-server-count", "--ssl-keyfile")
            ],
        ),
        (
            "in -o out --api-key k --timeout 3",
            [
                f"{flag}: is about a server; give --url, or leave it out"
                for flag in ("--api-key", "--timeout")
            ],
        ),
        (
            "in -o out model --url a:1 --max-num-seqs 4",
            [
                f"{flag}: is about engines of its own, and --url names a server; "
                "leave one of them out"
                for flag in ("--max-num-seqs", "TARGET")
            ],
        ),
        (
            "in -o out --resume --overwrite",
            ["--overwrite: contradicts --resume; give one of them"],
        ),
        ("in -o - --json", ["--json: writes to stdout, where the results go; give -o a file"]),
        (
            "in -o out --concurrency 0 --max-retries x",
            [
                "--concurrency 0: must be a whole number from 1 to 4096",
                "--max-retries x: must be a whole number from 0 to 100",
            ],
        ),
        ("in -o out --url ftp://x", ["--url ftp://x: cannot speak ftp; give it like "]),
        (
            "in -o out --unorderd",
            ["--unorderd: is not a flag of omni run-batch; did you mean --unordered?"],
        ),
    ],
)
def test_refusals(line: str, expected: list[str]) -> None:
    found = refused(line)
    assert len(found) == len(expected)
    for problem, start in zip(found, expected, strict=True):
        assert problem.startswith(start)


def test_flags_of_serve_are_all_known() -> None:
    from omni_cli.flags.catalogue import catalogue  # noqa: PLC0415

    missing = {flag.dest for flag in catalogue()} - {flag.dest for flag in FLAGS}
    assert missing == {"print_config"}

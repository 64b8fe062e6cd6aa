"""The parser against vLLM's own, over a thousand command lines, in one process that imports vLLM.

A line may be judged in three ways: both parsers make the same values of it, both refuse it, or it
stands among the differences, which are data with a reason.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from omni_cli.flags.catalogue import catalogue
from omni_cli.flags.flag import Flag
from tests.omni_cli.flags.parity_cases import DIFFERENT, SAME

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent.parent.parent
PROBE = Path(__file__).with_name("parity_probe.py")
WRITTEN = [line for line in SAME.splitlines() if line]
MIN_LINES = 200

# Flags whose values are omni's own, so that what is derived from the catalogue is not vLLM's.
OWN_VALUES = {
    "log_level": "omni's own levels, in lower case",
    "config": "vLLM reads the file at once",
    "mm_processor_device": "vLLM offers the device of this machine only",
}
# Free texts for vLLM's parser, of which its configuration or omni takes a few only.
STRICTER = ("distributed_executor_backend", "optimization_level")
LEGAL_TEXTS = {
    "chat_template": "{{ messages }}",
    "lora_modules": "a=/b",
    "device_ids": "0",
}


@dataclass(frozen=True)
class Answer:
    """What became of one line: why each refused, and which values differ."""

    vllm: str | None
    omni: str | None
    lines: list[str]

    @property
    def kind(self) -> str:
        if self.vllm is None and self.omni is None:
            return "reads" if self.lines else "same"
        if self.vllm is not None and self.omni is not None:
            return "same"
        return "refuses" if self.omni is not None else "takes"


def _legal(flag: Flag) -> str:
    if flag.choices:
        return flag.choices[-1]
    if flag.kind in ("integer", "count", "length"):
        return str(int(flag.low or 1) + flag.above_low)
    by_kind = {"number": "0.5", "json": '["x"]', "object": "{}"}
    if flag.kind == "number" and flag.low is not None and flag.low > 0.5:
        return str(flag.low)
    return LEGAL_TEXTS.get(flag.dest, by_kind.get(flag.kind, "x"))


def _systematic() -> Iterator[list[str]]:
    """Every flag of vLLM in its spellings, with a value that it takes and one that it does not."""
    for flag in catalogue():
        if flag.own or flag.dest in OWN_VALUES:
            continue
        if flag.kind == "switch":
            yield from (["m", name] for name in (*flag.names, *flag.off))
            yield ["m", f"--{flag.dest}"]
            yield ["m", f"{flag.name}=true"]
            continue
        legal = _legal(flag)
        if flag.dest not in ("model", "uds"):
            yield ["m", flag.name, legal]
            yield ["m", f"{flag.name.replace('-', '_').replace('__', '--')}={legal}"]
        yield from (["m", name, legal] for name in flag.names[1:] if name != "-O")
        if flag.many != "optional":
            yield ["m", flag.name]
        if (flag.choices and flag.dest not in STRICTER) or flag.kind not in ("text", "object"):
            yield ["m", flag.name, "no-such-value"]
        if flag.kind == "object" and not flag.or_text:
            yield ["m", flag.name, "{"]
            yield ["m", f"{flag.name}.no_such_key_of_ours", "1"]


def _judged(lines: list[list[str]]) -> list[Answer]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("VLLM_")}
    env |= {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
    done = subprocess.run(
        [sys.executable, str(PROBE)],
        input=json.dumps(lines),
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [Answer(**answer) for answer in json.loads(done.stdout.splitlines()[-1])]


@pytest.fixture(scope="module")
def answers() -> dict[tuple[str, ...], Answer]:
    lines = [shlex.split(line) for line in (*WRITTEN, *DIFFERENT)] + list(_systematic())
    judged = _judged(lines)
    return {tuple(line): answer for line, answer in zip(lines, judged, strict=True)}


def test_there_are_enough_lines() -> None:
    assert len(set(WRITTEN)) == len(WRITTEN) >= MIN_LINES


@pytest.mark.parametrize("line", WRITTEN)
def test_a_line_means_the_same(answers: dict[tuple[str, ...], Answer], line: str) -> None:
    answer = answers[tuple(shlex.split(line))]
    assert answer.kind == "same", answer


@pytest.mark.parametrize("line", list(DIFFERENT))
def test_a_difference_is_as_written(answers: dict[tuple[str, ...], Answer], line: str) -> None:
    answer = answers[tuple(shlex.split(line))]
    assert answer.kind == DIFFERENT[line][0], answer


def test_every_flag_means_the_same(answers: dict[tuple[str, ...], Answer]) -> None:
    others = [line for line in map(tuple, _systematic()) if answers[line].kind != "same"]
    assert not others, "\n".join(f"{shlex.join(line)}: {answers[line]}" for line in others)


def test_what_vllm_refuses_is_refused_before_anything_starts(
    answers: dict[tuple[str, ...], Answer],
) -> None:
    """By the parser: only values inside of objects, and what rules about combinations look at, is
    left to later.
    """
    late = [line for line in map(tuple, _systematic()) if (answers[line].omni or "")[:5] == "late:"]
    assert {line[1].partition("=")[0] for line in late} <= {
        "--enable-auto-tool-choice",
        "--enable_auto_tool_choice",
        "--enable-log-outputs",
        "--enable_log_outputs",
        "--data-parallel-multi-port-external-lb",
        "--data_parallel_multi_port_external_lb",
        "-dpm",
        "--grpc-port",
        "--grpc_port",
    }

"""The committed catalogue is what the installed vLLM has."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
COMMITTED = ROOT / "engine_bridge" / "vllm_flags.json"
WRITE = "import sys; from engine_bridge.vllm_flags import as_text; sys.stdout.write(as_text())"
MAX_BYTES = 250_000


@pytest.fixture(scope="module")
def installed() -> str:
    """What the generator writes now, in a process of its own: it changes vLLM's module."""
    # Some of vLLM's defaults are read from its variables.
    env = {name: value for name, value in os.environ.items() if not name.startswith("VLLM_")}
    env |= {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
    done = subprocess.run(
        [sys.executable, "-c", WRITE],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout[done.stdout.index("{\n") :]


def _difference(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """One line per flag and attribute that differs."""
    lines = []
    for dest in sorted(old.keys() | new.keys()):
        before, now = old.get(dest), new.get(dest)
        if before is None or now is None:
            lines.append(f"{dest}: {'is new' if before is None else 'is gone'}")
            continue
        for key in sorted(before.keys() | now.keys()):
            if before.get(key) != now.get(key):
                words = difflib.ndiff(str(before.get(key)).split(), str(now.get(key)).split())
                changed = [word for word in words if word[:1] in "+-"]
                lines.append(f"{dest}.{key}: {' '.join(changed)}"[:400])
    return lines


def test_the_committed_flags_are_those_of_the_installed_vllm(installed: str) -> None:
    committed = json.loads(COMMITTED.read_text())
    generated = json.loads(installed)
    lines = _difference(committed["flags"], generated["flags"])
    assert not lines, "run `make flags` and read what changed:\n" + "\n".join(lines)
    assert committed == generated
    assert COMMITTED.read_text() == installed


def test_the_difference_names_the_flags() -> None:
    old: dict[str, Any] = {"port": {"kind": "integer"}, "gone": {}}
    new: dict[str, Any] = {"port": {"kind": "count"}, "new": {}}
    assert _difference(old, new) == [
        "gone: is gone",
        "new: is new",
        "port.kind: - integer + count",
    ]


class TestTheFile:
    def test_is_small_and_sorted(self) -> None:
        text = COMMITTED.read_text()
        found = json.loads(text)
        assert len(text.encode()) < MAX_BYTES
        assert list(found["flags"]) == sorted(found["flags"])
        assert found["vllm"].startswith("0.32")

    def test_says_nothing_of_the_machine_that_wrote_it(self) -> None:
        text = COMMITTED.read_text()
        assert f"{Path.home()}/" not in text
        assert os.uname().nodename not in text

    @pytest.mark.parametrize(
        ("dest", "expected"),
        [
            (
                "tensor_parallel_size",
                {"kind": "integer", "low": 1, "default": 1, "group": "ParallelConfig"},
            ),
            ("max_model_len", {"kind": "length", "low": -1}),
            ("kv_cache_memory_bytes", {"kind": "count", "nullable": True}),
            ("gpu_memory_utilization", {"low": 0, "above_low": True, "high": 1, "default": 0.92}),
            ("hf_token", {"many": "optional"}),
            ("served_model_name", {"many": "some", "nullable": True}),
            ("middleware", {"repeatable": True, "default": []}),
            ("enforce_eager", {"kind": "switch", "off": ["--no-enforce-eager"]}),
            ("headless", {"kind": "switch", "group": "Server"}),
            ("enable_expert_parallel", {"names": ["--enable-expert-parallel", "-ep"]}),
            ("hf_overrides", {"kind": "object", "or_text": True, "default": {}}),
            ("allowed_origins", {"kind": "json"}),
            ("moe_backend", {"folded": True, "default": "auto"}),
            ("mm_processor_device", {"choices": ["auto", "cpu", "cuda"]}),
            ("disable_cascade_attn", {"deprecated": True}),
            ("log_config_file", {"deprecated": True}),
        ],
    )
    def test_has_the_facts_of(self, dest: str, expected: dict[str, object]) -> None:
        entry = json.loads(COMMITTED.read_text())["flags"][dest]
        assert {key: entry.get(key) for key in expected} == expected

    def test_has_the_keys_where_vllm_knows_them_all(self) -> None:
        entries = json.loads(COMMITTED.read_text())["flags"]
        keys = entries["compilation_config"]["keys"]
        assert {"mode", "pass_config", "pass_config.fuse_norm_quant"} <= set(keys)
        assert "level" not in keys
        assert "keys" not in entries["speculative_config"]
        assert "keys" not in entries["additional_config"]

    def test_has_what_must_stand_under_a_key(self) -> None:
        entries = json.loads(COMMITTED.read_text())["flags"]
        assert entries["eplb_config"]["inner"]["window_size"] == {
            "kind": "integer",
            "low": 0,
            "above_low": True,
        }
        choices = entries["structured_outputs_config"]["inner"]["backend"]["choices"]
        assert {"auto", "xgrammar"} <= set(choices)
        # Validators of vLLM's read names in any case, and numbers.
        mode = entries["compilation_config"]["inner"]["mode"]
        assert {"0", "3", "none", "vllm_compile"} <= set(mode["choices"])
        assert (mode["folded"], mode["nullable"]) == (True, True)
        # An annotation of several sets.
        assert {"CLS", "STEP"} <= set(entries["pooler_config"]["inner"]["pooling_type"]["choices"])
        assert "nullable" not in entries["eplb_config"]["inner"]["window_size"]

    @pytest.mark.parametrize(
        ("dest", "names"),
        [
            ("load_format", {"auto", "dummy", "runai_streamer", "tensorizer"}),
            ("config_format", {"auto", "hf", "mistral"}),
            ("attention_backend", {"auto", "CPU_ATTN", "FLASH_ATTN"}),
            ("mamba_backend", {"triton", "flashinfer", "cpu"}),
        ],
    )
    def test_has_the_names_that_vllm_knows(self, dest: str, names: set[str]) -> None:
        assert names <= set(json.loads(COMMITTED.read_text())["flags"][dest]["known"])

"""The variables with which vLLM is driven: what is set, what the user overrides, what is undone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from engine_bridge import vllm_env


def made(
    base: Mapping[str, str], *, offline: bool = True, on_cpu: bool = True, eager: bool = True
) -> dict[str, str]:
    return vllm_env.environment(
        base,
        temporary=Path("/run/tmp"),
        offline=offline,
        on_cpu=on_cpu,
        eager=eager,
        log_level="warning",
    )


def test_environment_of_a_run_on_the_cpu() -> None:
    base = {"PATH": "/bin", "VLLM_CPU_KVCACHE_SPACE": "40"}
    env = made(base)
    library = env.pop("LD_PRELOAD")
    assert Path(library).name.startswith("libgomp")
    assert env == {
        "PATH": "/bin",
        "TMPDIR": "/run/tmp",
        "VLLM_RPC_BASE_PATH": "/run/tmp",
        "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
        "VLLM_NO_USAGE_STATS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
        "HF_HUB_OFFLINE": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "TORCHDYNAMO_DISABLE": "1",
    }
    assert base == {"PATH": "/bin", "VLLM_CPU_KVCACHE_SPACE": "40"}


def test_environment_elsewhere_leaves_threads_and_hub_alone() -> None:
    env = made({"OMP_NUM_THREADS": "8"}, offline=False, on_cpu=False)
    assert env["OMP_NUM_THREADS"] == "8"
    assert not {"HF_HUB_OFFLINE", "LD_PRELOAD", "OPENBLAS_NUM_THREADS"} & set(env)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VLLM_LOGGING_LEVEL", "DEBUG"),
        ("VLLM_NO_USAGE_STATS", "0"),
        ("TOKENIZERS_PARALLELISM", "true"),
        ("HF_HUB_OFFLINE", "0"),
        ("VLLM_CPU_OMP_THREADS_BIND", "0-1"),
    ],
)
def test_what_the_user_set_wins(name: str, value: str) -> None:
    assert made({name: value})[name] == value


def test_a_stage_that_compiles_keeps_the_compiler() -> None:
    assert "TORCHDYNAMO_DISABLE" not in made({}, eager=False)
    assert "TORCHDYNAMO_DISABLE" not in made({}, on_cpu=False)


def test_library_is_preloaded_once_and_beside_the_users() -> None:
    library = made({})["LD_PRELOAD"]
    assert made({"LD_PRELOAD": "/my.so"})["LD_PRELOAD"] == f"/my.so:{library}"
    assert made({"LD_PRELOAD": library})["LD_PRELOAD"] == library


def test_environment_is_made_without_torch() -> None:
    code = (
        "import os, sys; from pathlib import Path; from engine_bridge import vllm_env;"
        "vllm_env.environment(os.environ, temporary=Path('/t'), offline=True, on_cpu=True,"
        " eager=True, log_level='info'); assert not {'torch', 'vllm'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


def test_changes_inside_the_block_are_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    before = dict(os.environ)

    def change() -> None:
        with vllm_env.restored():
            os.environ["LOCAL_WORLD_SIZE"] = "1"
            del os.environ["LD_PRELOAD"]
            raise RuntimeError

    with pytest.raises(RuntimeError):
        change()
    assert dict(os.environ) == before

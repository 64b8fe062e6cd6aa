"""Batches: `omni run-batch` beside vLLM's AsyncLLM on the same lines, and the check of many lines.

    python benchmarks/batch.py                     3 pairs of 256 lines, and as many on `uni`
    python benchmarks/batch.py --pairs 1           the short form
    python benchmarks/batch.py --check             100,000 lines: time and peak memory of --check

Both sides get the same model folder, the same engine arguments and the same threads. Every line
makes the same number of tokens (temperature 0, ignore_eos), so that the work is equal. What is
compared is the time from the first line submitted to the last one finished; the time to load is
reported apart. AsyncLLM gets all lines at once, each as one task that applies the chat template,
and writes nothing.

On the CPU plain vLLM runs its worker in a process of its own (`mp`), whatever is asked for. The
second table gives AsyncLLM the executor that omni uses, so that only what stands in front of the
engine differs.

A pair during which other programs took more than a tenth of the machine is run again, a few times;
the table says how many pairs were quiet, and counts only those if there are any.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine_bridge.models.store import ModelStore, cache_root

MODEL = "smollm2-135m-instruct"
OMNI = str(Path(sys.executable).parent / "omni")
ENGINE = {
    "dtype": "bfloat16",
    "enforce_eager": True,
    "max_model_len": 2048,
    "max_num_seqs": 32,
    "kv_cache_memory_bytes": 512 << 20,
}
THREADS = 1
# Of the run of either side.
TIMEOUT_S = 1800
# Of all cores, taken by others while a pair runs.
MAX_FOREIGN = 0.1
ATTEMPTS_PER_PAIR = 3


@dataclass(frozen=True)
class Run:
    """One run: seconds from the first line to the last, seconds of loading, and tokens made."""

    seconds: float
    load_s: float
    tokens: int


def flags() -> list[str]:
    given = []
    for name, value in ENGINE.items():
        given.append(f"--{name.replace('_', '-')}")
        if value is not True:
            given.append(str(value))
    return given


def write_lines(path: Path, count: int, max_tokens: int) -> None:
    with path.open("w") as file:
        for number in range(count):
            text = f"Write {number % 7 + 1} sentences about the number {number}. " * (
                number % 4 + 1
            )
            body = {
                "messages": [{"role": "user", "content": text}],
                "max_tokens": max_tokens,
                "temperature": 0,
                "ignore_eos": True,
            }
            url = "/v1/chat/completions"
            line = {"custom_id": f"line-{number}", "method": "POST", "url": url, "body": body}
            file.write(json.dumps(line) + "\n")


# ------------------------------------------------------------------------- plain


async def plain(model: Path, lines: Path, executor: str) -> Run:
    """AsyncLLM on the same lines, in this process."""
    from vllm import SamplingParams
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.sampling_params import RequestOutputKind
    from vllm.v1.engine.async_llm import AsyncLLM
    from vllm.v1.executor.abstract import Executor
    from vllm.v1.executor.uniproc_executor import UniProcExecutor

    begun = time.monotonic()
    config = AsyncEngineArgs(model=str(model), **ENGINE).create_engine_config()
    chosen: Any = Executor.get_class(config)
    if executor == "uni":
        config.parallel_config.distributed_executor_backend = "uni"
        chosen = UniProcExecutor
    llm = AsyncLLM(config, chosen, log_stats=False)
    tokenizer = llm.get_tokenizer()
    load_s = time.monotonic() - begun

    async def one(line: str) -> int:
        asked = json.loads(line)
        body = asked["body"]
        prompt = tokenizer.apply_chat_template(
            body["messages"], tokenize=False, add_generation_prompt=True
        )
        sampling = SamplingParams(
            temperature=body["temperature"],
            max_tokens=body["max_tokens"],
            ignore_eos=body["ignore_eos"],
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        made = 0
        async for output in llm.generate(prompt, sampling, asked["custom_id"]):
            made = len(output.outputs[0].token_ids)
        return made

    with lines.open() as file:
        begun = time.monotonic()
        tokens = sum(await asyncio.gather(*map(one, file)))
    seconds = time.monotonic() - begun
    llm.shutdown()
    return Run(seconds, load_s, tokens)


def run_plain(model: Path, lines: Path, executor: str) -> Run:
    env = environment()
    env["OMP_NUM_THREADS"] = str(THREADS)
    env["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"
    arguments = [sys.executable, __file__, "--plain", executor, str(model), str(lines)]
    found = json.loads(output_of(arguments, env).splitlines()[-1])
    return Run(found["seconds"], found["load_s"], found["tokens"])


# -------------------------------------------------------------------------- omni


def run_omni(model: Path, lines: Path) -> Run:
    output = lines.with_name("out.jsonl")
    arguments = [OMNI, "run-batch", str(lines), "-o", str(output), str(model), *flags()]
    arguments += ["--threads", str(THREADS), "--json", "--overwrite", "--quiet"]
    found = json.loads(output_of(arguments, environment()))
    if found["failed"]:
        sys.exit(f"{found['failed']} lines failed")
    return Run(found["seconds"], found["load_s"], found["output_tokens"])


def environment() -> dict[str, str]:
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    env.setdefault("PYTHONPATH", str(Path(__file__).resolve().parent.parent))
    for name in ("VLLM_CPU_KVCACHE_SPACE", "OMNI_URL", "OMNI_CONFIG"):
        env.pop(name, None)
    return env


def output_of(arguments: list[str], env: dict[str, str]) -> str:
    run = subprocess.run(arguments, env=env, capture_output=True, text=True, timeout=TIMEOUT_S)
    if run.returncode != 0:
        sys.exit(f"{arguments[:2]} ended with {run.returncode}:\n{run.stderr[-3000:]}")
    return run.stdout


# ------------------------------------------------------------------------ tables


class Others:
    """How much of the machine was taken by processes that are not ours, since it was made."""

    def __init__(self) -> None:
        self._busy_s = self._machine_busy_s()
        self._own_s = self._ours_s()
        self._at = time.monotonic()

    def share(self) -> float:
        busy = self._machine_busy_s() - self._busy_s
        own = self._ours_s() - self._own_s
        cores = os.cpu_count() or 1
        return max(0.0, busy - own) / (cores * (time.monotonic() - self._at))

    @staticmethod
    def _machine_busy_s() -> float:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        idle = int(fields[3]) + int(fields[4])
        ticks = os.sysconf("SC_CLK_TCK")
        return (sum(map(int, fields[:8])) - idle) / ticks

    @staticmethod
    def _ours_s() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime


def pair(model: Path, lines: Path, executor: str, *, plain_first: bool) -> tuple[Run, Run]:
    if plain_first:
        theirs = run_plain(model, lines, executor)
        ours = run_omni(model, lines)
    else:
        ours = run_omni(model, lines)
        theirs = run_plain(model, lines, executor)
    if ours.tokens != theirs.tokens:
        sys.exit(f"omni made {ours.tokens} tokens, AsyncLLM {theirs.tokens}")
    return theirs, ours


def compare(model: Path, lines: Path, executor: str, pairs: int) -> list[tuple[Run, Run]]:
    """Quiet pairs; if there is none within the attempts, the others."""
    quiet, disturbed = [], []
    for attempt in range(pairs * ATTEMPTS_PER_PAIR):
        others = Others()
        theirs, ours = pair(model, lines, executor, plain_first=attempt % 2 == 0)
        share = others.share()
        sys.stderr.write(
            f"{executor}: AsyncLLM {theirs.seconds:.1f} s (load {theirs.load_s:.1f}), omni "
            f"{ours.seconds:.1f} s (load {ours.load_s:.1f}), others {100 * share:.0f} %\n"
        )
        (quiet if share <= MAX_FOREIGN else disturbed).append((theirs, ours))
        if len(quiet) == pairs:
            break
    sys.stderr.write(f"{executor}: {len(quiet)} quiet pairs, {len(disturbed)} disturbed ones\n")
    return quiet or disturbed


def row(name: str, both: list[tuple[Run, Run]], lines: int) -> str:
    middle = statistics.median
    ratios = [theirs.seconds / ours.seconds for theirs, ours in both]
    cells = []
    for side in (0, 1):
        seconds = middle(pair[side].seconds for pair in both)
        load_s = middle(pair[side].load_s for pair in both)
        cells.append(
            f"{lines / seconds:.2f} lines/s, {both[0][side].tokens / seconds:.0f} tokens/s, "
            f"load {load_s:.1f} s"
        )
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    return f"| {name} | {cells[0]} | {cells[1]} | {middle(ratios):.2f} | {spread} | {len(both)} |"


# ------------------------------------------------------------------------- check


def check(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "in.jsonl"
        write_lines(lines, count, 64)
        size = lines.stat().st_size
        begun = time.monotonic()
        process = subprocess.Popen([OMNI, "run-batch", str(lines), "--check"], env=environment())
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"--check ended with {process.returncode}")
        sys.stdout.write(
            f"--check of {count} lines ({size / 1e6:.0f} MB): {seconds:.2f} s, "
            f"{usage.ru_utime + usage.ru_stime:.2f} s of CPU, "
            f"peak memory {usage.ru_maxrss / 1024:.0f} MB\n"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--lines", type=int, default=None, help="256, or 100,000 with --check")
    parser.add_argument("--max-tokens", type=int, default=48)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--plain", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.check:
        check(given.lines or 100_000)
        return
    if given.plain:
        executor, model, lines = given.plain
        found = asyncio.run(plain(Path(model), Path(lines), executor))
        sys.stdout.write(f"\n{json.dumps(vars(found))}\n")
        return
    count = given.lines or 256
    folder = ModelStore(cache_root(os.environ)).pull(MODEL)
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "in.jsonl"
        write_lines(path, count, given.max_tokens)
        rows = [
            row(f"{count} lines, AsyncLLM on {executor}", found, count)
            for executor in ("mp", "uni")
            if (found := compare(folder, path, executor, given.pairs))
        ]
    cores = len(os.sched_getaffinity(0))
    sys.stdout.write(f"{platform.machine()}, {cores} cores, Python {platform.python_version()}\n\n")
    sys.stdout.write("| what | AsyncLLM | omni run-batch | omni / AsyncLLM | range | pairs |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()

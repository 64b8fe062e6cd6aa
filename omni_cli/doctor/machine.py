"""The machine: processor, memory, accelerators, system, and the bounds that it sets."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from omni_cli.doctor.finding import Finding, note, ok, problem

__all__ = ["limits", "machine"]

# Instructions that vLLM's CPU kernels make use of
FLAGS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_tile", "amx_bf16", "asimd", "bf16")
# One small chat stage with its frontend, measured (docs/performance.md)
NEEDED_BYTES = 3 * 1024**3
# A frontend holds a descriptor per connection and some per stage
FEW_FILES = 1024
GOOD_FILES = 4096
# Tensor parallel workers exchange tensors there; containers give it 64 MB unless told otherwise
SMALL_SHM_BYTES = 256 * 1024**2
# nvidia-smi on a machine with many cards takes about a second
GPU_TIMEOUT_S = 3.0
MAX_GPUS = 16


def machine() -> Iterator[Finding]:
    """Processor, memory, accelerators, system."""
    yield _processor()
    yield _cores()
    yield _memory()
    yield _gpus()
    libc = " ".join(platform.libc_ver()) or "unknown libc"
    yield ok("system", f"{_distribution()}, kernel {platform.release()}, {libc}")


def limits() -> Iterator[Finding]:
    """What the system allows a process."""
    yield _files()
    yield from _control_group()
    yield _shared_memory()
    yield _overcommit()


def _processor() -> Finding:
    lines = read(Path("/proc/cpuinfo")).splitlines()
    facts = {key.strip(): value.strip() for key, _, value in (x.partition(":") for x in lines)}
    model = facts.get("model name") or facts.get("Processor") or "unknown model"
    known = set((facts.get("flags") or facts.get("Features") or "").split())
    flags = [flag for flag in FLAGS if flag in known]
    text = f"{model}, {platform.machine()}, {' '.join(flags) or 'no vector instructions known'}"
    if platform.machine() == "x86_64" and known and "avx2" not in known:
        return problem("processor", f"{text}: vLLM needs AVX2", "use another machine")
    if platform.machine() == "x86_64" and known and "avx512f" not in known:
        return note("processor", f"{text}: without AVX-512 the CPU is slower")
    return ok("processor", text)


def _cores() -> Finding:
    allowed, there = len(os.sched_getaffinity(0)), os.cpu_count()
    text = f"{allowed} of {there} allowed"
    if allowed == 1:
        return note("cores", f"{text}: the engine and the frontends share one")
    return ok("cores", text)


def _memory() -> Finding:
    lines = (line.split() for line in read(Path("/proc/meminfo")).splitlines())
    sizes = {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if len(words) > 1}
    total, free = sizes.get("MemTotal"), sizes.get("MemAvailable")
    if total is None or free is None:
        return note("memory", "unknown")
    text = f"{gigabytes(free)} of {gigabytes(total)} available"
    if free < NEEDED_BYTES:
        needed = f"a small chat model takes {gigabytes(NEEDED_BYTES)}"
        return note("memory", f"{text}; {needed}", "end something large first")
    return ok("memory", text)


def _gpus() -> Finding:
    devices = sorted(path.name for path in Path("/dev").glob("nvidia[0-9]*"))
    program = shutil.which("nvidia-smi")
    if program is None:
        if devices:
            return note("gpu", f"{', '.join(devices)} are there, nvidia-smi is not")
        amd = Path("/dev/kfd").exists()
        return note("gpu", "an AMD card (/dev/kfd)") if amd else ok("gpu", "none, the CPU serves")
    query = ["--query-gpu=name,memory.total,memory.used,driver_version", "--format=csv,noheader"]
    try:
        run = subprocess.run(
            [program, *query], capture_output=True, text=True, timeout=GPU_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return note("gpu", f"nvidia-smi does not answer within {GPU_TIMEOUT_S:g} s")
    lines = run.stdout.strip().splitlines()[:MAX_GPUS]
    if run.returncode != 0 or not lines:
        return note("gpu", f"nvidia-smi ends with {run.returncode}", "run nvidia-smi")
    return ok("gpu", "; ".join(lines))


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return platform.system()


def _files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = f"{_count(soft)} (at most {_count(hard)})"
    way_out = f"ulimit -n {min(hard, 65536) if hard > 0 else 65536}"
    if 0 <= soft < FEW_FILES:
        return problem("open files", f"{text}: too few for a server", way_out)
    if 0 <= soft < GOOD_FILES:
        return note("open files", f"{text}: a connection each takes one", way_out)
    return ok("open files", text)


def _control_group() -> Iterator[Finding]:
    """The bounds of this process's control group, of version 2 or 1."""
    own = read(Path("/proc/self/cgroup")).strip().rpartition(":")[2].strip("/")
    roots = [Path("/sys/fs/cgroup", own), Path("/sys/fs/cgroup")]
    memory = _first([root / "memory.max" for root in roots])
    memory = memory or _first([Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")])
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if memory.isdigit() and int(memory) < total:
        text = f"memory {gigabytes(int(memory))} of the machine's {gigabytes(total)}"
        if int(memory) < NEEDED_BYTES:
            yield note("control group", text, "give the container more memory")
        else:
            yield ok("control group", text)
    else:
        yield ok("control group", "memory not bounded")
    quota, _, period = _first([root / "cpu.max" for root in roots]).partition(" ")
    if quota.isdigit() and period.isdigit():
        cores = int(quota) / int(period)
        text = f"{cores:g} cores' worth of time, {len(os.sched_getaffinity(0))} cores"
        if cores < len(os.sched_getaffinity(0)):
            yield note("cpu quota", text, f"start with --threads {max(1, int(cores) - 1)}")
        else:
            yield ok("cpu quota", text)


def _first(paths: list[Path]) -> str:
    return next((text for path in paths if (text := read(path).strip())), "")


def _shared_memory() -> Finding:
    try:
        stat = os.statvfs("/dev/shm")
    except OSError:
        return note("/dev/shm", "is not there: no tensor parallelism", "mount a tmpfs there")
    free = stat.f_bavail * stat.f_frsize
    text = f"{gigabytes(free)} free of {gigabytes(stat.f_blocks * stat.f_frsize)}"
    if free < SMALL_SHM_BYTES:
        return note("/dev/shm", f"{text}: little for several workers", "docker: --shm-size 2g")
    return ok("/dev/shm", text)


def _overcommit() -> Finding:
    mode = read(Path("/proc/sys/vm/overcommit_memory")).strip()
    if mode == "2":
        text = "2, strict: forked engines may be refused memory"
        return note("overcommit", text, "start with --start-method spawn")
    return ok("overcommit", mode or "unknown")


def read(path: Path) -> str:
    """The text of a file, or nothing."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def gigabytes(count: int) -> str:
    """A size for people."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.0f} MB"


def _count(number: int) -> str:
    return "unlimited" if number < 0 else str(number)

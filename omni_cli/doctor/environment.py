"""The environment variables that change what omni or vLLM does; secrets are masked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from omni_cli.doctor.finding import Finding, note, ok
from omni_cli.terminal import one_line

__all__ = ["MASK", "environment", "shown"]

MASK = "(set, not shown)"
MAX_VALUE_CHARS = 200
_MATTER = re.compile(
    r"OMNI_\w+|VLLM_\w+|HF_\w+|TRANSFORMERS_\w+|TORCH\w*|CUDA_\w+|NVIDIA_\w+|ROCR_\w+|HIP_\w+|NCCL_\w+"
    r"|OMP_\w+|MKL_\w+|OPENBLAS_\w+|KMP_\w+|TOKENIZERS_PARALLELISM|PROMETHEUS_MULTIPROC_DIR"
    r"|LD_PRELOAD|LD_LIBRARY_PATH|PYTHON\w+|VIRTUAL_ENV|TMPDIR|XDG_CACHE_HOME|SSL_CERT_\w+"
    r"|REQUESTS_CA_BUNDLE|NO_COLOR|FORCE_COLOR|TERM|LANG|LC_ALL|OPENAI_\w+|ANTHROPIC_\w+"
    r"|(?:https?|all|no)_proxy",
    re.IGNORECASE,
)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
# Not secret, though their names say so
_OPEN = ("TOKENIZERS_PARALLELISM", "OMNI_MAX_TOKENS")


def environment(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Every variable that matters; of ours also what `omni serve` would refuse, and what looks like
    a misspelling."""
    wrong = _wrong(environ)
    for name in sorted(environ):
        if not _MATTER.fullmatch(name):
            continue
        text = shown(name, environ[name])
        if name in wrong:
            reason, way_out = wrong[name]
            yield note(name, f"{text}: {reason}", way_out)
        else:
            yield ok(name, text)


def shown(name: str, value: str) -> str:
    """A value as it may stand in a report."""
    if _SECRET.search(name) and name not in _OPEN:
        return MASK if value else "(empty)"
    if "@" in value and "://" in value:
        parts = urlsplit(value)
        value = parts._replace(netloc=f"***@{parts.netloc.rpartition('@')[2]}").geturl()
    line = one_line(value)
    return f"{line[:MAX_VALUE_CHARS]}..." if len(line) > MAX_VALUE_CHARS else line or "(empty)"


def _wrong(environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What is wrong with a variable of ours, and the way out, by its name."""
    if not any(name.startswith("OMNI_") for name in environ):
        return {}
    from omni_cli.flags.catalogue import catalogue  # noqa: PLC0415 - late: 50 ms
    from omni_cli.serve.sources_environment import read_environment  # noqa: PLC0415

    read = read_environment(catalogue(), environ)
    found = {
        problem.subject: (problem.reason, problem.way_out or "correct it, or unset it")
        for problem in read.problems
    }
    for line in read.warnings:
        name, _, text = line.partition(" ")
        reason, _, way_out = text.partition("; ")
        found[name] = (reason, way_out)
    return found

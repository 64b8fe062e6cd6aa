"""Rows about the machine: vLLM itself, the socket, memory, cores and GPUs."""

from __future__ import annotations

from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.rule import CUDA, Example, Found, Rule

__all__ = ["ROWS", "VLLM_VERSION"]

# The engine is driven below its public interface, so another version is another engine.
VLLM_VERSION = "0.32"

_INSTALL = "run `make install` for the CPU, or install omni-serve[cuda]"


def _other_vllm(line: Line) -> Found:
    version = line.facts.vllm_version
    if not version or f"{version}.".startswith(f"{VLLM_VERSION}."):
        return False
    return {"subject": "vllm", "value": version, "origin": "default", "driven": VLLM_VERSION}


def _listener(line: Line) -> Found:
    error = line.facts.listener_error
    if error is None:
        return False
    return {
        "blame": "host" if error.subject == line.subject("host") else "port",
        "subject": error.subject,
        "value": error.value,
        "why": error.reason,
        "instead": error.way_out,
    }


def _memory(line: Line) -> Found:
    available = line.facts.memory_available_bytes
    if not line.cpu or available is None or not line.stages:
        return False
    # Both are touched as a whole at the start on the CPU; what the processes need comes on top.
    caches = {stage.spec.name: stage.number("kv_cache_memory_bytes") or 0 for stage in line.stages}
    weights = sum(model.weight_bytes or 0 for model in line.facts.models.values())
    if weights + sum(caches.values()) <= available:
        return False
    words: dict[str, object] = {
        "caches": _size(sum(caches.values())),
        "weights": _size(weights),
        "free": _size(available),
    }
    largest = max(line.stages, key=lambda stage: caches[stage.spec.name])
    cache = caches[largest.spec.name]
    if weights > available or not cache:
        origin = line.origin("target") if largest.spec.where == "TARGET" else "pipeline"
        return words | {
            "subject": f"model {largest.spec.model}",
            "value": None,
            "origin": origin,
            "instead": "free some memory, or serve a smaller model",
        }
    return words | {
        "subject": largest.subject("kv_cache_memory_bytes"),
        "value": cache,
        "origin": largest.origin("kv_cache_memory_bytes"),
        "instead": f"give at most {_size(max(0, available - weights))} for all stages together",
    }


def _too_few_places(line: Line) -> Found:
    size = line.number("tensor_parallel_size")
    facts = line.facts
    places, kind = (facts.cores, "cores") if line.cpu else (facts.gpus, "GPUs")
    return {"places": places, "kind": kind} if size is not None and size > places else False


def _too_many_threads(line: Line) -> Found:
    threads = line.number("threads")
    cores = line.facts.cores
    return {"cores": cores} if threads is not None and threads > cores else False


def _size(number: int) -> str:
    return f"{number / 2**30:.1f} GiB" if number >= 2**30 else f"{number / 2**20:.0f} MiB"


ROWS = (
    Rule(
        id="quiet-and-verbose",
        flags=("quiet", "verbose"),
        each="run",
        when=lambda line: line.on("quiet") and line.on("verbose"),
        reason="contradicts {verbose}",
        way_out="give one of them",
        example=Example(words="--quiet --verbose"),
        allowed=Example(words="--quiet"),
    ),
    Rule(
        id="listener",
        flags=("port", "host"),
        each="run",
        when=_listener,
        reason="{why}",
        way_out="{instead}",
        example=Example(words="--port {busy_port}"),
        allowed=Example(words="--port 0"),
    ),
    Rule(
        id="vllm-missing",
        flags=("target",),
        each="run",
        when=lambda line: (
            {"subject": "vllm", "value": None, "origin": "default"}
            if line.facts.vllm_version is None
            else False
        ),
        reason="is not installed",
        way_out=_INSTALL,
        example=Example(words="", facts={"vllm_version": None}),
        allowed=Example(words=""),
    ),
    Rule(
        id="vllm-version",
        flags=("target",),
        each="run",
        when=_other_vllm,
        reason="is not the version that omni drives, which is {driven}",
        way_out=_INSTALL,
        example=Example(words="", facts={"vllm_version": "0.33.0"}),
        allowed=Example(words="", facts={"vllm_version": "0.32.1"}),
    ),
    Rule(
        id="fork-with-cuda",
        flags=("start_method",),
        each="run",
        when=lambda line: line.value("start_method") == "fork" and not line.cpu,
        reason="is refused where CUDA is present, because a fork inherits a broken CUDA state",
        way_out="use spawn, or leave it on auto",
        example=Example(words="--start-method fork", facts=CUDA),
        allowed=Example(words="--start-method spawn", facts=CUDA),
    ),
    Rule(
        id="memory",
        flags=("kv_cache_memory_bytes", "target"),
        each="run",
        when=_memory,
        reason="KV caches of {caches} and weights of {weights} do not fit into the {free} of "
        "memory that are free",
        way_out="{instead}",
        example=Example(words="--kv-cache-memory-bytes 900G"),
        allowed=Example(words="--kv-cache-memory-bytes 64M"),
    ),
    Rule(
        id="tensor-parallel-places",
        flags=("tensor_parallel_size",),
        when=_too_few_places,
        reason="needs as many {kind}, and this machine has {places}",
        way_out="use at most {places}",
        example=Example(words="--tensor-parallel-size 1024"),
        allowed=Example(words="--tensor-parallel-size 1"),
    ),
    Rule(
        id="tensor-parallel-uni",
        flags=("tensor_parallel_size", "distributed_executor_backend"),
        when=lambda line: (
            (line.number("tensor_parallel_size") or 1) > 1
            and line.value("distributed_executor_backend") == "uni"
        ),
        reason="needs workers of their own, which {distributed_executor_backend} uni excludes",
        way_out="use mp, or leave the executor out",
        example=Example(
            words="--tensor-parallel-size 2 --distributed-executor-backend uni",
        ),
        allowed=Example(words="--tensor-parallel-size 2 --distributed-executor-backend mp"),
    ),
    Rule(
        id="threads-over-cores",
        flags=("threads",),
        when=_too_many_threads,
        reason="is more than the {cores} cores that may be used",
        way_out="use at most {cores}",
        example=Example(words="--threads 1024"),
        allowed=Example(words="--threads 1"),
    ),
    Rule(
        id="device-memory-on-cpu",
        flags=("gpu_memory_utilization",),
        when=lambda line: (
            line.cpu and line.origin("gpu_memory_utilization") in ("flag", "environment", "file")
        ),
        reason="means nothing on the CPU",
        way_out="use --kv-cache-memory-bytes",
        example=Example(words="--gpu-memory-utilization 0.5"),
        allowed=Example(words="--gpu-memory-utilization 0.5", facts=CUDA),
    ),
)

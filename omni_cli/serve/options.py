"""The options of `omni serve`. Spellings of engine options are vLLM's own.

Every option defaults to None, "not given", so that the settings know where a value comes from; the
defaults shown are those of the settings. Bounds are checked there, all at once, and stand here as
text.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from omni_cli.serve.defaults import DEFAULTS, Dtype, Executor, LogLevel, StartMethod, limits

LISTEN = "Listening"
RUN = "Processes"
MODEL = "Model"
ENGINE = "Engine"
OUTPUT = "Output"


def _option(group: str, field: str, help_: str, *names: str, metavar: str | None = None) -> Any:
    default = DEFAULTS.get(field)
    return typer.Option(
        *(names or [f"--{field.removesuffix('_s').replace('_', '-')}"]),
        metavar=metavar,
        help=help_,
        rich_help_panel=group,
        show_default=_shown(default) if default not in (None, False) else False,
    )


def _flag(group: str, field: str, help_: str) -> Any:
    name = field.replace("_", "-")
    return _option(group, field, help_, f"--{name}/--no-{name}")


def _shown(default: object) -> str:
    return f"{default:g}" if isinstance(default, float) else str(default)


Target = Annotated[
    str | None,
    typer.Argument(
        metavar="TARGET",
        help="A bundled model's name, a Hugging Face id, a model folder, or a PIPELINE.yaml.",
        show_default=str(DEFAULTS["target"]),
    ),
]

Host = Annotated[
    str | None, _option(LISTEN, "host", "Address to listen on: a name, IPv4, IPv6.", metavar="HOST")
]
Port = Annotated[
    int | None, _option(LISTEN, "port", f"Port, {limits('port')}; 0 takes any free one.")
]

ApiServerCount = Annotated[
    int | None,
    _option(RUN, "api_server_count", f"Number of HTTP frontends, {limits('api_server_count')}."),
]
StartMethodOption = Annotated[
    StartMethod | None,
    _option(
        RUN,
        "start_method",
        "How children start: fork from one warm process, or spawn fresh ones; "
        "auto forks on the CPU and spawns on CUDA.",
    ),
]
Threads = Annotated[
    int | None,
    _option(
        RUN,
        "threads",
        f"OpenMP threads of each worker, {limits('threads')}; "
        "by default one core stays free and the rest is shared.",
    ),
]
DistributedExecutorBackend = Annotated[
    Executor | None,
    _option(
        RUN,
        "distributed_executor_backend",
        "uni runs the worker inside the engine process, mp in processes of its own.",
    ),
]
ReadyTimeout = Annotated[
    float | None,
    _option(
        RUN,
        "ready_timeout_s",
        f"Seconds that a child may take to become ready, {limits('ready_timeout_s')}.",
    ),
]
StopTimeout = Annotated[
    float | None,
    _option(
        RUN,
        "stop_timeout_s",
        f"Seconds from SIGTERM to SIGKILL when a child is stopped, {limits('stop_timeout_s')}.",
    ),
]

ServedModelName = Annotated[
    list[str] | None,
    _option(
        MODEL,
        "served_model_name",
        "Name by which requests choose the model; repeat for more, the first stands in answers.",
        metavar="NAME",
    ),
]
DtypeOption = Annotated[
    Dtype | None, _option(MODEL, "dtype", "Type of weights and activations; bfloat16 on the CPU.")
]
Quantization = Annotated[
    str | None,
    _option(
        MODEL, "quantization", "Quantization, if the model does not say.", "--quantization", "-q"
    ),
]
LoadFormat = Annotated[
    str | None,
    _option(MODEL, "load_format", "Format of the weights; dummy: random ones.", metavar="NAME"),
]
Tokenizer = Annotated[
    str | None,
    _option(MODEL, "tokenizer", "Another tokenizer: a Hugging Face id, a folder.", metavar="NAME"),
]
TrustRemoteCode = Annotated[
    bool | None, _flag(MODEL, "trust_remote_code", "Run Python code that comes with the model.")
]
ChatTemplate = Annotated[
    str | None,
    _option(
        MODEL, "chat_template", "Chat template: a file, or the text in one line.", metavar="FILE"
    ),
]
GenerationConfig = Annotated[
    str | None,
    _option(
        MODEL,
        "generation_config",
        "Folder with default sampling parameters; auto takes the model's, vllm takes none.",
        metavar="NAME",
    ),
]
EnableAutoToolChoice = Annotated[
    bool | None,
    _flag(MODEL, "enable_auto_tool_choice", "Let the model decide to call tools; needs a parser."),
]
ToolCallParser = Annotated[
    str | None,
    _option(MODEL, "tool_call_parser", "vLLM's parser for the model's tool calls.", metavar="NAME"),
]
ReasoningParser = Annotated[
    str | None,
    _option(MODEL, "reasoning_parser", "vLLM's parser for this model's reasoning.", metavar="NAME"),
]
Seed = Annotated[int | None, _option(MODEL, "seed", f"Seed of the engine, {limits('seed')}.")]

MaxModelLen = Annotated[
    str | None,
    _option(
        ENGINE,
        "max_model_len",
        "Longest prompt plus answer in tokens, such as 4096 or 4k; "
        "auto takes the longest that fits.",
        metavar="TOKENS",
    ),
]
MaxNumSeqs = Annotated[
    int | None, _option(ENGINE, "max_num_seqs", "Most sequences that one step computes.")
]
MaxNumBatchedTokens = Annotated[
    str | None,
    _option(
        ENGINE,
        "max_num_batched_tokens",
        "Most tokens that one step computes, such as 2048 or 8k.",
        metavar="TOKENS",
    ),
]
KvCacheMemoryBytes = Annotated[
    str | None,
    _option(
        ENGINE,
        "kv_cache_memory_bytes",
        "Size of the KV cache in bytes, such as 256M or 1G; "
        "on the CPU taken at the start, as a whole.",
        metavar="BYTES",
    ),
]
GpuMemoryUtilization = Annotated[
    float | None,
    _option(
        ENGINE,
        "gpu_memory_utilization",
        f"Share of a GPU's memory that an engine may use, {limits('gpu_memory_utilization')}.",
    ),
]
EnforceEager = Annotated[
    bool | None,
    _flag(ENGINE, "enforce_eager", "Run without compilation; the default on the CPU."),
]
EnablePrefixCaching = Annotated[
    bool | None, _flag(ENGINE, "enable_prefix_caching", "Reuse the KV cache of equal beginnings.")
]
TensorParallelSize = Annotated[
    int | None,
    _option(
        ENGINE,
        "tensor_parallel_size",
        "Number of workers that share each layer.",
        "--tensor-parallel-size",
        "-tp",
    ),
]
PipelineParallelSize = Annotated[
    int | None,
    _option(
        ENGINE,
        "pipeline_parallel_size",
        "Number of workers that share the layers out; above 1 is not built yet.",
        "--pipeline-parallel-size",
        "-pp",
    ),
]
DataParallelSize = Annotated[
    int | None,
    _option(
        ENGINE,
        "data_parallel_size",
        "Number of copies of the engine; above 1 is not built yet.",
        "--data-parallel-size",
        "-dp",
    ),
]

LogLevelOption = Annotated[
    LogLevel | None,
    _option(
        OUTPUT,
        "log_level",
        "Show what engines and frontends log from this level on. Without it: warnings, once the "
        "server is ready.",
    ),
]
Quiet = Annotated[bool | None, _option(OUTPUT, "quiet", "Say only what went wrong.")]
Verbose = Annotated[bool | None, _option(OUTPUT, "verbose", "Say more about each step.")]

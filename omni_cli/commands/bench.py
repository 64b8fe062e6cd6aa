"""``omni bench``: measure a server."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from omni_cli import options
from omni_cli.bench.bounds import MAX_CONCURRENCY, MAX_PROMPTS

__all__ = ["app"]

app = typer.Typer(name="bench", help="Measure how fast a server answers, and how fast it starts.")

# Of one request; beyond it nobody waits
DEFAULT_REQUEST_TIMEOUT_S = 600.0
DEFAULT_MAX_SECONDS = 3600.0
DEFAULT_PROMPTS = 100
DEFAULT_CONCURRENCY = 8
DEFAULT_LENGTH = "128"
DEFAULT_START_TIMEOUT_S = 600.0

_LOAD = "Load"
_PROMPTS = "Prompts"
_REPORT = "Report"


class EndpointName(StrEnum):
    """Routes that can be measured."""

    CHAT = "chat"
    COMPLETIONS = "completions"
    EMBEDDINGS = "embeddings"


RequestTimeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        help="Longest time of one request, and longest wait for a server that is starting.",
        rich_help_panel="Server",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        help="Served model to ask; the first one that suits the endpoint unless given.",
        rich_help_panel="Server",
    ),
]
EndpointOption = Annotated[
    EndpointName,
    typer.Option("--endpoint", help="Route to put under load.", rich_help_panel="Server"),
]
NumPrompts = Annotated[
    int | None,
    typer.Option(
        "--num-prompts",
        "-n",
        metavar="N",
        min=1,
        max=MAX_PROMPTS,
        help=f"Requests to measure; {DEFAULT_PROMPTS}, or as many as the dataset has, "
        "unless given.",
        rich_help_panel=_LOAD,
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        "--concurrency",
        "-c",
        metavar="N",
        min=1,
        max=MAX_CONCURRENCY,
        help=f"Requests in flight at most; {DEFAULT_CONCURRENCY} unless a rate is given.",
        rich_help_panel=_LOAD,
    ),
]
RequestRate = Annotated[
    float | None,
    typer.Option(
        "--request-rate",
        metavar="PER_SECOND",
        min=0.001,
        help="Send requests at this mean rate, at the times of a Poisson process.",
        rich_help_panel=_LOAD,
    ),
]
Warmup = Annotated[
    int,
    typer.Option(
        "--warmup",
        metavar="N",
        min=0,
        help="Requests sent before, which count for nothing.",
        rich_help_panel=_LOAD,
    ),
]
MaxSeconds = Annotated[
    float,
    typer.Option(
        "--max-seconds",
        metavar="SECONDS",
        min=0.1,
        help="End after this time, warm-up included, done or not; not done exits with 1.",
        rich_help_panel=_LOAD,
    ),
]
LoadSeed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        help="Seed of the prompts and of the times of sending.",
        rich_help_panel=_LOAD,
    ),
]
InputLen = Annotated[
    str | None,
    typer.Option(
        "--input-len",
        metavar="N|MIN:MAX",
        help="Words of a random prompt, about as many tokens.",
        show_default=DEFAULT_LENGTH,
        rich_help_panel=_PROMPTS,
    ),
]
OutputLen = Annotated[
    str | None,
    typer.Option(
        "--output-len",
        metavar="N|MIN:MAX",
        help="Longest answer, in tokens.",
        show_default=DEFAULT_LENGTH,
        rich_help_panel=_PROMPTS,
    ),
]
Dataset = Annotated[
    Path | None,
    typer.Option(
        "--dataset",
        metavar="FILE",
        help="Take the prompts from a JSONL file instead: lines with prompt, messages or input, "
        "or batch lines.",
        rich_help_panel=_PROMPTS,
    ),
]
IgnoreEos = Annotated[
    bool,
    typer.Option(
        "--ignore-eos",
        help="Ask for answers of exactly the output length (vLLM's ignore_eos).",
        rich_help_panel=_PROMPTS,
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        metavar="X",
        min=0.0,
        help="Randomness; the server's own unless given.",
        rich_help_panel=_PROMPTS,
    ),
]
ChunkUsage = Annotated[
    bool,
    typer.Option(
        "--chunk-usage",
        help="Ask for a token count with each chunk (vLLM's continuous_usage_stats), "
        "which costs the server some time.",
        rich_help_panel=_REPORT,
    ),
]
Goodput = Annotated[
    list[str] | None,
    typer.Option(
        "--goodput",
        metavar="NAME:MS...",
        help="Count the requests within these limits, in milliseconds: ttft:500 tpot:50 e2e:9000.",
        rich_help_panel=_REPORT,
    ),
]
Percentiles = Annotated[
    str,
    typer.Option(
        "--percentiles",
        metavar="LIST",
        help="Which percentiles to tell, 0 to 100.",
        rich_help_panel=_REPORT,
    ),
]
LoadJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object instead of text.", rich_help_panel=_REPORT),
]
Save = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FILE",
        help="Write a line of JSON for each request.",
        rich_help_panel=_REPORT,
    ),
]


@app.command(context_settings={"allow_extra_args": True})
def serve(
    ctx: typer.Context,
    url: options.Url = options.DEFAULT_URL,
    api_key: options.ApiKey = None,
    timeout: RequestTimeout = DEFAULT_REQUEST_TIMEOUT_S,
    ca_file: options.CaFile = None,
    insecure: options.Insecure = False,
    model: Model = None,
    endpoint: EndpointOption = EndpointName.CHAT,
    num_prompts: NumPrompts = None,
    concurrency: Concurrency = None,
    request_rate: RequestRate = None,
    warmup: Warmup = 1,
    max_seconds: MaxSeconds = DEFAULT_MAX_SECONDS,
    seed: LoadSeed = 0,
    input_len: InputLen = None,
    output_len: OutputLen = None,
    dataset: Dataset = None,
    ignore_eos: IgnoreEos = False,
    temperature: Temperature = None,
    goodput: Goodput = None,
    percentiles: Percentiles = "50,90,95,99",
    chunk_usage: ChunkUsage = False,
    json: LoadJson = False,
    save: Save = None,
) -> None:
    """Put any OpenAI-style server under load and tell how it answered.

    Failures are told first; with one of them the exit code is 1.

      omni bench serve --num-prompts 200 --concurrency 16
      omni bench serve --request-rate 4 --goodput ttft:500 tpot:50 --json
    """
    from omni_cli.bench.serve import bench_serve
    from omni_cli.bench.wishes import load_wishes
    from omni_cli.client.target import Target

    target = Target.parse(
        url, api_key=api_key, timeout_s=timeout, ca_file=ca_file, insecure=insecure
    )
    wishes = load_wishes(
        endpoint=str(endpoint),
        model=model,
        count=num_prompts,
        default_count=DEFAULT_PROMPTS,
        concurrency=concurrency or (None if request_rate else DEFAULT_CONCURRENCY),
        rate=request_rate,
        warmup=warmup,
        seed=seed,
        max_seconds=max_seconds,
        input_len=input_len,
        output_len=output_len,
        default_length=DEFAULT_LENGTH,
        dataset=dataset,
        ignore_eos=ignore_eos,
        temperature=temperature,
        chunk_usage=chunk_usage,
        goodput=goodput,
        extra=ctx.args,
        percentiles=percentiles,
    )
    raise typer.Exit(bench_serve(target, wishes, as_object=json, save=save))


ServeWords = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- ARGS",
        help="Words of `omni serve`.",
        show_default=False,
    ),
]
Pairs = Annotated[
    int,
    typer.Option("--pairs", metavar="N", min=1, max=1000, help="Starts of each server to measure."),
]
StartWarmup = Annotated[
    int,
    typer.Option(
        "--warmup",
        metavar="N",
        min=0,
        max=100,
        help="Starts of each server before, which fill the caches and count for nothing.",
    ),
]
StartTimeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", min=1.0, help="Longest wait for one start."),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="COMMAND",
        help="Another server to start in turn; {port} in it stands for a free port.",
    ),
]
AgainstReady = Annotated[
    str | None,
    typer.Option(
        "--against-ready",
        metavar="URL",
        help="Answers 200 once that server is ready; may hold {port}.",
        show_default="http://127.0.0.1:{port}/health",
    ),
]
StartJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


@app.command()
def startup(
    args: ServeWords = None,
    pairs: Pairs = 3,
    warmup: StartWarmup = 1,
    against: Against = None,
    against_ready: AgainstReady = None,
    timeout: StartTimeout = DEFAULT_START_TIMEOUT_S,
    json: StartJson = False,
) -> None:
    """Measure how long `omni serve` takes to be ready, and its memory then.

    With --against another server is started in turn with it, and the two are compared pair by pair.

      omni bench startup -- smollm2-135m-instruct --api-server-count 4
      omni bench startup --against "vllm serve MODEL --port {port}" -- MODEL
    """
    from omni_cli.bench.startup import bench_startup, omni_side, other_side
    from omni_cli.chat.console import ended_by_signals

    if against_ready is not None and against is None:
        from engine_bridge.errors import UsageError

        raise UsageError("--against-ready", against_ready, "needs --against")
    sides = [omni_side(args or ())]
    if against is not None:
        sides.append(other_side(against, against_ready))
    with ended_by_signals():
        code = bench_startup(sides, pairs=pairs, warmup=warmup, timeout_s=timeout, as_object=json)
    raise typer.Exit(code)

"""`omni serve`: flags to settings, and one call."""

from __future__ import annotations

import typer

from omni_cli.serve import options

__all__ = ["serve"]


def serve(
    target: options.Target = None,
    host: options.Host = None,
    port: options.Port = None,
    api_server_count: options.ApiServerCount = None,
    start_method: options.StartMethodOption = None,
    threads: options.Threads = None,
    distributed_executor_backend: options.DistributedExecutorBackend = None,
    ready_timeout_s: options.ReadyTimeout = None,
    stop_timeout_s: options.StopTimeout = None,
    served_model_name: options.ServedModelName = None,
    dtype: options.DtypeOption = None,
    quantization: options.Quantization = None,
    load_format: options.LoadFormat = None,
    tokenizer: options.Tokenizer = None,
    trust_remote_code: options.TrustRemoteCode = None,
    chat_template: options.ChatTemplate = None,
    generation_config: options.GenerationConfig = None,
    enable_auto_tool_choice: options.EnableAutoToolChoice = None,
    tool_call_parser: options.ToolCallParser = None,
    reasoning_parser: options.ReasoningParser = None,
    seed: options.Seed = None,
    max_model_len: options.MaxModelLen = None,
    max_num_seqs: options.MaxNumSeqs = None,
    max_num_batched_tokens: options.MaxNumBatchedTokens = None,
    kv_cache_memory_bytes: options.KvCacheMemoryBytes = None,
    gpu_memory_utilization: options.GpuMemoryUtilization = None,
    enforce_eager: options.EnforceEager = None,
    enable_prefix_caching: options.EnablePrefixCaching = None,
    tensor_parallel_size: options.TensorParallelSize = None,
    pipeline_parallel_size: options.PipelineParallelSize = None,
    data_parallel_size: options.DataParallelSize = None,
    log_level: options.LogLevelOption = None,
    quiet: options.Quiet = None,
    verbose: options.Verbose = None,
) -> None:
    """Serve a model, or a pipeline of models, over HTTP until interrupted.

    Every option can also be given by the environment, as OMNI_ and its name (OMNI_PORT=8080);
    a flag wins over the environment, and both win over a pipeline file.
    """
    given = dict(locals())  # first of all: the parameters alone, named as the settings' fields
    from omni_cli.serve.entry import serve as run

    raise typer.Exit(run(given))

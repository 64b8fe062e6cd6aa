"""What omni says otherwise about vLLM's flags.

Spellings, kind and negative form stay vLLM's; other attributes are replaced by those that stand
here: who uses the value, bounds, defaults, and help where ours is plainer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omni_cli.flags.own import CROSS_ORIGIN, LISTENING, OUTPUT, PROCESSES, SECURITY, SETTINGS

__all__ = ["CHANGED", "GROUP_TEXTS"]

# A frontend takes some 150 MB, so 64 of them 10 GB; vLLM's own scheduler has no more ranks than
# this in practice.
MAX_API_SERVER_COUNT = 64
MAX_PARALLEL_SIZE = 1024
# No model reads more; above, a typing error is likelier.
MAX_MODEL_LEN = 100_000_000
MAX_NUM_SEQS = 1_000_000
MAX_BYTES = 2**50
# One head is held in memory as a whole.
MAX_HEAD_BYTES = 2**24
MAX_HEADER_COUNT = 10_000

CHANGED: Mapping[str, Mapping[str, Any]] = {
    "host": {
        "scope": "run",
        "common": True,
        "nullable": False,
        "default": "127.0.0.1",
        "group": LISTENING,
        "metavar": "HOST",
        "help": "Address to listen on: a name, IPv4, IPv6.",
    },
    "port": {
        "scope": "run",
        "common": True,
        "low": 0,
        "high": 65_535,
        "group": LISTENING,
        "help": "Port to listen on; 0 takes any free one.",
    },
    "root_path": {
        "scope": "run",
        "group": LISTENING,
        "metavar": "PATH",
        "help": ("Prefix under which a proxy publishes the server, such as /llm."),
    },
    "disable_fastapi_docs": {
        "scope": "run",
        "group": LISTENING,
        "help": ("Serve neither /docs nor /openapi.json."),
    },
    "api_key": {
        "scope": "run",
        "common": True,
        "secret": True,
        "repeatable": True,
        "group": SECURITY,
        "metavar": "KEY",
        "help": "Ask every request but liveness for a key; several words, or repeat for more. "
        "--api-key-file and OMNI_API_KEY keep it out of the process list.",
    },
    "ssl_certfile": {
        "scope": "run",
        "group": SECURITY,
        "metavar": "FILE",
        "help": ("PEM file of the certificate chain; speaks HTTPS. Read again when it changes."),
    },
    "ssl_keyfile": {
        "scope": "run",
        "group": SECURITY,
        "metavar": "FILE",
        "help": ("PEM file of the certificate's private key."),
    },
    "ssl_ca_certs": {
        "scope": "run",
        "group": SECURITY,
        "metavar": "FILE",
        "help": ("PEM file of the authorities that sign clients' certificates."),
    },
    "ssl_cert_reqs": {
        "scope": "run",
        "group": SECURITY,
        "low": 0,
        "high": 2,
        "help": ("Whether clients need a certificate: 0 no, 1 checked if sent, 2 required."),
    },
    "ssl_ciphers": {
        "scope": "run",
        "group": SECURITY,
        "metavar": "LIST",
        "help": ("OpenSSL's list of ciphers for TLS 1.2."),
    },
    "h11_max_incomplete_event_size": {
        "scope": "run",
        "low": 1024,
        "high": MAX_HEAD_BYTES,
        "default": 64 * 1024,
        "group": SECURITY,
        "metavar": "BYTES",
        "help": "Longest request line with its headers, in bytes; a longer one gets 431.",
    },
    "h11_max_header_count": {
        "scope": "run",
        "low": 1,
        "high": MAX_HEADER_COUNT,
        "default": 128,
        "group": SECURITY,
        "help": "Most headers of one request; more get 431.",
    },
    "allowed_origins": {
        "scope": "run",
        "group": CROSS_ORIGIN,
        "metavar": "LIST",
        "help": ('JSON list of the origins whose pages may call; ["*"] allows all.'),
    },
    "allowed_methods": {
        "scope": "run",
        "group": CROSS_ORIGIN,
        "metavar": "LIST",
        "help": ("JSON list of the methods that they may use."),
    },
    "allowed_headers": {
        "scope": "run",
        "group": CROSS_ORIGIN,
        "metavar": "LIST",
        "help": ("JSON list of the headers that they may send."),
    },
    "allow_credentials": {
        "scope": "run",
        "group": CROSS_ORIGIN,
        "help": ("Let them send cookies and the like."),
    },
    "api_server_count": {
        "scope": "run",
        "common": True,
        "low": 1,
        "high": MAX_API_SERVER_COUNT,
        "default": 1,
        "group": PROCESSES,
        "help": "Number of HTTP frontends.",
    },
    "distributed_executor_backend": {
        "scope": "run",
        "choices": ("uni", "mp"),
        "known": (),
        "nullable": False,
        "group": PROCESSES,
        "help": "uni runs the worker inside the engine process, mp in processes of its own.",
    },
    "config": {
        "scope": "run",
        "common": True,
        "group": SETTINGS,
        "metavar": "FILE",
        "help": "Read settings from a YAML or TOML file; flags and variables win over it.",
    },
    "log_level": {
        "scope": "run",
        "choices": ("debug", "info", "warning", "error"),
        "folded": True,
        "group": OUTPUT,
        "help": "Show what engines and frontends log from this level on. Without it: warnings, "
        "once the server is ready.",
    },
    "model": {
        "scope": "run",
        "default": None,
        "metavar": "TARGET",
        "help": "The same as TARGET, for lines written for vLLM.",
    },
    "served_model_name": {
        "scope": "run",
        "common": True,
        "repeatable": True,
        "metavar": "NAME",
        "help": "Names by which requests choose the model; the first stands in answers.",
    },
    "dtype": {
        "common": True,
        "default": None,
        "help": "Type of weights and activations; bfloat16 on the CPU.",
    },
    "quantization": {"metavar": "NAME", "help": "Quantization, if the model does not say."},
    "load_format": {"metavar": "NAME"},
    "max_lora_rank": {"metavar": "N"},
    "tokenizer": {"metavar": "NAME", "help": "Another tokenizer: a Hugging Face id, a folder."},
    "trust_remote_code": {"common": True, "help": "Run Python code that comes with the model."},
    "chat_template": {
        "metavar": "FILE",
        "help": ("Chat template: a file, or the text in one line."),
    },
    "enable_auto_tool_choice": {
        "common": True,
        "help": ("Let the model decide to call tools; needs --tool-call-parser."),
    },
    "tool_call_parser": {
        "common": True,
        "metavar": "NAME",
        "help": ("vLLM's parser for the model's tool calls, or one of --tool-parser-plugin."),
    },
    "reasoning_parser": {
        "metavar": "NAME",
        "help": ("vLLM's parser for this model's reasoning, or one of --reasoning-parser-plugin."),
    },
    "seed": {"low": 0, "high": 2**32 - 1, "help": "Seed of the engine."},
    "max_model_len": {
        "common": True,
        "low": 1,
        "high": MAX_MODEL_LEN,
        "metavar": "TOKENS",
        "help": "Longest prompt plus answer in tokens, such as 4096 or 4k; auto takes the longest "
        "that fits.",
    },
    "max_num_seqs": {
        "common": True,
        "high": MAX_NUM_SEQS,
        "help": ("Most sequences that one step computes."),
    },
    "max_num_batched_tokens": {
        "high": MAX_MODEL_LEN,
        "metavar": "TOKENS",
        "help": ("Most tokens that one step computes, such as 2048 or 8k."),
    },
    "kv_cache_memory_bytes": {
        "common": True,
        "low": 2**20,
        "high": MAX_BYTES,
        "metavar": "BYTES",
        "help": "Size of the KV cache in bytes, such as 256M or 1G; on the CPU taken at the "
        "start, as a whole.",
    },
    "gpu_memory_utilization": {
        "common": True,
        "help": ("Share of a GPU's memory that an engine may use."),
    },
    "enforce_eager": {
        "default": None,
        "help": "Run without compilation; the default on the CPU, unless a flag says how to "
        "compile.",
    },
    "enable_log_requests": {
        "help": "Log each request with its parameters; without --log-level, info is shown."
    },
    "enable_log_outputs": {
        "help": "Log answers as well; needs --enable-log-requests. Without --log-level, info is "
        "shown."
    },
    "enable_logging_iteration_details": {
        "help": "Log what each step computes and how long it takes; without --log-level, info is "
        "shown."
    },
    "enable_prefix_caching": {"help": "Reuse the KV cache of equal beginnings."},
    "tensor_parallel_size": {
        "common": True,
        "high": MAX_PARALLEL_SIZE,
        "help": ("Number of workers that share each layer."),
    },
    "pipeline_parallel_size": {
        "high": MAX_PARALLEL_SIZE,
        "help": ("Number of workers that share the layers out; above 1 is not built yet."),
    },
    "data_parallel_size": {
        "high": MAX_PARALLEL_SIZE,
        "help": ("Number of copies of the engine; above 1 is not built yet."),
    },
    # What is the case anyway may be said.
    "data_parallel_size_local": {"default": 1},
    "sse_keep_alive_interval": {"low": 0},
    "optimization_level": {
        "names": ("--optimization-level", "-O"),
        "choices": ("0", "1", "2", "3"),
        "default": "2",
    },
    "hf_token": {"secret": True, "metavar": "[TOKEN]"},
}

GROUP_TEXTS: Mapping[str, str] = {
    "AttentionConfig": "Which attention kernels run.",
    "CacheConfig": "The KV cache: its size, its type, what is reused.",
    "CompilationConfig": "CUDA graphs and their sizes.",
    "Frontend": "How requests are read and answered: templates, tools, logs of requests.",
    "KernelConfig": "Which kernels compute experts and linear layers.",
    "LoRAConfig": "Adapters (LoRA): how many, how large, of which type.",
    "LoadConfig": "Where weights come from, and how they are read.",
    "LoggingConfig": "How vLLM's own lines look.",
    "MambaConfig": "State-space models (Mamba).",
    "ModelConfig": "The model: its type, length, tokenizer, revision, overrides.",
    "MultiModalConfig": "Pictures, sound and video: limits, caches, encoders.",
    "ObservabilityConfig": "Metrics and traces.",
    "OffloadConfig": "Weights that are kept in the CPU's memory.",
    "ParallelConfig": "Several GPUs, engines, machines.",
    "SchedulerConfig": "What one step computes, and who waits.",
    "Server": "What does not belong to one of vLLM's configurations.",
    "StructuredOutputsConfig": "Reasoning, and answers of a given form.",
    "VllmConfig": "Whole configurations at once, as JSON or with dots.",
}
"""What vLLM's groups are about; vLLM's own texts name the classes behind them."""

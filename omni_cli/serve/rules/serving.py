"""Rows about tools, logs and metrics: what vLLM checks right after it has read its line."""

from __future__ import annotations

from engine_bridge.suggest import did_you_mean
from omni_cli.flags.catalogue import catalogue
from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.models import TINY
from omni_cli.serve.rules.rule import Example, Found, Rule

__all__ = ["ROWS"]

_SERVE = "vllm/entrypoints/launchers/cli_args.py validate_parsed_serve_args"
_GRPC = "vllm/entrypoints/launchers/cli_args.py validate_grpc_port_arg"
_PARSERS = "vllm/entrypoints/launchers/launcher.py validate_api_server_args"
_OBSERVABILITY = "vllm/config/observability.py ObservabilityConfig"

# The bundled chat model brings a parser of its own, so examples take another model.
_TINY = "./tiny --load-format dummy"
_FOLDER = {"tiny/config.json": TINY}


def _drafting(line: Line) -> bool:
    """Whether speculative decoding is on."""
    return any(
        line.value(dest) is not None
        for dest in ("speculative_config", "spec_method", "spec_model", "spec_tokens")
    )


def _metrics_of_drafts(line: Line) -> Found:
    asked = line.text("per_request_spec_decode_metrics")
    return asked not in ("", "none") and not _drafting(line)


def _unknown_parser(line: Line, dest: str, plugin: str) -> Found:
    """A parser that vLLM does not bring; plugins of any kind may bring it."""
    name, known = line.text(dest), catalogue().by_dest[dest].known
    if not name or name in known or line.text(plugin) or line.facts.plugins:
        return False
    return {"hint": did_you_mean(name, known, f"it knows {', '.join(known)}")}


ROWS = (
    Rule(
        id="tools-without-parser",
        flags=("enable_auto_tool_choice", "tool_call_parser"),
        when=lambda line: line.on("enable_auto_tool_choice") and not line.text("tool_call_parser"),
        reason="needs a parser for the model's tool calls",
        way_out="add --tool-call-parser",
        source=_SERVE,
        example=Example(words=f"{_TINY} --enable-auto-tool-choice", files=_FOLDER),
        allowed=Example(
            words=f"{_TINY} --enable-auto-tool-choice --tool-call-parser hermes", files=_FOLDER
        ),
    ),
    Rule(
        id="parser-without-tools",
        flags=("tool_call_parser", "enable_auto_tool_choice"),
        when=lambda line: (
            bool(line.text("tool_call_parser")) and not line.on("enable_auto_tool_choice")
        ),
        reason="does nothing unless the model may decide to call tools",
        way_out="add --enable-auto-tool-choice",
        example=Example(words=f"{_TINY} --tool-call-parser hermes", files=_FOLDER),
        allowed=Example(
            words=f"{_TINY} --tool-call-parser hermes --enable-auto-tool-choice", files=_FOLDER
        ),
    ),
    Rule(
        id="tool-parser-unknown",
        flags=("tool_call_parser",),
        when=lambda line: (
            _unknown_parser(line, "tool_call_parser", "tool_parser_plugin")
            if line.on("enable_auto_tool_choice")
            else False
        ),
        reason="is no parser of vLLM",
        way_out="{hint}",
        source=_PARSERS,
        example=Example(
            words=f"{_TINY} --tool-call-parser herms --enable-auto-tool-choice", files=_FOLDER
        ),
        allowed=Example(
            words=f"{_TINY} --tool-call-parser hermes --enable-auto-tool-choice", files=_FOLDER
        ),
    ),
    Rule(
        id="reasoning-parser-unknown",
        flags=("reasoning_parser",),
        when=lambda line: _unknown_parser(line, "reasoning_parser", "reasoning_parser_plugin"),
        reason="is no parser of vLLM",
        way_out="{hint}",
        source=_PARSERS,
        example=Example(words="--reasoning-parser deepseek_r2"),
        allowed=Example(words="--no-enable-log-requests"),
    ),
    Rule(
        id="logged-outputs",
        flags=("enable_log_outputs", "enable_log_requests"),
        when=lambda line: line.on("enable_log_outputs") and not line.on("enable_log_requests"),
        reason="is part of the log of requests",
        way_out="add --enable-log-requests",
        source=_SERVE,
        example=Example(words="--enable-log-outputs"),
        allowed=Example(words="--enable-log-outputs --enable-log-requests"),
    ),
    Rule(
        id="request-metrics",
        flags=("enable_per_request_metrics", "disable_log_stats"),
        when=lambda line: line.on("enable_per_request_metrics") and line.on("disable_log_stats"),
        reason="needs the statistics that {disable_log_stats} switches off",
        way_out="give one of them",
        source=_SERVE,
        example=Example(words="--enable-per-request-metrics --disable-log-stats"),
        allowed=Example(words="--enable-per-request-metrics"),
    ),
    Rule(
        id="grpc-twice",
        flags=("grpc_port", "grpc"),
        each="run",
        when=lambda line: line.number("grpc_port") is not None and line.on("grpc"),
        reason="and {grpc} each ask for a gRPC server of another kind",
        way_out="give one of them",
        source=_GRPC,
        example=Example(words="--grpc-port 50051 --grpc"),
        allowed=Example(words="--port 0"),
    ),
    Rule(
        id="detailed-traces",
        flags=("collect_detailed_traces", "otlp_traces_endpoint"),
        when=lambda line: (
            bool(line.value("collect_detailed_traces")) and not line.text("otlp_traces_endpoint")
        ),
        reason="has nowhere to send traces to",
        way_out="add --otlp-traces-endpoint",
        source=f"{_OBSERVABILITY}._validate_tracing_config",
        example=Example(words="--collect-detailed-traces all"),
        allowed=Example(words="--no-enable-log-requests"),
    ),
    Rule(
        id="draft-metrics",
        flags=("per_request_spec_decode_metrics",),
        when=_metrics_of_drafts,
        reason="measures speculative decoding, which is off",
        way_out="add --speculative-config, or leave it out",
        source="vllm/config/vllm.py VllmConfig.__post_init__",
        example=Example(words="--per-request-spec-decode-metrics summary"),
        allowed=Example(
            words="--per-request-spec-decode-metrics summary --spec-method ngram --spec-tokens 3"
        ),
    ),
)

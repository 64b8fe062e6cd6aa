"""Rows about the JSON objects that vLLM takes, and flags that say the same as a key of one."""

from __future__ import annotations

from collections.abc import Callable

from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.rule import CUDA, Example, Found, Rule

__all__ = ["ROWS"]

_CREATE = "vllm/engine/arg_utils.py EngineArgs.create_engine_config"
_COMPILATION = "vllm/config/compilation.py CompilationConfig.__post_init__"
_STRUCTURED = (
    "vllm/config/structured_outputs.py StructuredOutputsConfig._validate_structured_output_config"
)
_PROFILER = "vllm/config/profiler.py ProfilerConfig._validate_profiler_config"
_POOLER = "vllm/config/pooler.py PoolerConfig"
_ENGRAM = "vllm/config/engram.py EngramConfig._validate_shared_memory"


def _one(dest: str, value: str, key: str, **example: str) -> Rule:
    """A flag and a key of an object that say the same: vLLM takes only one of them."""
    flag = f"--{dest.replace('_', '-')}"
    words = f"{flag} {value}".rstrip()
    twice = example.get("twice", f"--{key.replace('_', '-', key.partition('.')[0].count('_'))}")
    return Rule(
        id=f"twice-{dest.replace('_', '-')}",
        flags=(dest, key),
        when=lambda line: line.given(dest) and line.value(key) not in (None, [], {}),
        reason=f"is said a second time by {{{key}}}",
        way_out="give one of them",
        source=_CREATE,
        example=Example(words=f"{words} {twice} {example['also']}"),
        allowed=Example(words=words),
    )


def _paired(config: str, key: str, needed: str) -> Callable[[Line], Found]:
    return lambda line: (
        line.value(f"{config}.{key}") is not None and not line.value(f"{config}.{needed}")
    )


def _priorities(line: Line) -> Found:
    given = line.value("ir_op_priority")
    for name in given if isinstance(given, dict) else ():
        if given[name] and line.value(f"kernel_config.ir_op_priority.{name}"):  # type: ignore[index]
            return {
                "blame": f"ir_op_priority.{name}",
                "other": line.subject(f"kernel_config.ir_op_priority.{name}"),
            }
    return False


def _operators(line: Line) -> Found:
    ops = line.value("compilation_config.custom_ops")
    if not isinstance(ops, list) or not all(isinstance(op, str) for op in ops):
        return False
    for op in ops:
        if op not in ("all", "none") and (len(op) < 2 or op[0] not in "+-"):
            return {"why": f"holds {op}, which is neither all nor none, +name nor -name"}
    if {"all", "none"} <= set(ops):
        return {"why": "holds both all and none"}
    signs = {op[1:]: {o[0] for o in ops if o[1:] == op[1:]} for op in ops if op[0] in "+-"}
    twice = next((name for name, found in signs.items() if found == {"+", "-"}), None)
    return {"why": f"switches {twice} on and off"} if twice else False


def _piecewise(line: Line) -> Found:
    mode = line.value("compilation_config.mode")
    backend = line.value("compilation_config.backend")
    compiles = mode in (3, "3") or str(mode).upper() == "VLLM_COMPILE"
    return compiles and backend not in (None, "", "eager", "inductor")


def _white_space(line: Line) -> Found:
    asked = line.value("structured_outputs_config.disable_any_whitespace") is True
    backend = line.value("structured_outputs_config.backend")
    return asked and backend not in ("xgrammar", "guidance")


def _pooling_twice(line: Line) -> Found:
    if line.value("pooler_config.pooling_type") is None:
        return False
    for key in ("seq_pooling_type", "tok_pooling_type"):
        if line.value(f"pooler_config.{key}") is not None:
            return {"key": key}
    return False


_PROTON = ("proton_backend", "proton_mode", "proton_hook", "proton_output_format")


def _other_profiler(line: Line) -> Found:
    profiler = line.value("profiler_config.profiler")
    torch = ("torch_profiler_dir", "torch_profiler_activities", "capture_torch_profiler")
    owned = {key: "torch" for key in torch} | dict.fromkeys(_PROTON, "proton")
    for key, owner in owned.items():
        if line.value(f"profiler_config.{key}") not in (None, False, "") and profiler != owner:
            return {"blame": f"profiler_config.{key}", "owner": owner}
    return False


def _profiler_folder(line: Line) -> Found:
    profiler = line.value("profiler_config.profiler")
    missing = profiler in ("torch", "proton") and not line.value(
        f"profiler_config.{profiler}_profiler_dir"
    )
    return {"key": f"{profiler}_profiler_dir"} if missing else False


ROWS = (
    _one(
        "attention_backend",
        "FLASH_ATTN",
        "attention_config.backend",
        also="FLASH_ATTN",
    ),
    _one(
        "enable_flashinfer_autotune",
        "",
        "kernel_config.enable_flashinfer_autotune",
        also="true",
    ),
    _one(
        "cudagraph_capture_sizes",
        "1 2",
        "compilation_config.cudagraph_capture_sizes",
        also="[1,2]",
    ),
    _one(
        "max_cudagraph_capture_size",
        "4",
        "compilation_config.max_cudagraph_capture_size",
        also="4",
    ),
    Rule(
        id="twice-ir-op-priority",
        flags=("ir_op_priority", "kernel_config"),
        when=_priorities,
        reason="is said a second time by {other}",
        way_out="give one of them",
        source=_CREATE,
        example=Example(
            words="--ir-op-priority.rms_norm native --kernel-config.ir_op_priority.rms_norm native"
        ),
        allowed=Example(words="--ir-op-priority.rms_norm native"),
    ),
    Rule(
        id="compilation-backend",
        flags=("compilation_config.backend", "compilation_config.mode"),
        when=_piecewise,
        reason="cannot compile a model in pieces",
        way_out="use inductor or eager, or another mode",
        source=_COMPILATION,
        example=Example(words='--compilation-config \'{"mode": 3, "backend": "openxla"}\''),
        allowed=Example(words='--compilation-config \'{"mode": 3, "backend": "inductor"}\''),
    ),
    Rule(
        id="compilation-operators",
        flags=("compilation_config.custom_ops",),
        when=_operators,
        reason="{why}",
        way_out="give all or none first, then +name or -name",
        source=_COMPILATION,
        example=Example(words='--compilation-config \'{"custom_ops": ["all", "none"]}\''),
        allowed=Example(words='--compilation-config \'{"custom_ops": ["none"]}\''),
    ),
    Rule(
        id="grammar-white-space",
        flags=(
            "structured_outputs_config.disable_any_whitespace",
            "structured_outputs_config.backend",
        ),
        when=_white_space,
        reason="is known to xgrammar and guidance alone",
        way_out="set backend to one of them",
        source=_STRUCTURED,
        example=Example(words="--structured-outputs-config '{\"disable_any_whitespace\": true}'"),
        allowed=Example(
            words="--structured-outputs-config"
            ' \'{"disable_any_whitespace": true, "backend": "xgrammar"}\''
        ),
    ),
    Rule(
        id="grammar-properties",
        flags=(
            "structured_outputs_config.disable_additional_properties",
            "structured_outputs_config.backend",
        ),
        when=lambda line: (
            line.value("structured_outputs_config.disable_additional_properties") is True
            and line.value("structured_outputs_config.backend") != "guidance"
        ),
        reason="is known to guidance alone",
        way_out="set backend to guidance",
        source=_STRUCTURED,
        example=Example(
            words="--structured-outputs-config '{\"disable_additional_properties\": true}'"
        ),
        allowed=Example(
            words="--structured-outputs-config"
            ' \'{"disable_additional_properties": true, "backend": "guidance"}\''
        ),
    ),
    Rule(
        id="profiler-folder",
        flags=("profiler_config.profiler",),
        when=_profiler_folder,
        reason="has nowhere to write to",
        way_out="set {key}",
        source=_PROFILER,
        example=Example(words="--profiler-config.profiler torch"),
        allowed=Example(
            words="--profiler-config.profiler torch --profiler-config.torch_profiler_dir /tmp"
        ),
    ),
    Rule(
        id="profiler-options",
        flags=("profiler_config",),
        when=_other_profiler,
        reason="is an option of the profiler {owner}",
        way_out="set profiler to {owner}, or leave it out",
        source=_PROFILER,
        example=Example(words="--profiler-config.torch_profiler_dir /tmp"),
        allowed=Example(
            words="--profiler-config.torch_profiler_dir /tmp --profiler-config.profiler torch"
        ),
    ),
    Rule(
        id="profiler-proton-on-cpu",
        flags=("profiler_config.profiler",),
        when=lambda line: line.value("profiler_config.profiler") == "proton" and line.cpu,
        reason="needs CUDA",
        way_out="use torch",
        source="vllm/config/vllm.py VllmConfig._validate_profiler_config",
        example=Example(
            words="--profiler-config.profiler proton --profiler-config.proton_profiler_dir /tmp"
        ),
        allowed=Example(
            words="--profiler-config.profiler torch --profiler-config.torch_profiler_dir /tmp"
        ),
    ),
    Rule(
        id="pooling-twice",
        flags=("pooler_config.pooling_type",),
        when=_pooling_twice,
        reason="is said a second time by {key}",
        way_out="give one of them",
        source=f"{_POOLER}.__post_init__",
        example=Example(
            words='--pooler-config \'{"pooling_type": "MEAN", "seq_pooling_type": "CLS"}\''
        ),
        allowed=Example(words='--pooler-config \'{"pooling_type": "MEAN"}\''),
    ),
    Rule(
        id="pooling-deviation",
        flags=("pooler_config.logit_sigma",),
        when=lambda line: (
            line.value("pooler_config.logit_sigma") in (0, 0.0)
            and line.value("pooler_config.logit_sigma") is not False
        ),
        reason="would divide by zero",
        way_out="give another number, or leave it out",
        source=f"{_POOLER}.__post_init__",
        example=Example(words="--pooler-config '{\"logit_sigma\": 0}'"),
        allowed=Example(words="--pooler-config '{\"logit_sigma\": 1}'"),
    ),
    Rule(
        id="kv-transfer-role",
        flags=("kv_transfer_config.kv_connector",),
        when=_paired("kv_transfer_config", "kv_connector", "kv_role"),
        reason="needs a role",
        way_out="set kv_role to kv_producer, kv_consumer or kv_both",
        source="vllm/config/kv_transfer.py KVTransferConfig.__post_init__",
        example=Example(words="--kv-transfer-config.kv_connector ExampleConnector"),
        allowed=Example(
            words="--kv-transfer-config.kv_connector ExampleConnector"
            " --kv-transfer-config.kv_role kv_both"
        ),
    ),
    Rule(
        id="kv-transfer-connector",
        flags=("kv_transfer_config.kv_role",),
        when=_paired("kv_transfer_config", "kv_role", "kv_connector"),
        reason="has no connector to play it",
        way_out="set kv_connector",
        source="vllm/distributed/kv_transfer/kv_connector/factory.py KVConnectorFactory",
        example=Example(words="--kv-transfer-config.kv_role kv_both"),
        allowed=Example(
            words="--kv-transfer-config.kv_role kv_both"
            " --kv-transfer-config.kv_connector ExampleConnector"
        ),
    ),
    Rule(
        id="kv-transfer-moving-memory",
        flags=("kv_transfer_config.kv_connector", "enable_cumem_allocator"),
        when=lambda line: (
            "expandable_segments:True" in line.facts.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")
            and bool(line.value("kv_transfer_config.kv_connector"))
            and not line.on("enable_cumem_allocator")
        ),
        reason="needs memory that stays where it is, and PYTORCH_CUDA_ALLOC_CONF lets it move",
        way_out="unset PYTORCH_CUDA_ALLOC_CONF",
        source="vllm/config/vllm.py VllmConfig._verify_kv_transfer_compat",
        example=Example(
            words="--kv-transfer-config.kv_connector ExampleConnector"
            " --kv-transfer-config.kv_role kv_both",
            environ={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
        ),
        allowed=Example(
            words="--kv-transfer-config.kv_connector ExampleConnector"
            " --kv-transfer-config.kv_role kv_both"
        ),
    ),
    Rule(
        id="encoder-transfer-role",
        flags=("ec_transfer_config.ec_connector",),
        when=_paired("ec_transfer_config", "ec_connector", "ec_role"),
        reason="needs a role",
        way_out="set ec_role to ec_producer, ec_consumer or ec_both",
        source="vllm/config/ec_transfer.py ECTransferConfig.__post_init__",
        example=Example(words="--ec-transfer-config.ec_connector X"),
        allowed=Example(
            words="--ec-transfer-config.ec_connector X --ec-transfer-config.ec_role ec_both"
        ),
    ),
    Rule(
        id="encoder-cache-manager",
        flags=("ec_manager_config.manager_config",),
        when=_paired("ec_manager_config", "manager_config", "encoder_cache_manager_cls"),
        reason="is for a manager of your own, and none is named",
        way_out="set encoder_cache_manager_cls",
        source="vllm/config/ec_manager_config.py EncoderCacheManagerConfig.__post_init__",
        example=Example(words='--ec-manager-config \'{"manager_config": {"a": 1}}\''),
        allowed=Example(words="--ec-manager-config '{}'"),
    ),
    Rule(
        id="engram-shared-memory",
        flags=("engram_config.dp_shared_memory",),
        when=lambda line: (
            line.value("engram_config.dp_shared_memory") is True
            and line.value("engram_config.cpu_offload") is False
        ),
        reason="shares what is kept on the CPU, and cpu_offload is false",
        way_out="set cpu_offload to true",
        source=_ENGRAM,
        example=Example(
            words='--engram-config \'{"dp_shared_memory": true, "cpu_offload": false}\'',
            facts=CUDA,
        ),
        allowed=Example(
            words='--engram-config \'{"dp_shared_memory": true, "cpu_offload": true}\'',
            facts=CUDA,
        ),
    ),
)

"""vLLM's arguments and configuration, and what else of vLLM 0.32 this package relies on.

One module for all that imports vLLM, which takes ten seconds.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import stat
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine_bridge import stage_link, vllm_env
from engine_bridge.models import store

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]
MODEL = "smollm2-135m-instruct"


def load(name: str) -> Any:
    """Import a module whose import warns of much that is not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


@pytest.fixture(scope="module")
def config() -> Any:
    return load("engine_bridge.vllm_config")


@pytest.fixture
def environment() -> Iterator[None]:
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def parse(config: Any, arguments: Mapping[str, object]) -> Any:
    return config.parse("/models/m", ("m", "other"), arguments)


# ------------------------------------------------------------------------- arguments


def test_model_and_names_are_set(config: Any) -> None:
    args = parse(config, {})
    assert (args.model, args.served_model_name) == ("/models/m", ["m", "other"])


def test_a_model_may_look_like_a_flag(config: Any) -> None:
    assert config.parse("--port", ("m",), {}).model == "--port"


@pytest.mark.parametrize(
    ("given", "dest", "value"),
    [
        ({"max-model-len": 512}, "max_model_len", 512),
        ({"max_model_len": 512}, "max_model_len", 512),
        ({"--max-model-len": "1k"}, "max_model_len", 1000),
        ({"enforce_eager": True}, "enforce_eager", True),
        ({"enforce_eager": False}, "enforce_eager", False),
        ({"enable-prefix-caching": False}, "enable_prefix_caching", False),
        ({"enable_prefix_caching": True}, "enable_prefix_caching", True),
        ({"enable-auto-tool-choice": False}, "enable_auto_tool_choice", False),
        ({"gpu_memory_utilization": 0.5}, "gpu_memory_utilization", 0.5),
        ({"dtype": "bfloat16"}, "dtype", "bfloat16"),
        ({"seed": None}, "seed", None),
        ({"hf-overrides": {"a": {"b": 1}}}, "hf_overrides", {"a": {"b": 1}}),
        ({"limit_mm_per_prompt": {"image": 2}}, "limit_mm_per_prompt", {"image": 2}),
        ({"chat_template": "{{ a = b }}"}, "chat_template", "{{ a = b }}"),
        ({"tokenizer": "--looks-like-a-flag"}, "tokenizer", "--looks-like-a-flag"),
        ({"lora-modules": ["a=/b", "c=/d"]}, "lora_modules", None),
        ({"lora-modules": ["a=/b", {"name": "c", "path": "/d"}]}, "lora_modules", None),
        ({"prefix_cache_retention_interval": None}, "prefix_cache_retention_interval", None),
        ({"dtype": None}, "dtype", "auto"),
        ({"tokenizer": None}, "tokenizer", None),
        ({"hf_token": True}, "hf_token", True),
        ({"hf_token": "abc"}, "hf_token", "abc"),
        ({"ignore_patterns": ["-a"]}, "ignore_patterns", ["-a"]),
        ({"ignore_patterns": ["a", "b"]}, "ignore_patterns", ["a", "b"]),
    ],
)
def test_argument_is_read(
    config: Any, given: Mapping[str, object], dest: str, value: object
) -> None:
    got = getattr(parse(config, given), dest)
    if dest == "lora_modules":
        assert [(each.name, each.path) for each in got] == [("a", "/b"), ("c", "/d")]
    elif dest == "seed":
        assert got == getattr(parse(config, {}), dest)
    else:
        assert got == value


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"max-modl-len": 1}, "vLLM has no argument --max-modl-len; did you mean max-model-len?"),
        ({"zzqqxx": 1}, "vLLM has no argument --zzqqxx"),
        ({"max-model-len": "many"}, "--max-model-len"),
        ({"dtype": "float7"}, "--dtype"),
        ({"chat-template": "/no/such/file"}, "/no/such/file"),
        ({"enforce-eager": "yes"}, "--enforce-eager takes true or false, not 'yes'"),
        (
            {"enable-auto-tool-choice": True},
            "--enable-auto-tool-choice requires --tool-call-parser",
        ),
    ],
)
def test_argument_is_refused_in_one_line(
    config: Any, given: Mapping[str, object], part: str
) -> None:
    with pytest.raises(config.ArgumentRejected) as caught:
        parse(config, given)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


# --------------------------------------------------------------------------- plugins


def test_plugins_are_imported(config: Any) -> None:
    plugin = Path("./omni_test_parsers.py")
    plugin.write_text(
        "from vllm.reasoning import ReasoningParser, ReasoningParserManager\n"
        "from vllm.tool_parsers import ToolParser, ToolParserManager\n"
        "@ToolParserManager.register_module('omni-test')\n"
        "class Tools(ToolParser): pass\n"
        "@ReasoningParserManager.register_module('omni-test')\n"
        "class Thoughts(ReasoningParser): pass\n"
    )
    wishes = {
        "tool_parser_plugin": "./omni_test_parsers.py",
        "reasoning_parser_plugin": str(plugin.absolute()),
    }
    config.load_plugins(parse(config, wishes))
    tools = load("vllm.tool_parsers").ToolParserManager.get_tool_parser("omni-test")
    thoughts = load("vllm.reasoning").ReasoningParserManager.get_reasoning_parser("omni-test")
    assert (tools.__name__, thoughts.__name__) == ("Tools", "Thoughts")


def test_no_plugins_are_no_fault(config: Any) -> None:
    config.load_plugins(parse(config, {}))


def test_a_plugin_that_fails_is_named(config: Any, tmp_path: Path) -> None:
    plugin = tmp_path / "omni_broken_parsers.py"
    plugin.write_text("import no_such_module_of_ours\n")
    args = parse(config, {"tool_parser_plugin": str(plugin)})
    with pytest.raises(config.ArgumentRejected) as caught:
        config.load_plugins(args)
    assert str(caught.value) == f"--tool-parser-plugin {plugin} cannot be imported"


# --------------------------------------------------------------------- configuration


@pytest.fixture(scope="module")
def arguments(config: Any) -> Any:
    path = store.ModelStore(store.cache_root(os.environ)).find(MODEL)
    assert path is not None, f"omni models pull {MODEL}"
    wishes = {"enforce_eager": True, "kv_cache_memory_bytes": 64 << 20, "max_model_len": 256}
    args = config.parse(str(path), (MODEL,), {**wishes, "dtype": "bfloat16"})
    # The first one imports modules that write variables of their own, once in a process.
    before = dict(os.environ)
    config.build(args, clients=1)
    imported = set(os.environ) - set(before)
    assert not imported & set(vllm_env.CHANGED_BY_VLLM)
    return args


@pytest.mark.usefixtures("environment")
def test_configuration_survives_its_file(config: Any, arguments: Any, tmp_path: Path) -> None:
    before = dict(os.environ)
    built = config.build(arguments, clients=3)
    assert dict(os.environ) == before, "vLLM's changes are undone"
    assert built.parallel_config._api_process_count == 3
    path = tmp_path / "config"
    config.save(path, built, arguments)
    assert list(tmp_path.iterdir()) == [path]
    assert stat.S_ISREG(path.stat().st_mode)
    loaded, args = config.load(path)
    assert vars(args) == vars(arguments)
    assert loaded.model_config.model == built.model_config.model
    assert loaded.model_config.max_model_len == 256
    assert loaded.cache_config.kv_cache_memory_bytes == 64 << 20
    assert loaded.compute_hash() == built.compute_hash()
    # Each process has a copy of its own.
    assert config.load(path)[0] is not loaded


@pytest.mark.usefixtures("environment")
def test_late_interaction_is_switched_off_in_the_engine_too(config: Any, arguments: Any) -> None:
    args = type(arguments)(**{**vars(arguments), "enable_flash_late_interaction": False})
    pooler = config.build(args, clients=1).model_config.pooler_config
    assert pooler is not None
    assert pooler.enable_flash_late_interaction is False


@pytest.mark.usefixtures("environment")
def test_every_variable_that_vllm_writes_is_known(config: Any, arguments: Any) -> None:
    engine_args = config.AsyncEngineArgs.from_cli_args(arguments)
    before = dict(os.environ)
    engine_args.create_engine_config(usage_context=config.UsageContext.OPENAI_API_SERVER)
    changed = {name for name, value in os.environ.items() if before.get(name) != value}
    changed |= set(before) - set(os.environ)
    assert changed, "vLLM for the CPU writes some"
    assert changed <= set(vllm_env.CHANGED_BY_VLLM)


# ------------------------------------------------------------- what we rely on of vLLM


def test_utility_answers_lie_where_the_parent_reads_them() -> None:
    engine = load("vllm.v1.engine")
    serial = load("vllm.v1.serial_utils")
    fields = [field.name for field in msgspec.structs.fields(engine.EngineCoreOutputs)]
    assert fields[stage_link.UTILITY_OUTPUT] == "utility_output"
    gauges = {"running": 1, "waiting": 0, "kv_cache_usage": 0.25}
    answer = engine.UtilityOutput(call_id=7, result=serial.UtilityResult(gauges))
    frames = serial.MsgpackEncoder().encode(engine.EngineCoreOutputs(utility_output=answer))
    decoded = msgspec.msgpack.decode(frames[0])
    call_id, failure, result = decoded[stage_link.UTILITY_OUTPUT]
    assert (call_id, failure, result[1]) == (7, None, gauges)
    failed = engine.UtilityOutput(call_id=8, failure_message="no")
    frames = serial.MsgpackEncoder().encode(engine.EngineCoreOutputs(utility_output=failed))
    call_id, failure, _ = msgspec.msgpack.decode(frames[0])[stage_link.UTILITY_OUTPUT]
    assert (call_id, failure) == (8, "no")


def test_words_of_the_engine_are_ours() -> None:
    assert load("vllm.v1.engine").EngineCoreRequestType.UTILITY.value == stage_link.UTILITY
    core = load("vllm.v1.engine.core").EngineCoreProc
    assert core.ENGINE_CORE_DEAD == stage_link.ENGINE_CORE_DEAD
    assert load("vllm.v1.engine.utils").CoreEngine(0).identity == stage_link.ENGINE_IDENTITY


def test_handshake_is_read_by_the_engine() -> None:
    metadata = load("vllm.v1.engine.utils").EngineHandshakeMetadata
    reply = {"addresses": {"inputs": ["ipc://i"], "outputs": ["ipc://o"]}, "parallel_config": {}}
    read = msgspec.msgpack.decode(msgspec.msgpack.encode(reply), type=metadata)
    assert (read.addresses.inputs, read.addresses.outputs) == (["ipc://i"], ["ipc://o"])
    assert read.parallel_config == {}


def test_engine_takes_what_it_is_started_with() -> None:
    core = load("vllm.v1.engine.core").EngineCoreProc
    wanted = {"vllm_config", "local_client", "handshake_address", "executor_class", "log_stats"}
    assert wanted <= set(inspect.signature(core.__init__).parameters)
    kinds = [each.kind for each in inspect.signature(core.run_engine_core).parameters.values()]
    assert inspect.Parameter.VAR_KEYWORD in kinds


def test_client_takes_listeners() -> None:
    client = load("vllm.v1.engine.core_client").MPClient
    source = inspect.getsource(client.__init__)
    for key in ("input_address", "output_address", "input_listener", "output_listener"):
        assert f'"{key}"' in source
    maker = load("vllm.v1.engine.core_client").make_zmq_socket
    assert "listener" in inspect.signature(maker).parameters


def test_methods_that_we_add_have_what_they_call() -> None:
    extensions = load("engine_bridge.vllm_extensions")
    core = load("vllm.v1.engine.core").EngineCoreProc
    assert not hasattr(core, "omni_gauges"), "vLLM has a method of this name"
    scheduler = load("vllm.v1.core.sched.scheduler").Scheduler
    assert callable(scheduler.get_request_counts)
    assert isinstance(load("vllm.v1.core.kv_cache_manager").KVCacheManager.usage, property)
    try:
        extensions.install()
        assert core.omni_gauges is extensions.omni_gauges
    finally:
        del core.omni_gauges


def test_worker_that_we_bind_to_its_engine_is_vllms(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = load("engine_bridge.vllm_worker")
    proc = load("vllm.v1.executor.multiproc_executor").WorkerProc
    monkeypatch.setattr(proc, "worker_main", staticmethod(proc.worker_main))
    original = worker._vllm_worker_main
    assert original is proc.worker_main
    worker.install()
    assert proc.worker_main is worker.worker_main
    # A spawned worker finds it by name.
    assert worker.worker_main.__qualname__ == "worker_main"


def test_modules_of_the_zygote_are_there() -> None:
    preload = load("engine_bridge.preload")
    for name in (*preload.ENGINE_MODULES, *preload.ENGINE_CPU_MODULES):
        assert importlib.util.find_spec(name) is not None, name
    module, _, function = preload.ENGINE_TARGET.partition(":")
    assert callable(getattr(load(module), function))

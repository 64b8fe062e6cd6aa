"""Whether a run needs anything of the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from engine_bridge.plan import StagePlan

__all__ = ["hub_names", "is_offline"]

# Arguments that name a folder or a repository; some are words of vLLM's own instead.
_NAMING: Mapping[str, tuple[str, ...]] = {
    "generation_config": ("auto", "vllm"),
    "hf_config_path": (),
    "spec_model": ("[ngram]", "ngram", "ngram_gpu", "suffix"),
    "tokenizer": (),
}
# With either, a model's folder may take its Python code from another repository (``auto_map`` in
# its config.json).
_REMOTE_CODE = ("code_revision", "trust_remote_code")


def is_offline(stages: Iterable[StagePlan]) -> bool:
    """Whether everything that the stages name lies on this machine, so that no hub need be asked.

    Code that comes with a model counts as elsewhere: where it lies stands in files of the model.
    """
    return all(
        all(Path(name).exists() for name in hub_names(stage))
        and not any(stage.vllm_args.get(dest) for dest in _REMOTE_CODE)
        for stage in stages
    )


def hub_names(stage: StagePlan) -> Iterator[str]:
    """Everything that is loaded by name: a path, or the id of a repository.

    Source: ``ModelConfig`` and ``SpeculativeConfig`` in vllm/config, ``LoRAParserAction`` in
    vllm/entrypoints/launchers/cli_args.py.
    """
    args = stage.vllm_args
    named: list[object] = [stage.model_path]
    named += [args.get(dest) for dest, words in _NAMING.items() if args.get(dest) not in words]
    draft = args.get("speculative_config")
    if isinstance(draft, Mapping) and draft.get("model") not in _NAMING["spec_model"]:
        named.append(draft.get("model"))
    adapters = args.get("lora_modules")
    for each in adapters if isinstance(adapters, list | tuple) else ():
        named.append(each.get("path") if isinstance(each, Mapping) else _after_equals(each))
    by_kind = args.get("default_mm_loras")
    named += by_kind.values() if isinstance(by_kind, Mapping) else ()
    return (name for name in named if isinstance(name, str))


def _after_equals(adapter: object) -> str:
    return str(adapter).partition("=")[2]

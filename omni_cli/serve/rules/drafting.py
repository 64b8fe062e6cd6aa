"""Rows about speculative decoding."""

from __future__ import annotations

from collections.abc import Callable

from omni_cli.serve.rules.line import Line
from omni_cli.serve.rules.models import TINY
from omni_cli.serve.rules.rule import CUDA, Example, Found, Rule

__all__ = ["ROWS"]

_SPECULATIVE = "vllm/config/speculative.py SpeculativeConfig"
_CREATE = "vllm/engine/arg_utils.py EngineArgs.create_speculative_config"

_TINY = "./tiny --load-format dummy"
_FOLDER = {"tiny/config.json": TINY}

_SHORT = {"spec_method": "method", "spec_model": "model", "spec_tokens": "num_speculative_tokens"}
_OWN_MODEL = (
    "mtp",
    "dspark",
    "ngram",
    "[ngram]",
    "ngram_gpu",
    "suffix",
    "extract_hidden_states",
    "custom_class",
)
"""Methods that need no second model, or that say so in words of their own."""

# EAGLE's kinds, and the others that vLLM's asynchronous scheduler knows (vllm/config/vllm.py).
_NOT_ASYNC = ("ngram", "[ngram]", "suffix", "medusa", "mlp_speculator")


def _key(line: Line, key: str) -> object:
    """A key of the speculative configuration, whichever flag gives it."""
    for short, name in _SHORT.items():
        if name == key and (value := line.value(short)) is not None:
            return value
    return line.value(f"speculative_config.{key}")


def _drafts(line: Line) -> bool:
    asked = ("speculative_config", *_SHORT)
    return any(line.value(dest) is not None for dest in asked)


def _method(line: Line) -> str:
    return str(_key(line, "method") or "")


def _tokens(line: Line) -> int | None:
    found = _key(line, "num_speculative_tokens")
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _twice(line: Line) -> Found:
    return [
        {"blame": short, "other": line.subject(f"speculative_config.{key}")}
        for short, key in _SHORT.items()
        if line.value(short) is not None and line.value(f"speculative_config.{key}") is not None
    ]


def _no_model(line: Line) -> Found:
    return (
        _tokens(line) is not None
        and _key(line, "model") is None
        and _method(line) not in _OWN_MODEL
        and not _method(line).endswith("_mtp")
    )


def _no_tokens(line: Line) -> Found:
    return _method(line) in ("ngram", "[ngram]", "ngram_gpu") and _tokens(line) is None


def _too_few_tokens(line: Line) -> Found:
    tokens = _tokens(line)
    return tokens is not None and tokens < 1


def _lookup(line: Line) -> Found:
    low = line.number("speculative_config.prompt_lookup_min")
    high = line.number("speculative_config.prompt_lookup_max")
    return low is not None and high is not None and low > high


def _is(key: str, *values: object) -> Callable[[Line], bool]:
    return lambda line: line.value(f"speculative_config.{key}") in values


_synthetic = _is("rejection_sample_method", "synthetic")


def _rates(line: Line) -> tuple[object, object]:
    prefix = "speculative_config.synthetic_acceptance_"
    return line.value(f"{prefix}rates"), line.value(f"{prefix}length")


def _bad_rates(line: Line) -> Found:
    rates, tokens = _rates(line)[0], _tokens(line)
    if not _synthetic(line) or not isinstance(rates, list) or tokens is None:
        return False
    if len(rates) != tokens:
        return {"why": f"must hold {tokens} rates, one for each draft token"}
    numbers = [rate for rate in rates if isinstance(rate, int | float)]
    if any(not 0 <= rate <= 1 for rate in numbers):
        return {"why": "must hold rates from 0 to 1"}
    falls = all(after <= before for before, after in zip(numbers, numbers[1:], strict=False))
    return False if falls else {"why": "must not rise from one draft token to the next"}


def _draft_tensor(line: Line) -> Found:
    draft = line.number("speculative_config.draft_tensor_parallel_size")
    size = line.number("tensor_parallel_size") or 1
    if _key(line, "model") is None or draft is None or draft in (1, size):
        return False
    return {"size": size}


def _asynchronous(line: Line) -> Found:
    return line.on("async_scheduling") and _method(line) in _NOT_ASYNC


def _config(**keys: str) -> str:
    return " ".join(f"--speculative-config.{key} {value}" for key, value in keys.items())


_NGRAM = _config(method="ngram", num_speculative_tokens="3")
_DRAFT = f"{_TINY} " + _config(method="draft_model", model="./tiny", num_speculative_tokens="3")

ROWS = (
    Rule(
        id="drafting-twice",
        flags=(*_SHORT, "speculative_config"),
        when=_twice,
        reason="is said a second time by {other}",
        way_out="give one of them",
        source=_CREATE,
        example=Example(words=f"--spec-method ngram {_NGRAM}"),
        allowed=Example(words="--spec-method ngram --spec-tokens 3"),
    ),
    Rule(
        id="drafting-without-model",
        flags=("spec_tokens", "speculative_config.num_speculative_tokens"),
        when=_no_model,
        reason="has nothing that drafts",
        way_out="add --spec-model, or --spec-method ngram",
        source=f"{_SPECULATIVE}.__post_init__",
        example=Example(words="--spec-tokens 3"),
        allowed=Example(words="--spec-tokens 3 --spec-method ngram"),
    ),
    Rule(
        id="drafting-without-count",
        flags=("spec_method", "speculative_config.method"),
        when=_no_tokens,
        reason="needs the number of tokens to draft",
        way_out="add --spec-tokens",
        source=f"{_SPECULATIVE}._verify_args",
        example=Example(words="--spec-method ngram"),
        allowed=Example(words="--spec-method ngram --spec-tokens 3"),
    ),
    Rule(
        id="drafting-count",
        flags=("speculative_config.num_speculative_tokens",),
        when=_too_few_tokens,
        reason="must be a whole number of at least 1",
        source=f"{_SPECULATIVE}",
        example=Example(words=_config(method="ngram", num_speculative_tokens="0")),
        allowed=Example(words=_NGRAM),
    ),
    Rule(
        id="drafting-lookup",
        flags=("speculative_config.prompt_lookup_min", "speculative_config.prompt_lookup_max"),
        when=_lookup,
        reason="is more than {speculative_config.prompt_lookup_max} "
        "{speculative_config.prompt_lookup_max.value}",
        way_out="lower it",
        source=f"{_SPECULATIVE}.__post_init__",
        example=Example(words=f"{_NGRAM} {_config(prompt_lookup_min='5', prompt_lookup_max='3')}"),
        allowed=Example(words=f"{_NGRAM} {_config(prompt_lookup_min='3', prompt_lookup_max='3')}"),
    ),
    Rule(
        id="drafting-tensor-parallel-key",
        flags=("speculative_config.tensor_parallel_size",),
        when=lambda line: line.value("speculative_config.tensor_parallel_size") is not None,
        reason="is not the name of the draft model's size",
        way_out="write draft_tensor_parallel_size",
        source=f"{_SPECULATIVE}._verify_args",
        example=Example(words=f"{_NGRAM} {_config(tensor_parallel_size='1')}"),
        allowed=Example(words=f"{_NGRAM} {_config(draft_tensor_parallel_size='1')}"),
    ),
    Rule(
        id="drafting-tensor-parallel",
        flags=("speculative_config.draft_tensor_parallel_size", "tensor_parallel_size"),
        when=_draft_tensor,
        reason="must be 1 or that of the model, which is {size}",
        way_out="give one of these",
        source=f"{_SPECULATIVE}._verify_and_get_draft_tp",
        example=Example(words=f"{_DRAFT} {_config(draft_tensor_parallel_size='2')}", files=_FOLDER),
        allowed=Example(words=f"{_DRAFT} {_config(draft_tensor_parallel_size='1')}", files=_FOLDER),
    ),
    Rule(
        id="drafting-synthetic-missing",
        flags=(
            "speculative_config.rejection_sample_method",
            "speculative_config.synthetic_acceptance_rates",
            "speculative_config.synthetic_acceptance_length",
        ),
        when=lambda line: (
            _synthetic(line) and (_rates(line)[0] is None) == (_rates(line)[1] is None)
        ),
        reason="needs either synthetic_acceptance_rates or synthetic_acceptance_length",
        way_out="give exactly one of them",
        source=f"{_SPECULATIVE}._resolve_synthetic_acceptance_rates",
        example=Example(words=f"{_NGRAM} {_config(rejection_sample_method='synthetic')}"),
        allowed=Example(
            words=f"{_NGRAM} "
            + _config(rejection_sample_method="synthetic", synthetic_acceptance_length="2")
        ),
    ),
    Rule(
        id="drafting-synthetic-unused",
        flags=(
            "speculative_config.synthetic_acceptance_rates",
            "speculative_config.synthetic_acceptance_length",
        ),
        when=lambda line: not _synthetic(line) and any(value is not None for value in _rates(line)),
        reason="is used by synthetic rejection alone",
        way_out="set rejection_sample_method to synthetic, or leave it out",
        source=f"{_SPECULATIVE}._verify_args",
        example=Example(words=f"{_NGRAM} {_config(synthetic_acceptance_length='2')}"),
        allowed=Example(words=_NGRAM),
    ),
    Rule(
        id="drafting-synthetic-rates",
        flags=("speculative_config.synthetic_acceptance_rates",),
        when=_bad_rates,
        reason="{why}",
        source=f"{_SPECULATIVE}._resolve_synthetic_acceptance_rates",
        example=Example(
            words=f"{_NGRAM} "
            + _config(
                rejection_sample_method="synthetic", synthetic_acceptance_rates="[0.5,0.6,0.1]"
            )
        ),
        allowed=Example(
            words=f"{_NGRAM} "
            + _config(
                rejection_sample_method="synthetic", synthetic_acceptance_rates="[0.6,0.5,0.1]"
            )
        ),
    ),
    Rule(
        id="drafting-other-vocabulary",
        flags=("speculative_config.use_heterogeneous_vocab",),
        when=lambda line: (
            _is("use_heterogeneous_vocab", True)(line)
            and _key(line, "model") is None
            and _method(line) != "draft_model"
        ),
        reason="is about a draft model, and there is none",
        way_out="leave it out",
        source=f"{_SPECULATIVE}._verify_args",
        example=Example(words=f"{_NGRAM} {_config(use_heterogeneous_vocab='true')}"),
        allowed=Example(words=f"{_NGRAM} {_config(use_heterogeneous_vocab='false')}"),
    ),
    Rule(
        id="drafting-other-vocabulary-sampling",
        flags=(
            "speculative_config.draft_sample_method",
            "speculative_config.use_heterogeneous_vocab",
        ),
        when=lambda line: (
            _is("use_heterogeneous_vocab", True)(line)
            and line.value("speculative_config.draft_sample_method") not in (None, "greedy")
        ),
        reason="must be greedy where the draft model has another vocabulary",
        way_out="use greedy, or leave it out",
        source=f"{_SPECULATIVE}._verify_args",
        example=Example(
            words=f"{_DRAFT} "
            + _config(use_heterogeneous_vocab="true", draft_sample_method="probabilistic"),
            files=_FOLDER,
        ),
        allowed=Example(
            words=f"{_DRAFT} "
            + _config(use_heterogeneous_vocab="false", draft_sample_method="probabilistic"),
            files=_FOLDER,
        ),
    ),
    Rule(
        id="drafting-length",
        flags=("speculative_config.max_model_len", "max_model_len"),
        when=lambda line: (
            _key(line, "model") is not None
            and line.less("max_model_len", "speculative_config.max_model_len")
        ),
        reason="is more than {max_model_len} {max_model_len.value} of the model",
        way_out="lower it, or leave it out",
        source=f"{_SPECULATIVE}._maybe_override_draft_max_model_len",
        example=Example(
            words=f"{_DRAFT} {_config(max_model_len='1000')} --max-model-len 500", files=_FOLDER
        ),
        allowed=Example(
            words=f"{_DRAFT} {_config(max_model_len='500')} --max-model-len 500", files=_FOLDER
        ),
    ),
    Rule(
        id="drafting-suffix",
        flags=("spec_method", "speculative_config.method"),
        when=lambda line: (
            _method(line) == "suffix" and "arctic_inference" not in line.facts.packages
        ),
        reason="needs the package arctic-inference, which is not installed",
        way_out="install it, or draft with ngram",
        source=f"{_SPECULATIVE}._validate_suffix_decoding",
        example=Example(
            words="--spec-method suffix --spec-tokens 3", facts={"packages": frozenset()}
        ),
        allowed=Example(words="--spec-method ngram --spec-tokens 3"),
    ),
    Rule(
        id="drafting-custom-class",
        flags=("spec_method", "speculative_config.method"),
        when=lambda line: (
            _method(line) == "custom_class"
            and _key(line, "model") is None
            and _tokens(line) is not None
        ),
        reason="needs the class that drafts",
        way_out="name it with --spec-model, as module.Class",
        source=f"{_SPECULATIVE}.__post_init__",
        example=Example(words="--spec-method custom_class --spec-tokens 3"),
        allowed=Example(words="--spec-method ngram --spec-tokens 3"),
    ),
    Rule(
        id="drafting-index-share",
        flags=("speculative_config.index_share_for_mtp_iteration",),
        when=lambda line: (
            line.value("speculative_config.index_share_for_mtp_iteration") is not None
            and _method(line) in ("ngram", "suffix", "eagle", "eagle3", "draft_model")
        ),
        reason="is about the method mtp alone",
        way_out="leave it out",
        source=f"{_SPECULATIVE}.__post_init__",
        example=Example(words=f"{_NGRAM} {_config(index_share_for_mtp_iteration='true')}"),
        allowed=Example(words=_NGRAM),
    ),
    Rule(
        id="drafting-asynchronous",
        flags=("async_scheduling", "spec_method", "speculative_config.method"),
        when=_asynchronous,
        reason="cannot wait for drafts of this kind",
        way_out="leave it out, or draft with a model",
        source="vllm/config/vllm.py VllmConfig.__post_init__",
        example=Example(words="--async-scheduling --spec-method ngram --spec-tokens 3"),
        allowed=Example(words="--no-async-scheduling --spec-method ngram --spec-tokens 3"),
    ),
    Rule(
        id="drafting-watermark",
        flags=("watermark_config", "spec_method", "speculative_config.method"),
        when=lambda line: (
            line.value("watermark_config") is not None
            and _drafts(line)
            and not _is("draft_sample_method", "probabilistic")(line)
        ),
        reason="needs drafts that are sampled",
        way_out="set draft_sample_method to probabilistic",
        source="vllm/config/vllm.py VllmConfig._check_supports_watermarking",
        example=Example(words=f"--watermark-config.key 1 {_NGRAM}", facts=CUDA),
        allowed=Example(
            words=f"--watermark-config.key 1 {_NGRAM} "
            + _config(draft_sample_method="probabilistic"),
            facts=CUDA,
        ),
    ),
)

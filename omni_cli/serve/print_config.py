"""``omni serve --print-config``: every effective value, and who gave it.

As YAML it is a settings file that asks for the same run: what was given is an entry. All else is a
comment, since it would come out of itself again, and elsewhere perhaps differently; so is every
secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from engine_bridge.plan import RuntimePlan, StagePlan
from omni_cli.flags.flag import Flag
from omni_cli.serve.facts import Facts
from omni_cli.serve.layer import LINE_ONLY, TARGET
from omni_cli.serve.problems import Origin
from omni_cli.serve.stages import StageWish
from server.settings import HttpPlan

if TYPE_CHECKING:
    import yaml

    from omni_cli.serve.settings import ServeSettings

__all__ = ["MASK", "as_json", "as_yaml"]

MASK = "***"
HOSTS = "allowed_hosts"
_WORKED_OUT = {
    "distributed_executor_backend": "default for this number of workers",
    "kv_cache_memory_bytes": "default for the free memory",
    "served_model_name": "default, the model's name",
    "threads": "default for the machine's cores",
}

# Column of the comments; a longer entry pushes its own to the right.
COMMENT_COLUMN = 44


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One value: ``key`` as in a settings file, ``by`` who gave it in words, ``asked`` if it can be
    asked for in a settings file and was."""

    key: str
    value: object
    origin: Origin
    by: str
    asked: bool = False


def as_json(
    settings: ServeSettings,
    http: HttpPlan,
    plan: RuntimePlan | None,
    stages: Sequence[StageWish],
    facts: Facts,
) -> str:
    """All flags, given or not, and the stages as they would run; one JSON object.

    Args:
        settings: Merged.
        http: Made of them.
        plan: None if there are problems; then there are no stages in the answer.
        stages: What the plan was made of.
        facts: What the plan was made with.
    """
    entries = [_target(settings), *(_setting(settings, flag) for flag in _answered(settings))]
    if not settings.given(HOSTS):
        entries.append(_hosts(settings, http))
    document: dict[str, Any] = {"settings": {each.key: _members(each) for each in entries}}
    if plan is not None:
        document["stages"] = [
            {
                "name": stage.name,
                "model": stage.model,
                "values": {each.key: _members(each) for each in _worked_out(stage, wish, facts)},
            }
            for stage, wish in zip(plan.stages, stages, strict=True)
        ]
    return f"{json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)}\n"


def as_yaml(
    settings: ServeSettings,
    http: HttpPlan,
    plan: RuntimePlan | None,
    stages: Sequence[StageWish],
    facts: Facts,
) -> str:
    """What was given, and as comments what omni sets itself, as a settings file.

    The arguments are those of ``as_json``.
    """
    lines = ["# omni serve --print-config", _line(_target(settings))]
    for flag in _answered(settings):
        if settings.given(flag.dest) or _has_default(settings, flag):
            lines.append(_line(_setting(settings, flag)))
    if not settings.given(HOSTS):
        lines.append(_line(_hosts(settings, http)))
    for stage, wish in zip(plan.stages if plan else (), stages, strict=plan is not None):
        lines += ["", f"# stage {stage.name}, model {stage.model}:"]
        lines += [_line(each) for each in _worked_out(stage, wish, facts) if not _is_given(each)]
    return "".join(f"{line}\n" for line in lines)


def _answered(settings: ServeSettings) -> Iterator[Flag]:
    """The flags that a run has values of, in the catalogue's order."""
    return (
        flag
        for flag in settings.flags
        if flag.scope != "refused" and flag.dest not in (*LINE_ONLY, TARGET)
    )


def _has_default(settings: ServeSettings, flag: Flag) -> bool:
    """Whether omni itself sets a value that is worth a line."""
    unset: tuple[object, ...] = (None, "", (), [])
    return flag.scope == "run" and not flag.secret and settings.value(flag.dest) not in unset


def _hosts(settings: ServeSettings, http: HttpPlan) -> _Entry:
    where = "on this machine alone" if http.allowed_hosts else "for other machines as well"
    return _Entry(
        key=_key(settings.flags.by_dest[HOSTS]),
        value=list(http.allowed_hosts) or ["*"],
        origin="default",
        by=f"default for a server {where}",
    )


def _target(settings: ServeSettings) -> _Entry:
    return _Entry(
        key=TARGET,
        value=settings.runtime.target,
        origin=settings.origin(TARGET),
        by=_by(settings, TARGET),
        asked=settings.given(TARGET),
    )


def _setting(settings: ServeSettings, flag: Flag) -> _Entry:
    value = settings.value(flag.dest)
    if flag.secret and value:
        value = MASK
    by = _by(settings, flag.dest)
    if flag.scope == "satisfied" and settings.given(flag.dest):
        by = f"{by}; changes nothing: {flag.reason}"
    return _Entry(
        key=_key(flag),
        value=value,
        origin=settings.origin(flag.dest),
        by=by,
        asked=settings.given(flag.dest) and not flag.secret,
    )


def _key(flag: Flag) -> str:
    return flag.name.lstrip("-")


def _by(settings: ServeSettings, dest: str) -> str:
    origin = settings.origin(dest)
    return origin if origin == "default" else f"{origin}: {settings.subject(dest)}"


def _worked_out(stage: StagePlan, wish: StageWish, facts: Facts) -> Iterator[_Entry]:
    """The values of one stage, whoever they come from."""
    values: dict[str, object] = {
        "served_model_name": list(stage.served_names),
        "distributed_executor_backend": stage.executor,
        "threads": stage.threads,
        **stage.vllm_args,
    }
    entry = facts.models[stage.name].entry
    bundled: Mapping[str, object] = entry.vllm_args if entry else {}
    for dest, value in values.items():
        flag = wish.settings.flags.by_dest.get(dest)
        origin = wish.origin(dest)
        if origin != "default":
            by = f"{origin}: {wish.subject(dest)}"
        elif dest in bundled:
            by = f"default of the bundled model {stage.model}"
        elif dest == "enforce_eager" and wish.compilation is not None:
            by = f"default beside {wish.subject(wish.compilation)}"
        else:
            by = _WORKED_OUT.get(dest, f"default on {facts.platform}")
        yield _Entry(
            key=_key(flag) if flag else dest.replace("_", "-"),
            value=MASK if flag and flag.secret and value else value,
            origin=origin,
            by=by,
        )


def _is_given(entry: _Entry) -> bool:
    return entry.origin not in ("default", "pipeline")


def _members(entry: _Entry) -> dict[str, object]:
    return {"value": entry.value, "origin": entry.origin, "by": entry.by}


def _line(entry: _Entry) -> str:
    # An entry with null counts as not given; "no value" is said as on the line.
    value = "None" if entry.asked and entry.value is None else _flow(entry.value)
    text = f"{entry.key}: {value}"
    if not entry.asked:
        text = f"# {text}"
    return f"{text:<{COMMENT_COLUMN}}  # {' '.join(entry.by.split())}"


@cache
def _dumper() -> type[yaml.SafeDumper]:
    """Writes a value once more wherever it stands, and quotes what cannot be seen."""
    import yaml  # noqa: PLC0415 - late: 40 ms

    class OneLine(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
        style = None if data.isprintable() else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style)

    OneLine.add_representer(str, text)
    return OneLine


def _flow(value: object) -> str:
    """A value as YAML in one line."""
    import yaml  # noqa: PLC0415 - late: 40 ms

    flow = yaml.dump(
        value,
        Dumper=_dumper(),
        default_flow_style=True,
        width=float("inf"),
        allow_unicode=True,
        sort_keys=False,
    )
    return flow.removesuffix("\n").removesuffix("...").removesuffix("\n")

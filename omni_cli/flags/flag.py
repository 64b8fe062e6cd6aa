"""One flag of ``omni serve``, whoever it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ENV_PREFIX", "Flag", "Kind", "Many", "Scope"]

ENV_PREFIX = "OMNI_"

Kind = Literal["switch", "integer", "number", "text", "count", "length", "json", "object"]
"""What a value is: ``switch`` takes none (``--x``, ``--no-x``); ``count`` is an integer that may be
written ``4k`` or ``2G``; ``length`` a count or ``auto``; ``json`` any JSON value; ``object`` a JSON
object, which dotted flags (``--x.key 3``) build as well."""

Many = Literal["one", "optional", "some"]
"""How many words the flag takes: one, none or one, one or more."""

Scope = Literal["stage", "run", "satisfied", "refused"]
"""Who uses the value: ``stage`` hands it to vLLM as an argument of every stage; ``run`` is a field
of omni's own settings; ``satisfied`` asks for what omni does anyway, so the value changes nothing;
``refused`` is answered with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One entry of the catalogue.

    Attributes:
        dest: The settings field and vLLM's destination (``tensor_parallel_size``); unique.
        names: Every spelling that gives the value or switches on, the canonical one first
            (``--tensor-parallel-size``, ``-tp``).
        off: Spellings that switch off (``--no-enforce-eager``); switches only.
        kind: What a value is.
        many: How many words it takes.
        repeatable: Whether a second use adds to the first; otherwise the last one wins.
        scope: Who uses it.
        choices: The only values allowed, as text; empty if free.
        low: Lowest value, or None; itself allowed unless ``above_low``.
        high: Highest value, or None; itself allowed unless ``below_high``.
        above_low: Whether ``low`` itself is excluded.
        below_high: Whether ``high`` itself is excluded.
        keys: Known keys of an ``object``, with dots for those inside of others; empty if free.
        inner: What must stand under some of those keys, each as a flag whose ``dest`` is the key.
        known: Some of the values of a free text, for help and completions.
        nullable: Whether ``None``, or an empty text, may be written for "no value".
        or_text: Whether an ``object`` may be a text as well, which names something.
        suffixes: Whether numbers inside an ``object`` may be written ``4k``.
        folded: Whether capitals and dashes of a choice do not matter (``Flash-Infer``).
        default: What is used if nobody gives it, as a JSON value; None if that is decided later.
        group: The title under which help shows it (``ModelConfig``, ``Listening``).
        vllm_group: vLLM's own title; empty for a flag of omni's.
        metavar: The value's placeholder in help.
        help: What it does, in sentences.
        common: Whether plain ``--help`` shows it.
        secret: Whether the value is masked wherever it would be shown.
        own: Whether it is omni's; vLLM's otherwise.
        reason: Why it is refused, or what makes it satisfied; no full stop.
        way_out: What to do instead; no full stop. May be empty.
        fulfilled: The value of a ``satisfied`` flag that asks for what omni does; any other is
            answered with a warning.
        deprecated: Whether vLLM will drop it.
    """

    dest: str
    names: tuple[str, ...]
    off: tuple[str, ...] = ()
    kind: Kind = "text"
    many: Many = "one"
    repeatable: bool = False
    scope: Scope = "stage"
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    above_low: bool = False
    below_high: bool = False
    keys: tuple[str, ...] = ()
    inner: tuple[Flag, ...] = ()
    known: tuple[str, ...] = ()
    nullable: bool = False
    or_text: bool = False
    suffixes: bool = False
    folded: bool = False
    default: object = None
    group: str = ""
    vllm_group: str = ""
    metavar: str = ""
    help: str = ""
    common: bool = False
    secret: bool = False
    own: bool = False
    reason: str = ""
    way_out: str = ""
    fulfilled: object = True
    deprecated: bool = False

    @property
    def name(self) -> str:
        """The canonical spelling."""
        return self.names[0]

    @property
    def variable(self) -> str:
        """The environment variable: ``OMNI_READY_TIMEOUT`` for ``--ready-timeout``."""
        return f"{ENV_PREFIX}{self.name.lstrip('-').replace('-', '_').upper()}"

    @property
    def positional(self) -> bool:
        """Whether it is given by its place on the line and not by name: TARGET."""
        return not self.names[0].startswith("-")

    @property
    def list_like(self) -> bool:
        """Whether its value is a list of what ``kind`` says."""
        return self.many == "some" or self.repeatable

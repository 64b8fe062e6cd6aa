"""All flags of ``omni serve`` in one place: vLLM's from the generated file, and omni's own.

Reading it costs a few milliseconds and imports nothing of vLLM.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import engine_bridge
from omni_cli.flags.changed import CHANGED, GROUP_TEXTS
from omni_cli.flags.dispositions import DISPOSITIONS, FORMER
from omni_cli.flags.flag import Flag
from omni_cli.flags.own import GROUPS, OWN

__all__ = ["Catalogue", "catalogue"]

VLLM_FLAGS = Path(engine_bridge.__file__).with_name("vllm_flags.json")

# Below, a suggestion is rather a guess (measured on the spellings of vLLM's issue tracker).
MIN_LIKENESS = 0.6
MAX_STEP = 0.15  # from the best one to one that is still named
MAX_SUGGESTIONS = 3
# Attributes that the file leaves out where they have their usual value, and that are lists there.
_LISTS = ("names", "off", "choices", "known", "keys")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every flag, found by spelling or destination.

    Attributes:
        by_dest: Flags by destination, in the order of help.
        groups: What each group is about, by title, in the order of help.
        spellings: Flags by each spelling, the negative ones included, exactly as written.
        vllm_groups: vLLM's own titles and texts.
        vllm_version: The version of vLLM that the file was made from.
        command: The command that has these flags, for messages.
        leading: A word that stands before TARGET (``INPUT``); empty if there is none.
    """

    by_dest: Mapping[str, Flag]
    groups: Mapping[str, str]
    vllm_groups: Mapping[str, str]
    vllm_version: str
    command: str = "omni serve"
    leading: str = ""
    spellings: Mapping[str, Flag] = field(init=False)

    def __post_init__(self) -> None:
        found = {
            name: flag for flag in self for name in (*flag.names, *flag.off) if not flag.positional
        }
        object.__setattr__(self, "spellings", found)

    def __iter__(self) -> Iterator[Flag]:
        return iter(self.by_dest.values())

    def find(self, word: str) -> Flag | None:
        """The flag that a word names: a spelling, with dashes or underscores, or a destination."""
        found = self.spellings.get(_dashed(word)) or self.by_dest.get(word.replace("-", "_"))
        return found or self.spellings.get(f"--{_dashed(word)}")

    def near(self, word: str) -> list[str]:
        """Spellings that are likely to be meant by an unknown word, best first."""
        wanted = _dashed(word).lstrip("-").lower()
        scores = {f"-{wanted}": 1.0} if f"-{wanted}" in self.spellings else {}
        for spelling in self.spellings:
            if spelling.startswith("--"):
                score = _likeness(wanted, spelling[2:])
                if score >= MIN_LIKENESS:
                    scores[spelling] = score
        best = sorted(
            scores, key=lambda each: (-scores[each], not self.spellings[each].common, each)
        )
        best = [each for each in best if scores[each] > scores[best[0]] - MAX_STEP]
        return _one_per_flag(best, self.spellings)[:MAX_SUGGESTIONS]

    def abbreviated(self, word: str) -> list[str]:
        """Spellings that begin like a word, as argparse takes abbreviations; none if the word is
        known to mean another flag: one that is gone, or a short one with a dash too many."""
        if _dashed(word) in FORMER or (word.startswith("--") and word[1:] in self.spellings):
            return []
        return [spelling for spelling in self.spellings if spelling.startswith(word)]

    def advice(self, word: str, *, as_key: bool = False) -> str:
        """What to write instead of an unknown flag.

        Args:
            word: The flag.
            as_key: Whether as a key of a file: the long name, without dashes in front.
        """
        former = FORMER.get(_dashed(word))
        if former:
            return former
        near = self.near(word)
        if as_key:
            near = [self._key(spelling) for spelling in near]
        if not near:
            return f"`{self.command} --help=all` lists every flag"
        listed = near[0] if len(near) == 1 else f"{', '.join(near[:-1])} or {near[-1]}"
        return f"did you mean {listed}?"

    def _key(self, spelling: str) -> str:
        long = spelling if spelling.startswith("--") else self.spellings[spelling].name
        return long.lstrip("-")


@functools.cache
def catalogue() -> Catalogue:
    """The catalogue, read once per process."""
    read = json.loads(VLLM_FLAGS.read_text("utf-8"))
    flags = {flag.dest: flag for flag in OWN}
    flags |= {dest: _flag(dest, entry) for dest, entry in read["flags"].items()}
    theirs = read["groups"] | GROUP_TEXTS
    groups = {**GROUPS, **theirs}
    place = {title: index for index, title in enumerate(groups)}
    used = {flag.group for flag in flags.values()}
    ordered = sorted(flags.values(), key=lambda flag: (place[flag.group], flag.name.lstrip("-")))
    return Catalogue(
        by_dest={flag.dest: flag for flag in ordered},
        groups={title: text for title, text in groups.items() if title in used},
        vllm_groups=theirs,
        vllm_version=read["vllm"],
    )


def _flag(dest: str, entry: dict[str, Any]) -> Flag:
    for key in _LISTS:
        if key in entry:
            entry[key] = tuple(entry[key])
    disposition = DISPOSITIONS.get(dest)
    if disposition is not None:
        entry |= {
            "scope": disposition.scope,
            "reason": disposition.reason,
            "way_out": disposition.way_out,
            "fulfilled": disposition.fulfilled,
        }
    entry["inner"] = tuple(_inner(key, each) for key, each in entry.get("inner", {}).items())
    entry |= {"dest": dest, "vllm_group": entry["group"], **CHANGED.get(dest, {})}
    return Flag(**entry)


def _inner(key: str, entry: dict[str, Any]) -> Flag:
    entry["choices"] = tuple(entry.get("choices", ()))
    return Flag(dest=key, names=(key,), **entry)


def _dashed(word: str) -> str:
    """Dashes for underscores, up to the first dot."""
    head, dot, rest = word.partition(".")
    return f"{head.replace('_', '-')}{dot}{rest}"


def _likeness(wanted: str, name: str) -> float:
    """How alike two names are, 0 to 1: as texts, or by the words that they share."""
    matcher = difflib.SequenceMatcher(None, wanted, name)
    alike = 0.0
    if matcher.real_quick_ratio() >= MIN_LIKENESS and matcher.quick_ratio() >= MIN_LIKENESS:
        alike = matcher.ratio()
    if sorted(wanted) == sorted(name):
        alike = max(alike, 0.95)  # letters changed places
    if name.startswith(wanted) and len(wanted) > 2:
        alike = max(alike, 0.8)
    parts, others = set(wanted.split("-")), set(name.split("-"))
    if len(parts) > 1 and parts <= others:
        alike = max(alike, 0.75 + 0.2 * len(parts) / len(others))
    return alike


def _one_per_flag(spellings: list[str], flags: Mapping[str, Flag]) -> list[str]:
    seen: set[str] = set()
    kept = []
    for spelling in spellings:
        if flags[spelling].dest not in seen:
            seen.add(flags[spelling].dest)
            kept.append(spelling)
    return kept

"""Reads the command line of ``omni serve``, driven by the catalogue.

It takes what vLLM's own parser takes and makes the same of it: argparse's rules (TARGET at any
place where argparse would take it, ``--x=v``, ``-qawq``, negative numbers as values, several words
up to the next flag, ``--`` ends the flags, the last use wins) after vLLM's own
(omni_cli/flags/words.py). It differs where argparse is less clear to a user: an abbreviation is
refused with the full name, and everything that is wrong is reported at once.

A flag of scope ``refused`` is given like any other: whoever merges the sources answers it, so that
a variable or a file is answered in the same words.

Source: ``ArgumentParser._parse_known_args`` of Python 3.11.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omni_cli.flags.catalogue import Catalogue
from omni_cli.flags.dispositions import remark
from omni_cli.flags.flag import Flag
from omni_cli.flags.parsed import Given, Parsed
from omni_cli.flags.values import BadValue, read_native, read_word
from omni_cli.flags.words import Line, is_number, normalised
from omni_cli.serve.problems import Problem

__all__ = ["parse"]

# Fields of Parsed; they are no settings.
_ASIDE = ("config", "print_config", "json", "help")
_SWITCH_WORDS = ("true", "false", "yes", "no", "on", "off", "1", "0")


def parse(words: Sequence[str], catalogue: Catalogue) -> Parsed:
    """Read a command line.

    Args:
        words: Everything after ``serve``, as the shell passes it.
        catalogue: The flags.

    Returns:
        What it gives, and everything that is wrong with it. Nothing is raised for what a user can
        write.
    """
    reader = _Reader(catalogue)
    reader.read(normalised(words))
    return reader.parsed()


class _Reader:
    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.given: dict[str, Given] = {}
        self.aside: dict[str, Any] = {}
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self.leading: str | None = None
        self.target: str | None = None
        self.line = Line()
        self.last_switch = ""

    def parsed(self) -> Parsed:
        model = self.given.pop("model", None)
        if model is not None and self.target is not None and model.value != self.target:
            reason = f"contradicts TARGET, which is {self.target}"
            self.problem(model.spelling, model.value, reason, "give one of them")
        if self.target is None and model is not None:
            self.target = str(model.value)
        return Parsed(
            leading=self.leading,
            target=self.target,
            given=self.given,
            problems=tuple(dict.fromkeys(self.problems)),
            warnings=tuple(dict.fromkeys(self.warnings)),
            **self.aside,
        )

    def read(self, line: Line) -> None:
        self.line = line
        at = 0
        while at < len(line.words):
            word = line.words[at]
            at += 1
            if self.is_flag(word):
                at += self.flag(word, self.values_at(at))
            else:
                self.positional(word)
        for word in line.rest:
            self.positional(word)
        for word in line.faults:
            self.problem(word, None, "needs a key and a value", "such as --NAME.KEY VALUE")
        for spelling, dotted in line.dotted.items():
            self.dotted(spelling, dotted.first, dotted.value)

    def problem(self, subject: str, value: object, reason: str, way_out: str = "") -> None:
        self.problems.append(
            Problem(subject=subject, value=value, origin="flag", reason=reason, way_out=way_out)
        )

    def is_flag(self, word: str) -> bool:
        """Whether argparse takes a word for a flag rather than for a value."""
        if not word.startswith("-") or len(word) == 1:
            return False
        if self.resolve(word) is not None or self.catalogue.abbreviated(word.partition("=")[0]):
            return True
        return not is_number(word) and " " not in word

    def resolve(self, word: str) -> tuple[Flag, str, str | None] | None:
        """The flag of a word, its spelling, and the value that is written into the same word."""
        spellings = self.catalogue.spellings
        if word in spellings:
            return spellings[word], word, None
        name, equals, value = word.partition("=")
        if equals and name in spellings:
            return spellings[name], name, value
        glued = spellings.get(word[:2])
        # Not -host: it is a misspelt --host, and no help on "ost".
        if glued is not None and not word.startswith("--") and glued.dest != "help":
            return glued, word[:2], word[2:]
        return None

    def values_at(self, start: int) -> list[str]:
        """The words from here to the next flag."""
        end = start
        while end < len(self.line.words) and not self.is_flag(self.line.words[end]):
            end += 1
        return self.line.words[start:end]

    def flag(self, word: str, following: list[str]) -> int:
        """Read one flag.

        Returns:
            How many of the following words belong to it.
        """
        written = self.line.written.get(word, word)
        found = self.resolve(word)
        if found is None:
            return self.unknown(word, written, following)
        flag, spelling, inside = found
        spelled = _name_of(written, spelling)
        if flag.dest == "help":
            self.aside["help"] = inside or ""
            return 0
        if flag.kind == "switch":
            self.switch(flag, spelling, spelled, inside)
            return 0
        taken = [inside] if inside is not None else following[: _most(flag)]
        if not taken and flag.many != "optional":
            reason = "needs a value"
            self.problem(spelled, None, reason, f"write {spelled}=VALUE if it starts with a dash")
            return 0
        self.values(flag, spelled, taken)
        return 0 if inside is not None else len(taken)

    def switch(self, flag: Flag, spelling: str, spelled: str, inside: str | None) -> None:
        if inside is not None:
            self.problem(spelled, None, "takes no value", _switch_advice(flag, inside))
            return
        self.last_switch = spelling
        self.put(flag, spelled, spelling not in flag.off)

    def values(self, flag: Flag, spelled: str, words: list[str]) -> None:
        try:
            if not words:
                value: object = True
            elif flag.list_like:
                value = [read_word(flag, word) for word in words]
            else:
                value = read_word(flag, words[0])
        except BadValue as fault:
            self.bad(flag, spelled, " ".join(words), fault)
            return
        self.put(flag, spelled, value)

    def bad(self, flag: Flag, spelled: str, written: str, fault: BadValue) -> None:
        shown = None if flag.secret else written or "''"
        self.given.pop(flag.dest, None)
        self.problem(spelled, shown, fault.reason, fault.way_out)

    def put(self, flag: Flag, spelled: str, value: object) -> None:
        said = remark(flag, spelled, value)
        if said:
            self.warnings.append(said)
        if flag.dest in _ASIDE:
            self.set_aside(flag, spelled, value)
            return
        before = self.given.get(flag.dest)
        if flag.repeatable and before is not None:
            assert isinstance(before.value, list), "repeatable values are lists"
            assert isinstance(value, list), "repeatable values are lists"
            value = before.value + value
        self.given[flag.dest] = Given(value, spelled)

    def set_aside(self, flag: Flag, spelled: str, value: object) -> None:
        if flag.dest == "config" and self.aside.get("config", value) != value:
            self.problem(spelled, value, "is a second settings file", "give one")
            return
        self.aside[flag.dest] = value

    def dotted(self, spelling: str, first: str, value: dict[str, object]) -> None:
        found = self.catalogue.spellings.get(spelling)
        if found is None:
            longer = self.catalogue.abbreviated(spelling)
            advice = _abbreviation(longer) if longer else self.catalogue.advice(spelling)
            self.problem(spelling, None, f"is not a flag of {self.catalogue.command}", advice)
            return
        if found.kind != "object":
            self.problem(first, None, f"is not right: {spelling} has no keys", f"write {spelling}")
            return
        if found.dest in self.given and self.given[found.dest].value != value:
            other = self.given[found.dest].spelling
            self.warnings.append(
                f"{first} replaces what {other} gives as a whole, as in vLLM; "
                f"give all keys of {found.name} in one way"
            )
        try:
            read = read_native(found, value)
        except BadValue as fault:
            self.given.pop(found.dest, None)
            self.problem(spelling, None, fault.reason, fault.way_out)
            return
        self.put(found, first, read)

    def unknown(self, word: str, written: str, following: list[str]) -> int:
        name, equals, _ = word.partition("=")
        shown = written.partition("=")[0]
        longer = self.catalogue.abbreviated(name)
        meant = longer or self.catalogue.near(name)
        if longer:
            self.problem(shown, None, "is an abbreviation", _abbreviation(longer))
        else:
            self.problem(
                shown,
                None,
                f"is not a flag of {self.catalogue.command}",
                self.catalogue.advice(name),
            )
        # Its value is not to be taken for TARGET; a switch that was meant has none.
        flag = self.catalogue.spellings[meant[0]] if meant else None
        if equals or (flag is not None and flag.kind == "switch"):
            return 0
        return len(following[: _most(flag) if flag is not None else 1])

    def positional(self, word: str) -> None:
        if self.last_switch and word.lower() in _SWITCH_WORDS:
            flag = self.catalogue.spellings[self.last_switch]
            self.problem(self.last_switch, word, "takes no value", _switch_advice(flag, word))
        elif self.catalogue.leading and self.leading is None:
            self.leading = word
        elif self.target is not None:
            reason = f"is one word too many: TARGET is {self.target} already"
            self.problem(word, None, reason, "give one model or pipeline")
        elif not word:
            self.problem("TARGET", "''", "must not be empty")
        else:
            self.target = word
        self.last_switch = ""


def _name_of(written: str, spelling: str) -> str:
    """The flag as it was written: with its underscores, and without its value."""
    if written.startswith("--"):
        return written.partition("=")[0]
    return "-O" if written.startswith("-O") else spelling


def _most(flag: Flag) -> int | None:
    """How many words a flag takes at most; None for any number."""
    return None if flag.many == "some" else 1


def _abbreviation(spellings: list[str]) -> str:
    shown = spellings[:3]
    return f"write {' or '.join(shown)}{' or …' if len(spellings) > len(shown) else ''}"


def _switch_advice(flag: Flag, word: str) -> str:
    if word.lower() in ("false", "no", "off", "0"):
        return f"write {flag.off[0]}" if flag.off else "leave it out"
    return f"write {flag.name}"

"""What the scripts are made from."""

from __future__ import annotations

import pytest

from omni_cli.completions.words import MAX_TEXT, Operand, bundled_models, places
from omni_cli.flags.catalogue import catalogue

PLACES = {place.at: place for place in places()}


@pytest.mark.parametrize(
    ("at", "operand"),
    [
        ("", "nothing"),
        ("serve", "targets"),
        ("chat", "nothing"),
        ("models", "nothing"),
        ("models pull", "models"),
        ("models list", "nothing"),
        ("completion", "words"),
    ],
)
def test_a_command_takes(at: str, operand: Operand) -> None:
    assert PLACES[at].operand == operand


def test_members_are_those_that_help_shows() -> None:
    assert [name for name, _ in PLACES["models"].members] == ["list", "pull", "path", "remove"]


def test_there_are_bundled_models() -> None:
    assert "smollm2-135m-instruct" in bundled_models()


def test_serve_offers_what_the_catalogue_accepts() -> None:
    names = {name for option in PLACES["serve"].options for name in option.names}
    for flag in catalogue():
        offered = flag.scope != "refused" and not flag.deprecated and not flag.positional
        assert (flag.name in names) == offered, flag.name


def test_a_flag_is_described_in_one_row() -> None:
    options = [option for place in PLACES.values() for option in place.options]
    for option in options:
        assert option.text, option.names
        assert len(option.text) <= MAX_TEXT
        assert "\n" not in option.text


def test_every_file_of_serve_is_completed() -> None:
    paths = {option.names[0] for option in PLACES["serve"].options if option.is_path}
    assert {"--config", "--ssl-keyfile", "--ssl-certfile", "--chat-template"} <= paths
    assert "--root-path" not in paths  # a part of an address


def test_values_hold_nothing_that_a_shell_would_read() -> None:
    for place in PLACES.values():
        for option in place.options:
            for word in (*option.names, *option.values, *option.keys):
                assert word.translate(str.maketrans("", "", "-_.+")).isalnum(), word

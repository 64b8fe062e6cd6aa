"""What the scripts are made from."""

from __future__ import annotations

import pytest

from omni_cli.completions.words import MAX_TEXT, Operand, Option, bundled_models, places
from omni_cli.flags.catalogue import catalogue

PLACES = {place.at: place for place in places()}


def options(at: str) -> tuple[Option, ...]:
    return (*PLACES[at].options, *PLACES[at].shared)


@pytest.mark.parametrize(
    ("at", "operands"),
    [
        ("", ()),
        ("serve", ("targets",)),
        ("run-batch", ("files", "targets")),
        ("chat", ()),
        ("models", ()),
        ("models pull", ("models",)),
        ("models list", ()),
        ("completion", ("words",)),
    ],
)
def test_a_command_takes(at: str, operands: tuple[Operand, ...]) -> None:
    assert PLACES[at].operands == operands


def test_members_are_those_that_help_shows() -> None:
    assert [name for name, _ in PLACES["models"].members] == ["list", "pull", "path", "remove"]


def test_there_are_bundled_models() -> None:
    assert "smollm2-135m-instruct" in bundled_models()


def test_serve_offers_what_the_catalogue_accepts() -> None:
    names = {name for option in options("serve") for name in option.names}
    for flag in catalogue():
        offered = flag.scope != "refused" and not flag.deprecated and not flag.positional
        assert (flag.name in names) == offered, flag.name


def test_a_flag_is_described_in_one_row() -> None:
    for option in (option for at in PLACES for option in options(at)):
        assert option.text, option.names
        assert len(option.text) <= MAX_TEXT
        assert "\n" not in option.text


def test_every_file_of_serve_is_completed() -> None:
    paths = {option.names[0] for option in options("serve") if option.is_path}
    assert {"--config", "--ssl-keyfile", "--ssl-certfile", "--chat-template"} <= paths
    assert "--root-path" not in paths  # a part of an address


def test_values_hold_nothing_that_a_shell_would_read() -> None:
    for option in (option for at in PLACES for option in options(at)):
        for word in (*option.names, *option.values, *option.keys):
            assert word.translate(str.maketrans("", "", "-_.+")).isalnum(), word


def test_serve_and_a_batch_share_the_flags_of_engines() -> None:
    serve, batch = PLACES["serve"], PLACES["run-batch"]
    assert serve.shared == batch.shared
    assert len(serve.shared) > 200
    shared = {option.names[0] for option in serve.shared}
    assert "--dtype" in shared
    assert not shared & {"--host", "--output", "--api-key"}

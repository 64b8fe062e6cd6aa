"""Help pages of run-batch."""

from __future__ import annotations

import pytest

from engine_bridge.errors import UsageError
from omni_cli.batch.flags import OWN_DESTS, batch_catalogue
from omni_cli.batch.help import USAGE, batch_help

FLAGS = batch_catalogue()


def test_short_page_has_every_flag_of_its_own() -> None:
    page = batch_help(FLAGS, "")
    shown = [row.left for group in page.groups for row in group.rows]
    for dest in OWN_DESTS:
        name = FLAGS.by_dest[dest].name
        assert sum(name in left.replace(",", "").split() for left in shown) == 1, name
    assert "[TARGET]" in shown


@pytest.mark.parametrize("word", ["all", "SchedulerConfig", "resume"])
def test_word_is_looked_up_among_all_flags(word: str) -> None:
    assert batch_help(FLAGS, word).usage == USAGE
    assert batch_help(FLAGS, word).groups


def test_word_that_is_nowhere() -> None:
    with pytest.raises(UsageError):
        batch_help(FLAGS, "qqqqqq")


def test_groups_of_the_short_page_are_those_of_all() -> None:
    flags = batch_catalogue()
    titles = {group.title for group in batch_help(flags, "").groups} - {"More help"}
    assert titles == {flags.by_dest[dest].group for dest in OWN_DESTS}

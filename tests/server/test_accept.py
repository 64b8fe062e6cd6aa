from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from server.accept import SLACK, AcceptLedger


@pytest.fixture
def ledgers() -> Iterator[list[AcceptLedger]]:
    """The same page, attached three times as by three processes."""
    fd = AcceptLedger.create(3)
    attached = [AcceptLedger.attach(fd, 3) for _ in range(3)]
    os.close(fd)
    yield attached
    for ledger in attached:
        ledger.close()


def least(ledger: AcceptLedger) -> int:
    return min(range(len(ledger)), key=lambda rank: ledger[rank])


def test_ledger_starts_with_nobody_accepting(ledgers: list[AcceptLedger]) -> None:
    assert [ledgers[0].connections(rank) for rank in range(3)] == [None, None, None]


def test_slot_written_by_one_rank_is_read_by_the_others(ledgers: list[AcceptLedger]) -> None:
    ledgers[1][1] = 7
    assert ledgers[0].connections(1) == ledgers[2].connections(1) == 7


def test_rank_with_clearly_more_connections_is_passed_over(ledgers: list[AcceptLedger]) -> None:
    for rank in (2, 1, 0):
        ledgers[rank][rank] = 0
        ledgers[rank][rank] = 1
    assert least(ledgers[0]) == 2  # has waited longest
    ledgers[2][2] = 1 + SLACK + 1
    assert [least(ledgers[0]), ledgers[0][2] > ledgers[0][0]] == [1, True]


def test_idle_connections_do_not_send_every_short_one_to_one_rank(
    ledgers: list[AcceptLedger],
) -> None:
    for rank, idle in enumerate((0, SLACK, 1)):
        ledgers[rank][rank] = idle
    order = []
    for _ in range(6):
        rank = least(ledgers[0])
        order.append(rank)
        idle = ledgers[rank].connections(rank) or 0
        ledgers[rank][rank] = idle + 1
        ledgers[rank][rank] = idle
    assert sorted(order) == [0, 0, 1, 1, 2, 2]


def test_idle_server_goes_round_robin(ledgers: list[AcceptLedger]) -> None:
    for rank in range(3):
        ledgers[rank][rank] = 0
    order = []
    for _ in range(6):
        rank = least(ledgers[0])
        order.append(rank)
        ledgers[rank][rank] = 1  # accepted
        ledgers[rank][rank] = 0  # and closed
    assert order == [0, 1, 2, 0, 1, 2]


def test_retired_rank_is_never_waited_for(ledgers: list[AcceptLedger]) -> None:
    for rank in range(3):
        ledgers[rank][rank] = 0
    ledgers[0].retire(2)
    ledgers[0][0] = 900
    ledgers[1][1] = 500
    assert least(ledgers[0]) == 1
    assert ledgers[0].connections(2) is None


def test_rank_that_starts_to_accept_again_counts(ledgers: list[AcceptLedger]) -> None:
    ledgers[0][0] = SLACK + 1
    ledgers[0].retire(1)
    ledgers[1][1] = 0
    assert least(ledgers[0]) == 1


def test_min_over_the_ledger_is_what_upstream_asks(ledgers: list[AcceptLedger]) -> None:
    ledgers[0][0], ledgers[1][1] = SLACK + 1, 0
    assert ledgers[1][1] <= min(ledgers[1])
    assert not ledgers[0][0] <= min(ledgers[0])


def test_ledger_has_a_fixed_number_of_ranks(ledgers: list[AcceptLedger]) -> None:
    with pytest.raises(TypeError):
        ledgers[0].append(1)
    with pytest.raises(TypeError):
        del ledgers[0][0]
    with pytest.raises(IndexError):
        ledgers[0][3] = 1

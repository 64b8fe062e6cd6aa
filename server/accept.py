"""Which rank accepts the next connection on the listening socket that all ranks share.

The ranks publish their load in one shared page, each in its own slot. New connections go round
robin: the rank that has accepted least recently comes first. A rank with clearly more open
connections than the least loaded one comes after the others, so that connections of different
length do not pile up on one rank; a few more do not count, or one idle connection would send every
short one elsewhere. There is no lock and no shared counter: the order of two accepts comes from
CLOCK_MONOTONIC, which all processes of a machine share, and a stale slot costs one uneven choice,
never a lost connection.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Iterable, Iterator, MutableSequence
from typing import SupportsIndex, overload

__all__ = ["NOT_ACCEPTING", "AcceptLedger"]

# Load of a rank that is not accepting: more than any rank can have, so that nobody waits for it.
NOT_ACCEPTING = 2**31 - 1

# Open connections that a rank may have beyond the least loaded one before it is passed over.
SLACK = 4

_WORDS = 2  # per slot: open connections, then the time of the last accept
_WORD_BYTES = 8  # aligned, so that the store of one word is one instruction
_ORDER_BITS = 63  # room for CLOCK_MONOTONIC nanoseconds below the excess of connections


class AcceptLedger(MutableSequence[int]):
    """The loads of all ranks, over shared memory.

    It is the ``peer_loads`` sequence of vLLM's server: setting a rank's item publishes its number
    of open connections, and a larger number than before means that the rank has just accepted one.
    Reading an item yields a number that orders ranks; it is not the number of connections.
    """

    def __init__(self, page: mmap.mmap, ranks: int) -> None:
        self._page = page
        self._words = memoryview(page).cast("q")
        self._ranks = ranks

    @staticmethod
    def create(ranks: int) -> int:
        """Make the shared page for ``ranks`` ranks, none of which accepts yet.

        Returns:
            A file descriptor that the caller owns; hand it to each rank, which calls ``attach``.
        """
        fd = os.memfd_create("omni-accept", os.MFD_CLOEXEC)
        os.ftruncate(fd, ranks * _WORDS * _WORD_BYTES)
        ledger = AcceptLedger.attach(fd, ranks)
        for rank in range(ranks):
            # A first order, so that the ranks do not race for the first connection.
            ledger._words[rank * _WORDS + 1] = rank
            ledger.retire(rank)
        ledger.close()
        return fd

    @classmethod
    def attach(cls, fd: int, ranks: int) -> AcceptLedger:
        """Map the page behind ``fd``; the descriptor may be closed afterwards."""
        return cls(mmap.mmap(fd, ranks * _WORDS * _WORD_BYTES), ranks)

    def retire(self, rank: int) -> None:
        """Say that a rank does not accept. The parent does this for a rank that has died."""
        self._words[rank * _WORDS] = NOT_ACCEPTING

    def connections(self, rank: int) -> int | None:
        """Open connections of a rank as it last published them, or None if it does not accept."""
        count = self._words[rank * _WORDS]
        return None if count == NOT_ACCEPTING else count

    def close(self) -> None:
        """Unmap the page; the object must not be used afterwards."""
        self._words.release()
        self._page.close()

    def __len__(self) -> int:
        return self._ranks

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> MutableSequence[int]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> int | MutableSequence[int]:
        return self._orders()[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._orders())

    def _orders(self) -> list[int]:
        words = self._words.tolist()
        counts, accepted = words[::_WORDS], words[1::_WORDS]
        most = min(counts) + SLACK
        return [
            (max(0, count - most) << _ORDER_BITS) + last
            for count, last in zip(counts, accepted, strict=True)
        ]

    @overload
    def __setitem__(self, index: SupportsIndex, value: int) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[int]) -> None: ...
    def __setitem__(self, index: SupportsIndex | slice, value: int | Iterable[int]) -> None:
        if isinstance(index, slice) or not isinstance(value, int):
            raise TypeError("a rank publishes its own slot only")
        word = self._word(index)
        before = self._words[word]
        if before < value < NOT_ACCEPTING:
            self._words[word + 1] = time.monotonic_ns()
        self._words[word] = value

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        raise TypeError("a ledger has a fixed number of ranks")

    def insert(self, index: int, value: int) -> None:
        """Not possible: the number of ranks is fixed."""
        raise TypeError("a ledger has a fixed number of ranks")

    def _word(self, index: SupportsIndex) -> int:
        rank = index.__index__()
        if not 0 <= rank < self._ranks:
            raise IndexError(f"rank {rank} of {self._ranks}")
        return rank * _WORDS

"""Records that survive."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from server.batch import journal as module
from server.batch.journal import Head, Journal, Record, read_head

HEAD = msgspec.json.encode(Head(size=1, digest="d", ordered=True, errors="/e")) + b"\n"


def opened(path: Path) -> Journal:
    if not path.exists():
        path.write_bytes(HEAD)
    return Journal(os.open(path, os.O_RDWR | os.O_APPEND), path)


async def filled(path: Path) -> list[Record]:
    journal = opened(path)
    records = [
        await journal.add(7, False, b'{"a":1}\n'),
        await journal.add(5, True, b'{"b":"' + b"x" * 2_000_000 + b'"}\n'),
        await journal.add(9, False, b'{"c":1}\n'),
    ]
    journal.close()
    return records


async def test_records_are_found_again(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    records = await filled(path)
    journal = opened(path)
    assert list(journal.records()) == records
    assert journal.read(records[0]) == b'{"a":1}\n'
    assert len(journal.read(records[1])) == records[1].size
    more = await journal.add(11, False, b"{}\n")
    assert journal.read(more) == b"{}\n"
    journal.clear()
    assert path.read_bytes() == HEAD
    assert journal.read(await journal.add(1, True, b"{}\n")) == b"{}\n"
    journal.close()


async def test_torn_record_is_cut_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    records = await filled(path)
    whole = path.read_bytes()
    for missing in (1, 5, records[2].size + 3):
        path.write_bytes(whole[:-missing])
        journal = opened(path)
        assert list(journal.records()) == records[:2]
        journal.close()


async def test_zeros_after_a_loss_of_power_end_the_records(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    records = await filled(path)
    with path.open("ab") as file:
        file.write(b"\0" * 5000 + b"\n")
    journal = opened(path)
    assert list(journal.records()) == records
    journal.close()
    assert path.stat().st_size == records[2].offset + records[2].size


async def test_compaction_keeps_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPACT_BYTES", 1_000_000)
    path = tmp_path / "journal"
    records = await filled(path)
    journal = opened(path)
    assert not journal.wants_compaction(records[1].size)
    assert journal.wants_compaction(records[0].size)
    moved = await journal.compact([records[2], records[0]])
    assert [(each.number, journal.read(each)) for each in moved] == [
        (9, b'{"c":1}\n'),
        (7, b'{"a":1}\n'),
    ]
    assert not journal.wants_compaction(0)
    later = await journal.add(13, True, b"[]\n")
    journal.close()
    again = opened(path)
    assert list(again.records()) == [*moved, later]
    again.close()
    assert os.listdir(tmp_path) == ["journal"]


async def test_journal_without_a_name_compacts_too(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "j", os.O_RDWR | os.O_CREAT)
    journal = Journal(fd, None)
    records = [await journal.add(n, False, b"%d\n" % n) for n in range(3)]
    moved = await journal.compact(records[1:])
    assert [journal.read(each) for each in moved] == [b"1\n", b"2\n"]
    journal.close()


def test_head_is_read(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for data, expected in (
        (HEAD, Head(size=1, digest="d", ordered=True, errors="/e")),
        (HEAD[:-1], None),
        (b"", None),
    ):
        path.write_bytes(data)
        fd = os.open(path, os.O_RDONLY)
        assert read_head(fd) == expected
        os.close(fd)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"hello\n", "is no journal of a batch"),
        (HEAD.replace(b'"omni_batch":1', b'"omni_batch":2'), "is of version 2, not 1"),
    ],
)
def test_other_files_are_no_journals(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "journal"
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    with pytest.raises(ValueError, match=reason):
        read_head(fd)
    os.close(fd)

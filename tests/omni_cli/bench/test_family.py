"""A process and its descendants, and their memory, against psutil."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest

from omni_cli.bench.family import family_of, kill, pss_bytes

# A leader with a child in its session, and a grandchild that has left it
LEADER = """
import subprocess, sys
sleeper = [sys.executable, "-c", "input()"]
child = subprocess.Popen(sleeper, stdin=subprocess.PIPE)
other = subprocess.Popen(sleeper, stdin=subprocess.PIPE, start_new_session=True)
print(child.pid, other.pid, flush=True)
input()
"""


@pytest.fixture
def leader() -> Iterator[tuple[int, set[int]]]:
    process = subprocess.Popen(
        [sys.executable, "-c", LEADER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    pids = {process.pid, *map(int, process.stdout.readline().split())}
    yield process.pid, pids
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_family_is_found_and_weighed(leader: tuple[int, set[int]]) -> None:
    pid, pids = leader
    family = family_of(pid)
    assert {member.pid for member in family} == pids
    expected = sum(psutil.Process(each).memory_full_info().pss for each in pids)
    assert pss_bytes(family) == pytest.approx(expected, rel=0.2)


def test_a_family_is_killed_and_nobody_else(leader: tuple[int, set[int]]) -> None:
    pid, pids = leader
    family = family_of(pid)
    kill(family)
    deadline = time.monotonic() + 10.0
    while any(running(each) for each in pids):
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)
    # Dead by now: it weighs nothing, and is not killed again
    assert pss_bytes(family) == 0
    kill(family)


def test_a_later_process_with_the_same_pid_is_spared(leader: tuple[int, set[int]]) -> None:
    pid, _ = leader
    kill([replace(member, started=member.started - 1) for member in family_of(pid)])
    assert running(pid)

"""What the children of the tests do, and the messages that they speak. Light to import: a spawned
child starts in a fresh interpreter.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import msgspec

from engine_bridge.blocking import BlockingChannel
from engine_bridge.process import die_with_parent

HERE = "tests.engine_bridge.targets"


class Say(msgspec.Struct, tag=True):
    """To a child, and back: an echo."""

    text: str


class Facts(msgspec.Struct, tag=True):
    """What a child sees of itself."""

    pid: int
    parent: int
    group: int
    frozen: int
    title: str
    fds: dict[int, str]
    grandchild: int = 0


FromTarget = Say | Facts


def facts(grandchild: int = 0) -> Facts:
    fds = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            fds[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:  # of the listing itself
            continue
    return Facts(
        pid=os.getpid(),
        parent=os.getppid(),
        group=os.getpgrp(),
        frozen=gc.get_freeze_count(),
        title=Path("/proc/self/cmdline").read_bytes().rstrip(b"\0 ").decode(),
        fds=fds,
        grandchild=grandchild,
    )


def pause_for_ever() -> NoReturn:
    while True:
        signal.pause()


def echo(sock: socket.socket) -> int:
    """Say what it is, then answer each message with itself until the parent closes."""
    channel = BlockingChannel(sock, Say)
    channel.send(facts())
    while True:
        message, fds = channel.receive()
        channel.send(message, fds)
        for fd in fds:
            os.close(fd)


def returns_nothing(sock: socket.socket) -> None:
    BlockingChannel(sock, Say).send(Say("bye"))


def returns_seven(sock: socket.socket) -> int:
    return 7


def exits_with_five(sock: socket.socket) -> NoReturn:
    sys.exit(5)


def exits_with_a_message(sock: socket.socket) -> NoReturn:
    sys.exit("a message")


def raises(sock: socket.socket) -> NoReturn:
    raise RuntimeError("what went wrong")


def aborts(sock: socket.socket) -> NoReturn:
    os.abort()


def kills_itself(sock: socket.socket) -> NoReturn:
    BlockingChannel(sock, Say).send(Say("last words"))
    os.kill(os.getpid(), signal.SIGKILL)
    pause_for_ever()


def writes(sock: socket.socket) -> None:
    print("INFO on stdout")  # noqa: T201
    sys.stderr.write("ERROR on stderr\n")
    subprocess.run(["echo", "WARNING by a program"], check=True)
    sys.stdout.write("INFO without a newline")


def ends_on_sigterm(sock: socket.socket) -> NoReturn:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
    BlockingChannel(sock, Say).send(facts())
    pause_for_ever()


def ignores_sigterm(sock: socket.socket) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    BlockingChannel(sock, Say).send(facts())
    pause_for_ever()


def ignores_the_channel(sock: socket.socket) -> NoReturn:
    """Only its parent-death signal can end it."""
    BlockingChannel(sock, Say).send(facts())
    pause_for_ever()


def has_a_worker(sock: socket.socket) -> NoReturn:
    """As an engine with a worker of the mp executor: in its group, and bound to its life."""
    me = os.getpid()
    worker = os.fork()
    if worker == 0:
        die_with_parent(me)
        pause_for_ever()
    BlockingChannel(sock, Say).send(facts(worker))
    pause_for_ever()


def has_a_program(sock: socket.socket) -> NoReturn:
    """A program in its group that knows nothing of parents."""
    program = subprocess.Popen(["sleep", "1000"])
    BlockingChannel(sock, Say).send(facts(program.pid))
    pause_for_ever()

"""The zygote: imports vLLM once, then forks engines and frontends from what it has loaded.

It is single-threaded and stays so: a fork copies one thread only, and a lock that another thread
held would stay locked in the child for ever. It opens no event loop and no ZMQ context, runs no
tensor operation and builds no engine configuration. After each preload group the heap is frozen, so
that the collector of a child does not write to, and so copy, the pages that all share.

Groups load in order, and a child is forked as soon as its own group is in: the engine loads its
weights on one core while the modules of the frontends are still being imported on another.

Each fork is a double fork. The parent is a subreaper, so that the orphaned grandchild becomes its
own child, with an exit code, a pidfd and a parent-death signal.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import select
import socket
import struct
import time
from collections import deque
from dataclasses import dataclass

import msgspec

from engine_bridge import child
from engine_bridge.channel import HEADER, receive_fds
from engine_bridge.last_words import one_line
from engine_bridge.messages.from_zygote import Forked, FromZygote, Preloaded, ZygoteFailed
from engine_bridge.messages.to_zygote import Fork
from engine_bridge.process import die_with_parent, name_process

__all__ = ["main"]

# Frames of `Fork` are short; anything longer is not one.
MAX_FRAME_BYTES = 1 << 16
# Reparenting to the subreaper takes microseconds once the intermediate process has ended.
REPARENT_POLL_S = 0.0005
FDS_PER_FORK = 2
PID = struct.Struct("<i")


@dataclass(frozen=True, slots=True)
class _Pending:
    request: Fork
    channel_fd: int
    output_fd: int


class _Zygote:
    """The loop: a blocking one, since there is nothing else to do."""

    def __init__(self, parent: int, sock: socket.socket) -> None:
        self._parent = parent
        self._sock = sock
        self._loaded: set[str] = set()
        self._waiting: deque[_Pending] = deque()
        self._decoder = msgspec.msgpack.Decoder(Fork)

    def preload(self, group: str, modules: list[str]) -> None:
        """Import a group's modules, answering requests for earlier groups between them."""
        begun = time.monotonic()
        for module in modules:
            self._import(module)
            while self._readable():
                self._take_request()
        gc.collect()
        gc.freeze()
        self._loaded.add(group)
        threads = len(os.listdir("/proc/self/task"))
        self._answer(Preloaded(group=group, seconds=time.monotonic() - begun, threads=threads))
        self._fork_waiting()

    def _import(self, module: str) -> None:
        try:
            importlib.import_module(module)
        except Exception as error:
            kind = type(error).__name__
            cause = f"cannot import {module}: {kind}: {one_line(error)}"
            self._answer(ZygoteFailed(cause=cause))
            raise

    def serve(self) -> None:
        """Answer requests until the parent closes the channel."""
        while True:
            self._take_request()

    def _readable(self) -> bool:
        return bool(select.select([self._sock], [], [], 0)[0])

    def _take_request(self) -> None:
        header, fds = self._receive(HEADER.size)
        size, _ = HEADER.unpack(header)
        if size > MAX_FRAME_BYTES:
            os._exit(1)
        payload, more = self._receive(size)
        channel_fd, output_fd = fds + more
        self._waiting.append(_Pending(self._decoder.decode(payload), channel_fd, output_fd))
        self._fork_waiting()

    def _receive(self, size: int) -> tuple[bytes, list[int]]:
        data, fds = b"", []
        while len(data) < size:
            part, received = receive_fds(self._sock, size - len(data), FDS_PER_FORK)
            if not part:
                os._exit(0)
            data += part
            fds += received
        return data, fds

    def _answer(self, message: FromZygote) -> None:
        payload = msgspec.msgpack.encode(message)
        self._sock.sendall(HEADER.pack(len(payload), 0) + payload)

    def _fork_waiting(self) -> None:
        # In order, since answers carry no id: a request whose group is not in holds up those behind
        # it.
        while self._waiting and self._waiting[0].request.needs in self._loaded:
            self._fork(self._waiting.popleft())

    def _fork(self, pending: _Pending) -> None:
        read_end, write_end = os.pipe()
        intermediate = os.fork()
        if intermediate == 0:
            pid = os.fork()
            if pid:
                # Before the parent has it: its group tells it from an engine's orphaned worker.
                os.setpgid(pid, pid)
                os.write(write_end, PID.pack(pid))
                os._exit(0)
            self._sock.close()
            os.close(read_end)
            os.close(write_end)
            for other in self._waiting:
                os.close(other.channel_fd)
                os.close(other.output_fd)
            self._become(pending)
        os.close(write_end)
        (pid,) = PID.unpack(os.read(read_end, PID.size))
        os.close(read_end)
        os.waitpid(intermediate, 0)
        os.close(pending.channel_fd)
        os.close(pending.output_fd)
        self._answer(Forked(pid=pid))

    def _become(self, pending: _Pending) -> None:
        intermediate = os.getppid()
        while (parent := os.getppid()) not in (self._parent, 1):
            if parent != intermediate:
                os._exit(1)
            time.sleep(REPARENT_POLL_S)
        child.run(
            parent=self._parent,
            name=pending.request.name,
            target=pending.request.target,
            channel_fd=pending.channel_fd,
            output_fd=pending.output_fd,
        )


def main() -> None:
    """``python -m engine_bridge.zygote --parent PID CHANNEL OUTPUT GROUP=MODULE,MODULE ...``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("channel", type=int)
    parser.add_argument("output", type=int)
    parser.add_argument("groups", nargs="*")
    given = parser.parse_args()
    die_with_parent(given.parent)
    os.close(given.output)
    name_process("omni: zygote")
    zygote = _Zygote(given.parent, socket.socket(fileno=given.channel))
    for item in given.groups:
        group, _, modules = item.partition("=")
        zygote.preload(group, [module for module in modules.split(",") if module])
    zygote.serve()


if __name__ == "__main__":
    main()

"""The control channel between the parent and one child.

Frames on a UNIX stream socket: a header of two little-endian uint32 (payload length, number of file
descriptors), then the payload, one msgspec message in msgpack. Descriptors travel as SCM_RIGHTS
with the first byte of their frame; the kernel never merges them past that byte, so counting them
per frame keeps both in step.

A stream and not SOCK_SEQPACKET, because a packet is bounded by the socket's send buffer (about 200
kB) and a metrics snapshot of several stages is not. Nothing on a channel is unpickled.
"""

from __future__ import annotations

import array
import asyncio
import os
import socket
import struct
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import msgspec

from engine_bridge.errors import ChannelClosed

__all__ = [
    "Channel",
    "MemoryChannel",
    "RemoteProtocolError",
    "SocketChannel",
    "memory_pair",
    "receive_fds",
    "socket_pair",
]

HEADER = struct.Struct("<II")
# A metrics snapshot of a stage is about 100 kB; this leaves room for a hundred stages.
MAX_MESSAGE_BYTES = 16 << 20
# A frontend is handed two listeners per stage and two more; SCM_RIGHTS itself allows 253.
MAX_MESSAGE_FDS = 200
# Messages that a receiver may be behind before the sender waits (in-process twin only; the socket
# has its buffer).
MEMORY_QUEUE = 64
READ_CHUNK = 1 << 18

_Rights = list[tuple[int, int, "array.array[int]"]]


def receive_fds(sock: socket.socket, size: int, count: int) -> tuple[bytes, list[int]]:
    """Receive at most `size` bytes with at most `count` descriptors, which are close-on-exec.

    `socket.recv_fds` ignores its flags in Python 3.11, so it leaves them open to be inherited.
    """
    fds = array.array("i")
    room = socket.CMSG_LEN(count * fds.itemsize)
    data, ancillary, _, _ = sock.recvmsg(size, room, socket.MSG_CMSG_CLOEXEC)
    for level, kind, rights in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(rights[: len(rights) - len(rights) % fds.itemsize])
    return data, list(fds)


class RemoteProtocolError(ChannelClosed):
    """The other side sent bytes that are no message; the channel is closed."""


class Channel(Protocol):
    """One end of a two-way, ordered message channel; one reader and one writer task at a time."""

    async def send(self, message: msgspec.Struct, fds: Sequence[int] = ()) -> None:
        """Send one message; the caller keeps its descriptors.

        Raises:
            ChannelClosed: If either side has closed.
        """

    async def receive(self) -> tuple[msgspec.Struct, list[int]]:
        """Return the next message and its descriptors, which the caller now owns.

        Raises:
            ChannelClosed: If either side has closed.
            RemoteProtocolError: If the bytes are not a message of this direction.
        """

    def close(self) -> None:
        """Close now; safe to call twice."""

    @property
    def closed(self) -> bool:
        """Whether this end is closed."""


class SocketChannel:
    """A channel over a connected UNIX stream socket, for use inside a running event loop.

    Args:
        sock: Connected; owned by the channel from now on.
        incoming: A tagged union of the messages that the other side may send.
    """

    def __init__(self, sock: socket.socket, incoming: object) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._decoder: msgspec.msgpack.Decoder[msgspec.Struct] = msgspec.msgpack.Decoder(incoming)
        self._encoder = msgspec.msgpack.Encoder()
        self._buffer = bytearray()
        self._fds: deque[int] = deque()
        self._sending = asyncio.Lock()
        self._waiting: set[asyncio.Future[None]] = set()
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    async def send(self, message: msgspec.Struct, fds: Sequence[int] = ()) -> None:
        payload = self._encoder.encode(message)
        frame = memoryview(HEADER.pack(len(payload), len(fds)) + payload)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        async with self._sending:
            frame = frame[await self._send_some(frame, rights) :]
            try:
                while frame:
                    frame = frame[await self._send_some(frame, []) :]
            except asyncio.CancelledError:
                # Half a frame is out: nothing that could be sent after it would be understood.
                self.close()
                raise

    async def _send_some(self, frame: memoryview, rights: _Rights) -> int:
        while True:
            self._check_open()
            try:
                return self._sock.sendmsg([frame], rights)
            except (BlockingIOError, InterruptedError):
                await self._wait(writable=True)
            except OSError as error:
                # Not closed here: what the other side said last may still lie in the socket.
                raise ChannelClosed(str(error)) from error

    async def receive(self) -> tuple[msgspec.Struct, list[int]]:
        while True:
            frame = self._next_frame()
            if frame is not None:
                return frame
            await self._fill()

    def _next_frame(self) -> tuple[msgspec.Struct, list[int]] | None:
        if len(self._buffer) < HEADER.size:
            return None
        size, count = HEADER.unpack_from(self._buffer)
        if size > MAX_MESSAGE_BYTES or count > MAX_MESSAGE_FDS:
            self.close()
            raise RemoteProtocolError(f"a frame of {size} bytes and {count} descriptors")
        if len(self._buffer) < HEADER.size + size:
            return None
        if len(self._fds) < count:
            # A liar, or this process has no room for more descriptors.
            self.close()
            raise RemoteProtocolError(f"{len(self._fds)} of a frame's {count} descriptors came")
        payload = bytes(self._buffer[HEADER.size : HEADER.size + size])
        del self._buffer[: HEADER.size + size]
        fds = [self._fds.popleft() for _ in range(count)]
        try:
            return self._decoder.decode(payload), fds
        except msgspec.MsgspecError as error:
            self._fds.extend(fds)
            self.close()
            raise RemoteProtocolError(str(error)) from error

    async def _fill(self) -> None:
        while True:
            self._check_open()
            try:
                data, fds = receive_fds(self._sock, READ_CHUNK, MAX_MESSAGE_FDS)
                break
            except (BlockingIOError, InterruptedError):
                await self._wait(writable=False)
            except OSError as error:
                self.close()
                raise ChannelClosed(str(error)) from error
        self._fds.extend(fds)
        if not data:
            self.close()
            raise ChannelClosed("the other side closed the channel")
        self._buffer += data

    async def _wait(self, *, writable: bool) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        fd = self._sock.fileno()

        def wake() -> None:
            if not ready.done():
                ready.set_result(None)

        self._waiting.add(ready)
        (loop.add_writer if writable else loop.add_reader)(fd, wake)
        try:
            await ready
        finally:
            self._waiting.discard(ready)
            if not self._closed:
                (loop.remove_writer if writable else loop.remove_reader)(fd)

    def _check_open(self) -> None:
        if self._closed:
            raise ChannelClosed("this side closed the channel")

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for ready in list(self._waiting):
            loop = ready.get_loop()
            if not loop.is_closed():
                loop.remove_reader(self._sock.fileno())
                loop.remove_writer(self._sock.fileno())
                if not ready.done():
                    ready.set_result(None)
        self._sock.close()
        self._buffer.clear()
        while self._fds:
            os.close(self._fds.popleft())


class MemoryChannel:
    """The in-process twin, for tests of what stands beside a channel; built by `memory_pair`."""

    def __init__(self) -> None:
        self._inbox: deque[tuple[msgspec.Struct, list[int]]] = deque()
        self._waiting: set[asyncio.Future[None]] = set()
        self._peer: MemoryChannel = self
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    async def send(self, message: msgspec.Struct, fds: Sequence[int] = ()) -> None:
        while True:
            if self._closed or self._peer._closed:
                raise ChannelClosed("the channel is closed")
            if len(self._peer._inbox) < MEMORY_QUEUE:
                break
            await self._wait()
        self._peer._inbox.append((message, [os.dup(fd) for fd in fds]))
        self._peer._wake()

    async def receive(self) -> tuple[msgspec.Struct, list[int]]:
        while True:
            if self._inbox:
                self._peer._wake()
                return self._inbox.popleft()
            if self._closed or self._peer._closed:
                self.close()
                raise ChannelClosed("the channel is closed")
            await self._wait()

    async def _wait(self) -> None:
        changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(changed)
        try:
            await changed
        finally:
            self._waiting.discard(changed)

    def _wake(self) -> None:
        for changed in self._waiting:
            if not changed.done():
                changed.set_result(None)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for _, fds in self._inbox:
            for fd in fds:
                os.close(fd)
        self._inbox.clear()
        self._wake()
        self._peer._wake()


def memory_pair() -> tuple[MemoryChannel, MemoryChannel]:
    """Two connected in-process ends."""
    left, right = MemoryChannel(), MemoryChannel()
    left._peer, right._peer = right, left
    return left, right


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Two connected sockets for a `SocketChannel` at each end; close-on-exec as all of Python's
    are.
    """
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)

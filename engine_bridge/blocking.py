"""The child's end of a control channel where no event loop runs: an engine's main thread belongs to
vLLM.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Sequence

import msgspec

from engine_bridge.channel import (
    HEADER,
    MAX_MESSAGE_BYTES,
    MAX_MESSAGE_FDS,
    RemoteProtocolError,
    receive_fds,
)
from engine_bridge.errors import ChannelClosed

__all__ = ["BlockingChannel"]


class BlockingChannel:
    """As `engine_bridge.channel.SocketChannel`, but blocking; `send` may be called from any thread.

    Args:
        sock: Connected; owned by the channel from now on.
        incoming: A tagged union of the messages that the other side may send.
    """

    def __init__(self, sock: socket.socket, incoming: object) -> None:
        sock.setblocking(True)
        self._sock = sock
        self._decoder: msgspec.msgpack.Decoder[msgspec.Struct] = msgspec.msgpack.Decoder(incoming)
        self._sending = threading.Lock()

    def send(self, message: msgspec.Struct, fds: Sequence[int] = ()) -> None:
        """Send one message.

        Raises:
            ChannelClosed: If the other side has closed.
        """
        payload = msgspec.msgpack.encode(message)
        frame = HEADER.pack(len(payload), len(fds)) + payload
        try:
            with self._sending:
                sent = socket.send_fds(self._sock, [frame], list(fds)) if fds else 0
                self._sock.sendall(memoryview(frame)[sent:])
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    def receive(self) -> tuple[msgspec.Struct, list[int]]:
        """Wait for one message.

        Raises:
            ChannelClosed: If the other side has closed.
            RemoteProtocolError: If what came is not a message.
        """
        header, fds = self._exactly(HEADER.size)
        size, count = HEADER.unpack(header)
        if size > MAX_MESSAGE_BYTES or count > MAX_MESSAGE_FDS:
            raise self._protocol_error(f"a frame of {size} bytes and {count} descriptors", fds)
        payload, more = self._exactly(size)
        fds += more
        if len(fds) != count:
            raise self._protocol_error(f"{len(fds)} of a frame's {count} descriptors came", fds)
        try:
            return self._decoder.decode(payload), fds
        except msgspec.MsgspecError as error:
            raise self._protocol_error(str(error), fds) from error

    def _protocol_error(self, reason: str, fds: list[int]) -> RemoteProtocolError:
        for fd in fds:
            os.close(fd)
        self._sock.close()
        return RemoteProtocolError(reason)

    def _exactly(self, size: int) -> tuple[bytes, list[int]]:
        data, fds = bytearray(), []
        while len(data) < size:
            try:
                part, received = receive_fds(self._sock, size - len(data), MAX_MESSAGE_FDS)
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            if not part:
                raise ChannelClosed("the other side closed the channel")
            data += part
            fds += received
        return bytes(data), fds

    def wait_closed(self) -> None:
        """Return once the other side has closed; what it sends meanwhile is dropped."""
        while True:
            try:
                if not self._sock.recv(1 << 12):
                    return
            except OSError:
                return

    def detach(self) -> socket.socket:
        """Give the socket up, for a channel of another kind. Only with no message half read."""
        return self._sock

"""One suite of checks for every kind of channel, then what only sockets can do wrong."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any, Literal, get_args, get_origin

import msgspec
import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_bridge.blocking import BlockingChannel
from engine_bridge.channel import (
    HEADER,
    MAX_MESSAGE_BYTES,
    MAX_MESSAGE_FDS,
    MEMORY_QUEUE,
    Channel,
    MemoryChannel,
    RemoteProtocolError,
    SocketChannel,
    memory_pair,
    socket_pair,
)
from engine_bridge.errors import ChannelClosed
from engine_bridge.messages.from_engine import FromEngine
from engine_bridge.messages.from_frontend import FromFrontend
from engine_bridge.messages.from_zygote import FromZygote
from engine_bridge.messages.to_engine import ToEngine
from engine_bridge.messages.to_frontend import ToFrontend
from engine_bridge.messages.to_zygote import ToZygote

# No check takes a second; a hang must not take the suite's whole limit.
DEADLINE_S = 20.0
BIG = 5 << 20

Runner = Callable[[Coroutine[Any, Any, None]], None]
Check = Callable[[Channel, Channel], Awaitable[None]]


class Note(msgspec.Struct, frozen=True, tag=True):
    number: int
    body: bytes = b""


class Reply(msgspec.Struct, frozen=True, tag=True):
    text: str


Spoken = Note | Reply


class Threaded:
    """A BlockingChannel under the interface of the others: each call in a thread of its own."""

    def __init__(self, sock: socket.socket, incoming: object) -> None:
        self._sock = sock
        self._channel = BlockingChannel(sock, incoming)
        self._sending = asyncio.Lock()

    async def send(self, message: msgspec.Struct, fds: Sequence[int] = ()) -> None:
        await asyncio.to_thread(self._channel.send, message, fds)

    async def receive(self) -> tuple[msgspec.Struct, list[int]]:
        return await asyncio.to_thread(self._channel.receive)

    def close(self) -> None:
        # Only this wakes a thread that reads.
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()

    @property
    def closed(self) -> bool:
        return self._sock.fileno() < 0


def sockets() -> tuple[Channel, Channel]:
    left, right = socket_pair()
    return SocketChannel(left, Spoken), SocketChannel(right, Spoken)


def blocking() -> tuple[Channel, Channel]:
    left, right = socket_pair()
    return SocketChannel(left, Spoken), Threaded(right, Spoken)


def blocking_first() -> tuple[Channel, Channel]:
    left, right = blocking()
    return right, left


def open_fds() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


@contextlib.contextmanager
def pipes(count: int) -> Iterator[tuple[list[int], list[int]]]:
    """Read and write ends of `count` pipes."""
    made = [os.pipe() for _ in range(count)]
    reads, writes = [end for end, _ in made], [end for _, end in made]
    try:
        yield reads, writes
    finally:
        for fd in (*reads, *writes):
            os.close(fd)


async def reads_back(fds: list[int], writes: list[int]) -> list[bytes]:
    """What comes out of each received read end when each write end is given its own number."""
    for number, fd in enumerate(writes):
        os.write(fd, b"%d" % number)
    got = [os.read(fd, 16) for fd in fds]
    for fd in fds:
        os.close(fd)
    return got


async def check_messages_keep_their_order(left: Channel, right: Channel) -> None:
    for number in range(50):
        await left.send(Note(number))
    await right.send(Reply("back"))
    assert [await right.receive() for _ in range(50)] == [(Note(n), []) for n in range(50)]
    assert await left.receive() == (Reply("back"), [])


async def check_big_message_passes(left: Channel, right: Channel) -> None:
    body = os.urandom(BIG)
    sending = asyncio.create_task(left.send(Note(1, body)))
    assert await right.receive() == (Note(1, body), [])
    await sending


async def check_big_messages_pass_both_ways_at_once(left: Channel, right: Channel) -> None:
    body = os.urandom(BIG)
    *_, there, back = await asyncio.gather(
        left.send(Note(1, body)), right.send(Note(2, body)), right.receive(), left.receive()
    )
    assert (there, back) == ((Note(1, body), []), (Note(2, body), []))


async def check_concurrent_senders_do_not_mix(left: Channel, right: Channel) -> None:
    bodies = {number: bytes([number]) * (100_000 + number) for number in range(20)}
    senders = [asyncio.create_task(left.send(Note(n, body))) for n, body in bodies.items()]
    got = [(await right.receive())[0] for _ in bodies]
    await asyncio.gather(*senders)
    assert {note.number: note.body for note in got if isinstance(note, Note)} == bodies


async def check_descriptors_stay_with_their_frame(left: Channel, right: Channel) -> None:
    for counts in ((1,), (0, 2, 0, 0, 3, 1, 0, 5), (150,)):
        with pipes(sum(counts)) as (reads, writes):
            rest = list(reads)
            for number, count in enumerate(counts):
                await left.send(Note(number, b"." * 3_000), [rest.pop(0) for _ in range(count)])
            got: list[int] = []
            for number, count in enumerate(counts):
                message, fds = await right.receive()
                assert isinstance(message, Note)
                assert (message.number, len(fds)) == (number, count)
                got += fds
            assert not set(got) & set(reads), "the receiver has descriptors of its own"
            assert not any(os.get_inheritable(fd) for fd in got)
            assert await reads_back(got, writes) == [b"%d" % n for n in range(sum(counts))]


async def check_descriptors_come_with_a_big_message(left: Channel, right: Channel) -> None:
    with pipes(2) as (reads, writes):
        sending = asyncio.create_task(left.send(Note(1, bytes(BIG)), reads))
        _, fds = await right.receive()
        await sending
        assert await reads_back(fds, writes) == [b"0", b"1"]


async def check_what_was_sent_before_a_close_arrives(left: Channel, right: Channel) -> None:
    await left.send(Note(1))
    await left.send(Note(2))
    left.close()
    assert await right.receive() == (Note(1), [])
    assert await right.receive() == (Note(2), [])
    with pytest.raises(ChannelClosed):
        await right.receive()


async def check_last_words_survive_a_failed_send(left: Channel, right: Channel) -> None:
    await left.send(Reply("last words"))
    left.close()
    with pytest.raises(ChannelClosed):
        await right.send(Note(1))
    assert await right.receive() == (Reply("last words"), [])


async def check_closed_channel_refuses(left: Channel, right: Channel) -> None:
    await right.send(Note(1))
    left.close()
    left.close()
    assert left.closed
    with pytest.raises(ChannelClosed):
        await left.send(Note(1))
    with pytest.raises(ChannelClosed):
        await left.receive()
    with pytest.raises(ChannelClosed):
        await right.receive()
    with pytest.raises(ChannelClosed):
        await right.send(Note(1))


async def check_close_wakes_both_receivers(left: Channel, right: Channel) -> None:
    waiting = [asyncio.create_task(end.receive()) for end in (left, right)]
    await asyncio.wait(waiting, timeout=0.05)
    left.close()
    for task in waiting:
        with pytest.raises(ChannelClosed):
            await task


async def check_close_wakes_a_sender(left: Channel, right: Channel) -> None:
    async def fill() -> None:
        # Memory counts messages, a socket bytes: more than either takes.
        for _ in range(MEMORY_QUEUE + 1):
            await left.send(Note(1, bytes(1 << 17)))

    sending = asyncio.create_task(fill())
    done, _ = await asyncio.wait([sending], timeout=0.05)
    assert not done
    right.close()
    with pytest.raises(ChannelClosed):
        await sending


async def check_descriptors_unread_at_close_are_closed(left: Channel, right: Channel) -> None:
    before = open_fds()
    with pipes(3) as (reads, _):
        for fd in reads:
            await left.send(Note(1), [fd])
        _, fds = await right.receive()
        os.close(fds[0])
        right.close()
    left.close()
    assert open_fds() <= before


CHECKS = [value for name, value in sorted(globals().items()) if name.startswith("check_")]


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("ends", [sockets, memory_pair, blocking, blocking_first])
@pytest.mark.parametrize("check", CHECKS)
def test_channel_behaviour(
    check: Check, ends: Callable[[], tuple[Channel, Channel]], run: Runner
) -> None:
    async def body() -> None:
        left, right = ends()
        try:
            async with asyncio.timeout(DEADLINE_S):
                await check(left, right)
        finally:
            left.close()
            right.close()

    # A first loop of its kind may keep descriptors for all that follow.
    run(asyncio.sleep(0))
    before = open_fds()
    run(body())
    assert open_fds() <= before


# ------------------------------------------------------------------ what comes in wrong


def raw_pair() -> tuple[SocketChannel, socket.socket]:
    left, right = socket_pair()
    return SocketChannel(left, Spoken), right


GARBAGE = {
    "too long": HEADER.pack(MAX_MESSAGE_BYTES + 1, 0),
    "too many descriptors": HEADER.pack(1, MAX_MESSAGE_FDS + 1),
    "descriptors that did not come": HEADER.pack(1, 2) + b"\x00",
    "no msgpack": HEADER.pack(3, 0) + b"\xc1\xc1\xc1",
    "an unknown message": HEADER.pack(13, 0) + msgspec.msgpack.encode({"type": "Other!"}),
    "text": b"GET / HTTP/1.1\r\n\r\n",
    "an empty payload": HEADER.pack(0, 0),
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
async def test_garbage_is_the_other_sides_fault(data: bytes) -> None:
    channel, peer = raw_pair()
    with peer:
        peer.sendall(data)
        with pytest.raises(RemoteProtocolError):
            await asyncio.wait_for(channel.receive(), DEADLINE_S)
        assert channel.closed
        with pytest.raises(ChannelClosed):
            await channel.receive()


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_the_other_sides_fault_for_a_blocking_channel(data: bytes) -> None:
    ours, peer = socket_pair()
    channel = BlockingChannel(ours, Spoken)
    with peer:
        peer.sendall(data)
        with pytest.raises(RemoteProtocolError):
            channel.receive()
        with pytest.raises(ChannelClosed):
            channel.receive()


@pytest.mark.parametrize("kind", ["async", "blocking"])
async def test_descriptors_that_come_with_garbage_are_closed(kind: str) -> None:
    before = open_fds()
    ours, peer = socket_pair()
    with pipes(2) as (reads, _), peer:
        socket.send_fds(peer, [HEADER.pack(3, 2) + b"\xc1\xc1\xc1"], reads)
        channel = SocketChannel(ours, Spoken) if kind == "async" else Threaded(ours, Spoken)
        with pytest.raises(RemoteProtocolError):
            await channel.receive()
    assert open_fds() <= before


async def test_message_split_anywhere_is_put_together() -> None:
    channel, peer = raw_pair()
    payload = msgspec.msgpack.encode(Note(7, b"abc"))
    frame = HEADER.pack(len(payload), 0) + payload
    with peer:
        for cut in range(1, len(frame)):
            receiving = asyncio.create_task(channel.receive())
            peer.sendall(frame[:cut])
            await asyncio.sleep(0)
            peer.sendall(frame[cut:])
            assert await asyncio.wait_for(receiving, DEADLINE_S) == (Note(7, b"abc"), [])
    channel.close()


async def test_half_a_message_before_the_end_is_an_end() -> None:
    channel, peer = raw_pair()
    peer.sendall(HEADER.pack(100, 0) + b"half")
    peer.close()
    with pytest.raises(ChannelClosed) as caught:
        await channel.receive()
    assert not isinstance(caught.value, RemoteProtocolError)


async def test_receive_that_was_cancelled_loses_nothing() -> None:
    left, right = sockets()
    receiving = asyncio.create_task(right.receive())
    await asyncio.sleep(0)
    receiving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await receiving
    await left.send(Note(1))
    assert await right.receive() == (Note(1), [])
    left.close()
    right.close()


async def test_send_that_was_cancelled_halfway_ends_the_channel() -> None:
    left, right = sockets()
    sending = asyncio.create_task(left.send(Note(1, bytes(BIG))))
    await asyncio.wait([sending], timeout=0.05)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    # Whatever followed would be read as the rest of the first message.
    with pytest.raises(ChannelClosed):
        await left.send(Note(2))
    with pytest.raises(ChannelClosed):
        await right.receive()
    right.close()


def hold_in_a_process(sock: socket.socket) -> subprocess.Popen[bytes]:
    code = "import sys; print('up', flush=True); sys.stdin.read()"
    with sock:
        return subprocess.Popen(
            [sys.executable, "-c", code],
            pass_fds=[sock.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )


async def test_death_of_the_other_process_ends_the_channel() -> None:
    ours, theirs = socket_pair()
    channel = SocketChannel(ours, Spoken)
    with hold_in_a_process(theirs) as peer:
        assert peer.stdout is not None
        assert peer.stdout.readline() == b"up\n"
        receiving = asyncio.create_task(channel.receive())
        sending = asyncio.create_task(channel.send(Note(1, bytes(BIG))))
        await asyncio.wait([receiving, sending], timeout=0.05)
        peer.send_signal(signal.SIGKILL)
        for task in (receiving, sending):
            with pytest.raises(ChannelClosed):
                await asyncio.wait_for(task, DEADLINE_S)
    channel.close()


def test_blocking_channel_waits_for_the_end() -> None:
    ours, peer = socket_pair()
    channel = BlockingChannel(ours, Spoken)
    peer.sendall(b"whatever comes meanwhile")
    peer.close()
    channel.wait_closed()
    channel.detach().close()


def test_memory_channel_is_bounded() -> None:
    async def body() -> None:
        left, right = memory_pair()
        for number in range(MEMORY_QUEUE):
            await left.send(Note(number))
        waiting = asyncio.create_task(left.send(Note(MEMORY_QUEUE)))
        await asyncio.sleep(0)
        assert not waiting.done()
        await right.receive()
        await asyncio.wait_for(waiting, DEADLINE_S)
        assert isinstance(left, MemoryChannel)

    asyncio.run(body())


# ------------------------------------------------------------------------- messages

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
PLAIN: dict[object, st.SearchStrategy[Any]] = {
    str: st.text(max_size=20),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=20),
    object: JSON,
    type(None): st.none(),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a message's field."""
    if kind in PLAIN:
        return PLAIN[kind]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = {field.name: values(field.type) for field in msgspec.structs.fields(kind)}
        return st.builds(kind, **fields)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is dict:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=3)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    return st.one_of(*map(values, arguments))


DIRECTIONS = {
    "from_engine": FromEngine,
    "from_frontend": FromFrontend,
    "from_zygote": FromZygote,
    "to_engine": ToEngine,
    "to_frontend": ToFrontend,
    "to_zygote": ToZygote,
}
KINDS = [
    pytest.param(kind, union, id=f"{name}-{kind.__name__}")
    for name, union in DIRECTIONS.items()
    for kind in (get_args(union) or (union,))
]


@pytest.mark.parametrize(("kind", "union"), KINDS)
def test_message_comes_back_as_it_was(kind: type[msgspec.Struct], union: object) -> None:
    @given(message=values(kind))
    @settings(max_examples=25, deadline=None, database=None)
    def round_trip(message: msgspec.Struct) -> None:
        async def body() -> None:
            left, right = socket_pair()
            ours, theirs = SocketChannel(left, union), BlockingChannel(right, union)
            await ours.send(message)
            assert theirs.receive() == (message, [])
            theirs.send(message)
            assert await ours.receive() == (message, [])
            ours.close()
            theirs.detach().close()

        asyncio.run(body())

    round_trip()


def test_messages_of_one_direction_have_tags_of_their_own() -> None:
    for union in DIRECTIONS.values():
        tags = [kind.__struct_config__.tag for kind in get_args(union) or (union,)]
        assert len(set(tags)) == len(tags)

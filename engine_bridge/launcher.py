"""How children come to life: from the zygote, or each from a fresh interpreter.

Both ways end in the same place, `engine_bridge.child.run`, with a control channel and a pipe for
output, so that nothing above this module knows which was taken.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

from engine_bridge.channel import SocketChannel, socket_pair
from engine_bridge.errors import ChannelClosed, StartError
from engine_bridge.logs import OutputRelay
from engine_bridge.messages.from_zygote import Forked, FromZygote, Preloaded, ZygoteFailed
from engine_bridge.messages.to_zygote import Fork
from engine_bridge.process import ChildProcess, children_of_this_process

__all__ = ["Launcher", "SpawnLauncher", "ZygoteLauncher"]


# A process's sockets close just before it has ended; its exit then says why.
EXIT_TIMEOUT_S = 1.0


class Launcher(Protocol):
    """Starts children of this process."""

    async def start(self) -> None:
        """Make ready to launch; returns at once, loading goes on in the background."""

    async def launch(self, *, name: str, target: str, needs: str, incoming: object) -> ChildProcess:
        """Start one child.

        Args:
            name: For messages and the process title.
            target: ``module:function``, called in the child with its end of the control channel, a
                socket.
            needs: Preload group that the target wants (``engine`` or ``frontend``).
            incoming: Union of the messages that the child sends.

        Raises:
            StartError: If the launcher itself has failed.
        """

    async def stop(self) -> None:
        """End the launcher; children live on."""


class _Ends:
    """The two connections of a child that is about to start."""

    def __init__(self, name: str, level: str, write: Callable[[str], None]) -> None:
        self.ours, self.theirs = socket_pair()
        read_end, self.write_end = os.pipe()
        self.output = OutputRelay(name, read_end, level, write)

    def fds(self) -> list[int]:
        return [self.theirs.fileno(), self.write_end]

    def close_theirs(self) -> None:
        self.theirs.close()
        os.close(self.write_end)

    def close_ours(self) -> None:
        self.ours.close()
        self.output.close()

    def child(self, name: str, pid: int, incoming: object) -> ChildProcess:
        return ChildProcess(name, pid, SocketChannel(self.ours, incoming), self.output)


class SpawnLauncher:
    """A fresh interpreter for each child: slow and large, but safe beside CUDA.

    Args:
        env: Environment of the children.
        level: Lowest level of their output that is passed on.
        write: Takes the lines that are passed on.
    """

    def __init__(self, env: Mapping[str, str], level: str, write: Callable[[str], None]) -> None:
        self._env = dict(env)
        self._level = level
        self._write = write

    async def start(self) -> None:
        return None

    async def launch(self, *, name: str, target: str, needs: str, incoming: object) -> ChildProcess:
        ends = _Ends(name, self._level, self._write)
        arguments = ["--parent", str(os.getpid()), "--name", name, target]
        pid = _spawn(
            "engine_bridge.child", [*arguments, *map(str, ends.fds())], ends.fds(), self._env
        )
        ends.close_theirs()
        return ends.child(name, pid, incoming)

    async def stop(self) -> None:
        return None


class ZygoteLauncher:
    """Every child is a fork of one process that has imported vLLM once.

    Args:
        env: Environment of the zygote, and so of every child.
        preload: Modules by group, in the order of loading; a child can be had as soon as its group
            is in.
        level: Lowest level of output that is passed on.
        write: Takes the lines that are passed on.
        on_preloaded: Told the name of each group that is in, and the seconds that it took.

    Attributes:
        process: The zygote, once started.
        last_words: Why it ended, where it could still say so.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        preload: Mapping[str, tuple[str, ...]],
        level: str,
        write: Callable[[str], None],
        on_preloaded: Callable[[str, float], None],
    ) -> None:
        self._env = dict(env)
        self._preload = preload
        self._level = level
        self._write = write
        self._on_preloaded = on_preloaded
        self._pending: deque[asyncio.Future[int]] = deque()
        self._reader: asyncio.Task[None] | None = None
        self._launched: set[int] = set()
        self._asking = asyncio.Lock()
        self.process: ChildProcess | None = None
        self.last_words = ""

    async def start(self) -> None:
        ends = _Ends("zygote", self._level, self._write)
        groups = [f"{group}={','.join(modules)}" for group, modules in self._preload.items()]
        arguments = ["--parent", str(os.getpid()), *map(str, ends.fds()), *groups]
        pid = _spawn("engine_bridge.zygote", arguments, ends.fds(), self._env)
        ends.close_theirs()
        self.process = ends.child("zygote", pid, FromZygote)
        self._reader = asyncio.create_task(self._read(self.process.channel))

    async def _read(self, channel: SocketChannel) -> None:
        try:
            while True:
                message, _ = await channel.receive()
                match message:
                    case Preloaded():
                        self._on_preloaded(message.group, message.seconds)
                    case Forked():
                        self._take(message.pid)
                    case ZygoteFailed():
                        self.last_words = message.cause
        except ChannelClosed:
            failure = await self._failure()
            for answer in self._pending:
                if not answer.done():
                    answer.set_exception(failure)

    def _take(self, pid: int) -> None:
        answer = self._pending.popleft()
        if not answer.done():
            answer.set_result(pid)
            return
        # Whoever asked for it was cancelled.
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    async def launch(self, *, name: str, target: str, needs: str, incoming: object) -> ChildProcess:
        ends = _Ends(name, self._level, self._write)
        try:
            pid = await self._ask(Fork(target=target, name=name, needs=needs), ends.fds())
        except BaseException:
            ends.close_ours()
            raise
        finally:
            ends.close_theirs()
        self._launched.add(pid)
        return ends.child(name, pid, incoming)

    async def _ask(self, request: Fork, fds: list[int]) -> int:
        assert self.process is not None, "start() comes first"
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        try:
            async with self._asking:
                self._pending.append(answer)
                await self.process.channel.send(request, fds)
        except ChannelClosed as error:
            raise await self._failure() from error
        return await answer

    async def _failure(self) -> StartError:
        assert self.process is not None, "start() comes first"
        try:
            await asyncio.wait_for(asyncio.shield(self.process.exited), EXIT_TIMEOUT_S)
        except TimeoutError:
            return StartError("zygote", self.last_words or "it closed its channel")
        return StartError("zygote", self.last_words or self.process.describe_exit())

    async def stop(self) -> None:
        if self.process is None:
            return
        self.process.channel.close()
        self.process.signal(signal.SIGKILL)
        await asyncio.shield(self.process.exited)
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader
        self._end_strays(self.process.pid)

    def _end_strays(self, session: int) -> None:
        """End forks that nobody was told of: their launch was cancelled, or the zygote ended first.

        All forks are in the zygote's session. A double fork's child may come here only with the end
        of its intermediate, so this looks again until there is none.
        """
        while strays := [
            pid for pid in children_of_this_process() - self._launched if os.getsid(pid) == session
        ]:
            for pid in strays:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _spawn(module: str, arguments: list[str], fds: list[int], env: Mapping[str, str]) -> int:
    """Start ``python -m module`` with standard input empty, and return its pid.

    Popen and not posix_spawn, for `pass_fds`; the object is let go at once, since the pidfd of
    `ChildProcess` reaps.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        pass_fds=fds,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=fds[-1],
        stderr=fds[-1],
        start_new_session=True,
    )
    # Keeps Popen's finaliser from complaining that nobody waited.
    process.returncode = 0
    return process.pid

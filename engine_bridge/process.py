"""One child process: start is the launcher's, watching and stopping are here. What a death means is
decided elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
from pathlib import Path

from engine_bridge.channel import SocketChannel
from engine_bridge.logs import OutputRelay

__all__ = [
    "ChildProcess",
    "become_subreaper",
    "children_of_this_process",
    "die_with_parent",
    "name_process",
    "reap_unknown",
]

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
# Linux's oom_score_adj and cgroup kills end a process with SIGKILL; nothing else usually does.
KILL_HINT = "was killed (out of memory, or by hand)"


def _prctl(option: int, argument: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, argument, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")


def become_subreaper() -> None:
    """Make this process the parent of every orphaned descendant, so that the zygote's children are
    its own.

    Source: prctl(2), PR_SET_CHILD_SUBREAPER.
    """
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Have the kernel send SIGKILL to this process when its parent ends, also while it is stopped
    or busy.

    Args:
        parent: Pid of the expected parent. If it has gone already, this process ends here.

    Source: prctl(2), PR_SET_PDEATHSIG; it is cleared by fork, so each process calls this for
        itself.
    """
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def name_process(name: str) -> None:
    """Show `name` as the process's title, where setproctitle is installed."""
    with contextlib.suppress(ImportError):
        # Comes with vLLM; a child without it only has a plain title.
        from setproctitle import setproctitle  # noqa: PLC0415

        setproctitle(name)


class ChildProcess:
    """A child of this process, watched by a pidfd.

    Args:
        name: For messages (``stage chat``).
        pid: Of a process whose parent is this one.
        channel: This side's end of the control channel; closed when the child has ended.
        output: The relay of the child's output.

    Attributes:
        exited: Resolves to the exit code, negative for a signal, once the process has been reaped.
    """

    def __init__(self, name: str, pid: int, channel: SocketChannel, output: OutputRelay) -> None:
        self.name = name
        self.pid = pid
        self.channel = channel
        self.output = output
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = self._loop.create_future()
        self._pidfd = os.pidfd_open(pid)
        self._loop.add_reader(self._pidfd, self._reap)

    def _reap(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        # Not yet reaped, so that the number cannot be another's: what the child left in its group
        # goes with it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        try:
            _, status = os.waitpid(self.pid, 0)
            code = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            # Somebody else reaped it; that it has ended is all that is known.
            code = -signal.SIGKILL
        self.exited.set_result(code)

    @property
    def alive(self) -> bool:
        """Whether the process has not been reaped yet."""
        return not self.exited.done()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; a process that has ended takes none."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    async def stop(self, timeout_s: float) -> int:
        """End the process: SIGTERM, after `timeout_s` SIGKILL, then reaped. Safe to call twice.

        Returns:
            The exit code, negative for a signal.
        """
        self.signal(signal.SIGTERM)
        # A stopped process acts on SIGTERM only once it runs again.
        self.signal(signal.SIGCONT)
        try:
            return await asyncio.wait_for(asyncio.shield(self.exited), timeout_s)
        except TimeoutError:
            self.signal(signal.SIGKILL)
            return await asyncio.shield(self.exited)

    def describe_exit(self) -> str:
        """How the process ended, in words; only once it has."""
        code = self.exited.result()
        if code == -signal.SIGKILL:
            return KILL_HINT
        if code < 0:
            return f"ended by {signal.Signals(-code).name}"
        return f"exited with code {code}"


def children_of_this_process() -> set[int]:
    """Pids of all children, of every thread; those that have ended but were not reaped as well."""
    pids: set[int] = set()
    for children in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread has just ended
            pids.update(map(int, children.read_text().split()))
    return pids


def reap_unknown(known: set[int]) -> list[int]:
    """Reap orphans that came to this process as their subreaper, such as the workers of a killed
    engine.

    The leader of a process group is left alone: every child that a launcher starts is one before
    it becomes a child of this process, and may have ended before its launch is known here.

    Args:
        known: Pids that have a `ChildProcess` of their own, which are left alone.

    Returns:
        The pids that were reaped.
    """
    reaped: list[int] = []
    while True:
        try:
            info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return reaped
        if info is None or info.si_pid in known or os.getpgid(info.si_pid) == info.si_pid:
            return reaped
        os.waitpid(info.si_pid, 0)
        reaped.append(info.si_pid)

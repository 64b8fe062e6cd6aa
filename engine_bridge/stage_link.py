"""The parent's side of one launched engine: the listeners of every rank, the handshake, and its own
control rank.

The messages are vLLM's own, but plain msgpack over ZMQ, so the parent needs no vLLM:

- handshake, on a ROUTER: the engine says HELLO, is told the addresses of all ranks, and says READY
at last;
- each rank has an input (bound ROUTER, the engine connects a DEALER) and an output (bound PULL, the
engine PUSHes);
- ready payload: the first message that the engine's DEALER sends to each rank;
- utility call: ``[engine, 0x03, (client, call id, method, arguments)]`` to the input, answered on
the output.

Source: vllm/v1/engine/core.py (startup_handshake, process_input_sockets),
    vllm/v1/engine/core_client.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from pathlib import Path

import msgspec
import zmq
import zmq.asyncio

from engine_bridge.run_directory import listen_unix

__all__ = ["CALL_TIMEOUT_S", "EngineDead", "RankEnds", "StageLink"]

ENGINE_IDENTITY = b"\x00\x00"
UTILITY = b"\x03"
ENGINE_CORE_DEAD = b"ENGINE_CORE_DEAD"
# Position of the utility answer in EngineCoreOutputs, which is an array-like struct.
UTILITY_OUTPUT = 4
# An engine answers between two steps; a step of a long prefill takes seconds.
CALL_TIMEOUT_S = 10.0


class EngineDead(Exception):
    """The engine itself told that it is about to end."""


class RankEnds:
    """What one rank is handed to reach one stage: two addresses and the sockets that listen there.

    The parent keeps its copies open for the life of the run, so that an engine's connections
    survive a frontend.
    """

    def __init__(self, folder: Path, rank: int) -> None:
        self.input_address = f"ipc://{folder}/in{rank}"
        self.output_address = f"ipc://{folder}/out{rank}"
        self.input = listen_unix(folder / f"in{rank}")
        self.output = listen_unix(folder / f"out{rank}")

    def fds(self) -> list[int]:
        """Input, then output."""
        return [self.input.fileno(), self.output.fileno()]

    def close(self) -> None:
        self.input.close()
        self.output.close()


class StageLink:
    """One launch of one engine as the parent sees it; inside a running event loop.

    Args:
        context: The parent's ZMQ context.
        folder: Private to this launch; holds the sockets and the engine's configuration.
        frontends: Number of frontends; the parent is the rank after the last.
    """

    def __init__(self, context: zmq.asyncio.Context, folder: Path, frontends: int) -> None:
        self.folder = folder
        self.clients = frontends + 1
        self._rank = frontends
        self.ranks = [RankEnds(folder, rank) for rank in range(frontends)]
        self._input_address = f"ipc://{folder}/in{frontends}"
        self._output_address = f"ipc://{folder}/out{frontends}"
        self.handshake_address = f"ipc://{folder}/hs"
        self._router = context.socket(zmq.ROUTER)
        # A call to an engine that is not there fails at once instead of waiting for nobody.
        self._router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._router.bind(self._input_address)
        self._pull = context.socket(zmq.PULL)
        self._pull.bind(self._output_address)
        self._handshake = context.socket(zmq.ROUTER)
        self._handshake.bind(self.handshake_address)
        self._ids = itertools.count(1)
        self._calls: dict[int, asyncio.Future[object]] = {}
        self._reader: asyncio.Task[None] | None = None
        self.ready_payload = b""

    @property
    def config_path(self) -> Path:
        """Where the engine leaves its configuration."""
        return self.folder / "config"

    async def wait_ready(self) -> None:
        """Walk the handshake until the engine is ready. The caller races this with the child's
        death and a deadline.
        """
        identity, message = await self._handshake.recv_multipart()
        _expect(message, "HELLO")
        addresses = {
            "inputs": [ends.input_address for ends in self.ranks] + [self._input_address],
            "outputs": [ends.output_address for ends in self.ranks] + [self._output_address],
        }
        reply = msgspec.msgpack.encode({"addresses": addresses, "parallel_config": {}})
        await self._handshake.send_multipart([identity, reply])
        _, self.ready_payload = await self._router.recv_multipart()
        _, message = await self._handshake.recv_multipart()
        _expect(message, "READY")
        self._handshake.close(0)
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while True:
            frames = await self._pull.recv_multipart()
            if frames == [ENGINE_CORE_DEAD]:
                for call in self._calls.values():
                    if not call.done():
                        call.set_exception(EngineDead())
                continue
            # What cannot be read answers nothing: its call times out, the next one still works.
            with contextlib.suppress(msgspec.MsgspecError, TypeError):
                outputs = msgspec.msgpack.decode(frames[0])
                answer = outputs[UTILITY_OUTPUT] if len(outputs) > UTILITY_OUTPUT else None
                if answer:
                    self._answer(*answer)

    def _answer(
        self, call_id: int, failure: str | None, result: tuple[object, object] | None
    ) -> None:
        call = self._calls.pop(call_id, None)
        if call is None or call.done():
            return
        if failure is not None:
            call.set_exception(RuntimeError(failure))
        else:
            call.set_result(result[1] if result else None)

    async def call(
        self, method: str, *arguments: object, timeout_s: float = CALL_TIMEOUT_S
    ) -> object:
        """Call a utility method of the engine.

        Raises:
            TimeoutError: If the engine does not answer in time.
            EngineDead: If it ends meanwhile.
            RuntimeError: If the method raises.
            zmq.ZMQError: If it is not connected.
        """
        call_id = next(self._ids)
        call = self._calls[call_id] = asyncio.get_running_loop().create_future()
        try:
            payload = msgspec.msgpack.encode((self._rank, call_id, method, arguments))
            await self._router.send_multipart([ENGINE_IDENTITY, UTILITY, payload])
            return await asyncio.wait_for(call, timeout_s)
        finally:
            self._calls.pop(call_id, None)

    async def close(self) -> None:
        """Close all sockets; safe to call twice."""
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader
            self._reader = None
        for zmq_socket in (self._router, self._pull, self._handshake):
            zmq_socket.close(0)
        for ends in self.ranks:
            ends.close()


def _expect(message: bytes, status: str) -> None:
    got = msgspec.msgpack.decode(message).get("status")
    if got != status:
        raise RuntimeError(f"the engine said {got!r} where {status!r} was due")

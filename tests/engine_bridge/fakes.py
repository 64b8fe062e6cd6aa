"""An engine and a frontend without vLLM: they speak what the runtime listens to, and misbehave as
they are told.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading

import msgspec
import zmq

from engine_bridge.blocking import BlockingChannel
from engine_bridge.messages import to_frontend
from engine_bridge.messages.from_engine import ConfigWritten, EngineFailed
from engine_bridge.messages.from_frontend import (
    FrontendFailed,
    FrontendReady,
    MetricsCollected,
    Scrape,
)
from engine_bridge.messages.to_engine import StartEngine, ToEngine
from engine_bridge.metrics import Family, Sample, Snapshot
from tests.engine_bridge.targets import pause_for_ever

ENGINE = "tests.engine_bridge.fakes:engine"
FRONTEND = "tests.engine_bridge.fakes:frontend"
IDENTITY = b"\x00\x00"
READY_PAYLOAD = b"ready payload"


def _report(**what: object) -> None:
    sys.stdout.write(f"INFO {json.dumps(what)}\n")
    sys.stdout.flush()


# --------------------------------------------------------------------------- engine


def engine(sock: socket.socket) -> int:
    """`vllm_args["behave"]` says how: ``well``, or where it stops behaving."""
    channel = BlockingChannel(sock, ToEngine)
    start, _ = channel.receive()
    assert isinstance(start, StartEngine)
    behave = start.vllm_args.get("behave", "well")
    if behave == "rejects":
        channel.send(EngineFailed(cause="max-model-len is too large", rejected=True))
        return 1
    channel.send(ConfigWritten())
    if behave == "dies":
        return 3
    if behave == "is never ready":
        pause_for_ever()
    threading.Thread(target=_watch, args=(channel,), daemon=True).start()
    FakeEngine(start.handshake_address).serve()
    return 0


def _watch(channel: BlockingChannel) -> None:
    channel.wait_closed()
    os._exit(1)


class FakeEngine:
    """vLLM's side of the handshake and of utility calls, in plain msgpack."""

    def __init__(self, handshake_address: str) -> None:
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._handshake = self._socket(zmq.DEALER, handshake_address)
        self._say("HELLO")
        addresses = msgspec.msgpack.decode(self._handshake.recv())["addresses"]
        self.inputs = [self._socket(zmq.DEALER, address) for address in addresses["inputs"]]
        self.outputs = [self._socket(zmq.PUSH, address) for address in addresses["outputs"]]
        for each in self.inputs:
            each.send(READY_PAYLOAD)
        self._say("READY")

    def _socket(self, kind: int, address: str) -> zmq.Socket[bytes]:
        made = self.context.socket(kind)
        if kind == zmq.DEALER:
            made.setsockopt(zmq.IDENTITY, IDENTITY)
        made.connect(address)
        return made

    def _say(self, status: str) -> None:
        message = {"status": status, "local": True, "headless": True}
        self._handshake.send(msgspec.msgpack.encode(message))

    def serve(self) -> None:
        control = self.inputs[-1]
        while True:
            _, payload = control.recv_multipart()
            client, call_id, method, _ = msgspec.msgpack.decode(payload)
            gauges = {"running": 2, "waiting": 1, "kv_cache_usage": 0.5}
            result = gauges if method == "omni_gauges" else None
            output = [0, [], None, 1.0, [call_id, None, [None, result]]]
            self.outputs[client].send(msgspec.msgpack.encode(output))


# ------------------------------------------------------------------------- frontend


def frontend(sock: socket.socket) -> int:
    """The environment's FRONTEND_BEHAVES says how, for the rank in FRONTEND_RANK only if set."""
    channel = BlockingChannel(sock, to_frontend.ToFrontend)
    start, fds = channel.receive()
    assert isinstance(start, to_frontend.StartFrontend)
    _report(rank=start.rank, fds=len(fds), stages=[stage.name for stage in start.stages])
    behave = "well"
    if os.environ.get("FRONTEND_RANK", str(start.rank)) == str(start.rank):
        behave = os.environ.get("FRONTEND_BEHAVES", "well")
    if behave == "fails":
        channel.send(FrontendFailed(cause="the app cannot be built"))
        return 1
    if behave == "is never ready":
        pause_for_ever()
    channel.send(FrontendReady())
    while True:
        message, _ = channel.receive()
        code = _answer(channel, start.rank, behave, message)
        if code is not None:
            return code


def _answer(
    channel: BlockingChannel, rank: int, behave: str, message: msgspec.Struct
) -> int | None:
    match message:
        case to_frontend.Accept():
            _report(rank=rank, accepts=True)
            if behave == "scrapes":
                for number in range(5):
                    channel.send(Scrape(id=number))
        case to_frontend.CollectMetrics():
            if behave != "is silent":
                channel.send(MetricsCollected(id=message.id, snapshot=snapshot(rank)))
        case to_frontend.Scraped():
            _report(rank=rank, scraped=message.id, text=message.text)
        case to_frontend.Drain():
            _report(rank=rank, drains=True)
            if behave != "does not drain":
                return 0
            signal.pause()
    return None


def snapshot(rank: int) -> Snapshot:
    samples = (Sample("requests_total", {}, float(rank + 1)),)
    return Snapshot((Family("requests", "counter", "Requests.", samples),))

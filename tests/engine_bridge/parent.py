"""A parent as `omni serve` is one, for tests that kill it: launches one child and tells of it.

``python -m tests.engine_bridge.parent KIND TARGET [stop]``
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys

from engine_bridge.launcher import ZygoteLauncher
from engine_bridge.process import become_subreaper
from tests.engine_bridge.launching import launch, make_launcher, told


async def main(kind: str, target: str, *stop: str) -> None:
    become_subreaper()
    interrupted = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
    launcher = make_launcher(kind, lambda line: None)
    await launcher.start()
    child = await launch(launcher, target)
    facts = await told(child)
    pids = {"child": facts.pid}
    if facts.grandchild:
        pids["grandchild"] = facts.grandchild
    if isinstance(launcher, ZygoteLauncher) and launcher.process is not None:
        pids["zygote"] = launcher.process.pid
    if stop:
        os.kill(facts.pid, signal.SIGSTOP)
    sys.stdout.write(json.dumps(pids) + "\n")
    sys.stdout.flush()
    await interrupted.wait()
    sys.stdout.write(json.dumps({name: child.alive for name in pids}) + "\n")
    sys.stdout.flush()
    await child.exited


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

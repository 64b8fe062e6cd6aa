"""StageRuntime: the only owner of a run's children. It carries out what `states.Policy` decides."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import assert_never

import msgspec
import zmq.asyncio

from engine_bridge import states
from engine_bridge.errors import ChannelClosed, StartError
from engine_bridge.launcher import Launcher, ZygoteLauncher
from engine_bridge.messages import from_engine, from_frontend, to_engine, to_frontend
from engine_bridge.plan import RuntimePlan, StagePlan
from engine_bridge.preload import ENGINE, ENGINE_TARGET
from engine_bridge.process import ChildProcess, reap_unknown
from engine_bridge.run_directory import RunDirectory
from engine_bridge.scrape import Scraper
from engine_bridge.stage_link import StageLink
from engine_bridge.states import frontend_name, stage_name
from engine_bridge.status import Phase, RuntimeStatus

__all__ = ["FrontDoor", "StageRuntime"]

# Last messages of a child are read until its end of the channel closes; it has ended already.
LAST_WORDS_TIMEOUT_S = 1.0
# The phase in which the zygote imports what an engine needs.
IMPORT = "import"
# After the drain a frontend still has to close its connections and exit.
DRAIN_MARGIN_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontDoor:
    """What frontends are made of, as far as the runtime has to know.

    Attributes:
        target: Entry point of a frontend, ``module:function``.
        preload: Its preload group.
        fds: Shared by all ranks: the listening socket and the accept ledger.
        hand_over: Called once, before the first rank accepts; stops the parent's own answers.
        drain_timeout_s: Longest that running requests may take once the end was asked for.
        version: omni's own version.
        settings: What else the entry point is told, as JSON; nothing of it is read here.
        on_report: Takes what a batch reports; a server's frontends report nothing.
    """

    target: str
    preload: str
    fds: tuple[int, ...]
    hand_over: Callable[[], Coroutine[None, None, None]]
    drain_timeout_s: float
    version: str
    settings: bytes = b"{}"
    on_report: Callable[[from_frontend.BatchProgress | from_frontend.BatchFinished], None] = (
        lambda report: None
    )


class StageRuntime:
    """Launches, watches and stops the stages and frontends of one run.

    Args:
        plan: What to run.
        launcher: How children come to life; started and stopped here.
        directory: Private directory of the run.
        door: The frontends.
        on_status: Told every new status.
    """

    def __init__(
        self,
        plan: RuntimePlan,
        launcher: Launcher,
        directory: RunDirectory,
        door: FrontDoor,
        on_status: Callable[[RuntimeStatus], None],
    ) -> None:
        self._plan = plan
        self._launcher = launcher
        self._directory = directory
        self._door = door
        self._on_status = on_status
        self._policy = states.Policy([stage.name for stage in plan.stages], plan.api_server_count)
        self._events: asyncio.Queue[states.Event] = asyncio.Queue()
        self._children: dict[str, ChildProcess] = {}
        self._links: dict[str, StageLink] = {}
        self._last_words: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._deadlines: dict[str, asyncio.TimerHandle] = {}
        self._context = zmq.asyncio.Context()
        self._scraper = Scraper(self._tell)
        self._started_at = time.monotonic()
        self._phases: dict[str, Phase] = {}

    # ------------------------------------------------------------------ the run

    async def run(self) -> None:
        """Run until a stop is asked for and done.

        Raises:
            StartError: If a child never became ready.
            ChildDied: If one died after that.
        """
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCHLD, self._reap_unknown)
        try:
            self._begin_phase(IMPORT)
            await self._launcher.start()
            if isinstance(self._launcher, ZygoteLauncher) and self._launcher.process is not None:
                self._watch(self._launcher.process)
            await self._loop()
        finally:
            loop.remove_signal_handler(signal.SIGCHLD)
            await self._close()

    async def _loop(self) -> None:
        self._events.put_nowait(states.Begun())
        while True:
            event = await self._events.get()
            for instruction in self._policy.handle(event):
                if isinstance(instruction, states.Finish):
                    if instruction.error is not None:
                        raise instruction.error
                    return
                await self._carry_out(instruction)

    async def _carry_out(self, instruction: states.Instruction) -> None:
        match instruction:
            case states.LaunchStage():
                name = stage_name(instruction.stage)
                self._launch(name, self._launch_stage(instruction.stage))
            case states.LaunchFrontend():
                name = frontend_name(instruction.rank)
                self._launch(name, self._launch_frontend(instruction.rank))
            case states.HandOver() | states.Accept() | states.Broadcast():
                await self._open(instruction)
            case _:
                await self._end(instruction)

    async def _open(self, instruction: states.HandOver | states.Accept | states.Broadcast) -> None:
        match instruction:
            case states.HandOver():
                self._spawn(self._door.hand_over())
                # Its first step, which stops accepting, runs before any frontend may accept.
                await asyncio.sleep(0)
            case states.Accept():
                await self._tell(instruction.rank, to_frontend.Accept())
            case states.Broadcast():
                await self._broadcast()
            case _:
                assert_never(instruction)

    async def _end(
        self,
        instruction: states.DrainFrontends
        | states.Kill
        | states.KillAll
        | states.StopStages
        | states.Finish,
    ) -> None:
        match instruction:
            case states.DrainFrontends():
                await self._drain()
            case states.Kill():
                if child := self._children.get(instruction.child):
                    child.signal(signal.SIGKILL)
            case states.KillAll():
                await self._kill_all()
            case states.StopStages():
                for stage in self._plan.stages:
                    self._spawn(self._stop_child(stage_name(stage.name)))
            case states.Finish():
                raise AssertionError("handled by the loop")
            case _:
                assert_never(instruction)

    def request_stop(self) -> None:
        """Ask for the end; asked again, it comes at once. Safe in a signal handler of the loop."""
        self._events.put_nowait(states.StopRequested())

    @property
    def stopping(self) -> bool:
        """Whether the end was asked for."""
        return self._policy.stopping

    def last_lines(self, child: str) -> list[str]:
        """What the child wrote last, oldest first."""
        process = self._children.get(child)
        return list(process.output.lines) if process else []

    # ---------------------------------------------------------------- launching

    def _launch(self, name: str, launching: Coroutine[None, None, None]) -> None:
        """Launch in a task: a fork waits for its preload group, and events must not."""

        async def launch() -> None:
            try:
                await launching
            except StartError as error:
                self._events.put_nowait(states.Exited(error.child, error.cause))

        self._begin_phase(name)
        self._set_deadline(name, self._plan.ready_timeout_s)
        self._spawn(launch())

    async def _launch_stage(self, name: str) -> None:
        plan = next(stage for stage in self._plan.stages if stage.name == name)
        index = self._plan.stages.index(plan)
        link = StageLink(
            self._context, self._directory.stage(index, 0), self._plan.api_server_count
        )
        self._links[name] = link
        child = await self._launcher.launch(
            name=stage_name(name),
            target=ENGINE_TARGET,
            needs=ENGINE,
            incoming=from_engine.FromEngine,
        )
        self._watch(child)
        await self._send(child, self._start_engine(plan, link))
        # Ends with ready; the child's death and the deadline are events of their own.
        await link.wait_ready()
        self._became_ready(stage_name(name))
        self._events.put_nowait(states.StageReady(name))

    def _start_engine(self, plan: StagePlan, link: StageLink) -> to_engine.StartEngine:
        return to_engine.StartEngine(
            stage=plan.name,
            model_path=plan.model_path,
            served_names=plan.served_names,
            vllm_args=dict(plan.vllm_args),
            executor=plan.executor,
            threads=plan.threads,
            clients=link.clients,
            handshake_address=link.handshake_address,
            config_path=str(link.config_path),
            worker_method=self._plan.start_method,
        )

    async def _launch_frontend(self, rank: int) -> None:
        name = frontend_name(rank)
        child = await self._launcher.launch(
            name=name,
            target=self._door.target,
            needs=self._door.preload,
            incoming=from_frontend.FromFrontend,
        )
        self._watch(child)
        fds = list(self._door.fds)
        endpoints = []
        for stage in self._plan.stages:
            link = self._links[stage.name]
            ends = link.ranks[rank]
            fds += ends.fds()
            endpoints.append(
                to_frontend.StageEndpoint(
                    name=stage.name,
                    served_names=stage.served_names,
                    config_path=str(link.config_path),
                    input_address=ends.input_address,
                    output_address=ends.output_address,
                )
            )
        start = to_frontend.StartFrontend(
            rank=rank,
            api_server_count=self._plan.api_server_count,
            clients=self._plan.api_server_count + 1,
            stages=tuple(endpoints),
            drain_timeout_s=self._door.drain_timeout_s,
            version=self._door.version,
            settings=self._door.settings,
        )
        await self._send(child, start, fds)
        await self._send(child, to_frontend.StatusChanged(status=self.status()))

    async def _send(
        self, child: ChildProcess, message: msgspec.Struct, fds: list[int] | None = None
    ) -> None:
        # A closed channel is the child's death, which its watcher reports with the cause.
        with contextlib.suppress(ChannelClosed):
            await child.channel.send(message, fds or ())

    # ----------------------------------------------------------------- watching

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _watch(self, child: ChildProcess) -> None:
        self._children[child.name] = child
        if child.name == states.ZYGOTE:
            # Its launcher reads the channel.
            self._spawn(self._report_end(child, None))
            return
        reader = asyncio.create_task(self._read(child))
        self._spawn(self._report_end(child, reader))

    def _set_deadline(self, name: str, timeout_s: float) -> None:
        self._take_deadline_back(name)
        self._deadlines[name] = asyncio.get_running_loop().call_later(
            timeout_s, self._events.put_nowait, states.TimedOut(name, timeout_s)
        )

    def _take_deadline_back(self, name: str) -> None:
        if timer := self._deadlines.pop(name, None):
            timer.cancel()

    def _became_ready(self, name: str) -> None:
        self._take_deadline_back(name)
        self._end_phase(name)
        # Where there is no zygote, each child imports for itself.
        self._end_phase(IMPORT)

    async def _report_end(self, child: ChildProcess, reader: asyncio.Task[None] | None) -> None:
        await asyncio.shield(child.exited)
        # Orphans that stood behind it in the queue of the dead.
        self._reap_unknown()
        if reader is not None:
            # Its last message may still lie in the channel.
            await asyncio.wait([reader], timeout=LAST_WORDS_TIMEOUT_S)
            reader.cancel()
        child.channel.close()
        said = self._last_words.get(child.name)
        if child.name == states.ZYGOTE and isinstance(self._launcher, ZygoteLauncher):
            said = self._launcher.last_words
        cause = said or child.describe_exit()
        if child.name in self._phases:
            self._end_phase(child.name)
        self._take_deadline_back(child.name)
        self._events.put_nowait(states.Exited(child.name, cause))

    async def _read(self, child: ChildProcess) -> None:
        try:
            while True:
                message, _ = await child.channel.receive()
                self._take(child.name, message)
        except ChannelClosed:
            return

    def _take(self, name: str, message: object) -> None:
        kind, _, rest = name.partition(" ")
        match message:
            case from_engine.ConfigWritten():
                self._events.put_nowait(states.StageConfigured(rest))
            case from_engine.EngineFailed() | from_frontend.FrontendFailed():
                self._last_words[name] = message.cause
            case from_frontend.FrontendReady():
                self._became_ready(name)
                self._events.put_nowait(states.FrontendReady(int(rest)))
            case from_frontend.Scrape():
                self._spawn(self._answer_scrape(int(rest), message.id))
            case from_frontend.MetricsCollected():
                self._scraper.take(int(rest), message)
            case from_frontend.BatchProgress() | from_frontend.BatchFinished():
                self._door.on_report(message)
            case _:
                raise AssertionError(f"{kind} sent {type(message).__name__}")

    def _reap_unknown(self) -> None:
        reap_unknown({child.pid for child in self._children.values() if child.alive})

    # ------------------------------------------------------------------- status

    def status(self) -> RuntimeStatus:
        """The run's state now."""
        children = self._policy.children
        return RuntimeStatus(
            started_at=self._started_at,
            phases=tuple(self._phases.values()),
            stages={stage.name: children[stage_name(stage.name)] for stage in self._plan.stages},
            frontends=tuple(
                children[frontend_name(rank)] for rank in range(self._plan.api_server_count)
            ),
        )

    def preloaded(self, group: str, seconds: float) -> None:
        """The zygote has imported a group."""
        if group == ENGINE:
            self._end_phase(IMPORT)

    def _begin_phase(self, name: str) -> None:
        self._phases[name] = Phase(name=name, started_at=time.monotonic())
        self._on_status(self.status())  # what is waited for has changed

    def _end_phase(self, name: str) -> None:
        phase = self._phases[name]
        if phase.ended_at is None:
            self._phases[name] = msgspec.structs.replace(phase, ended_at=time.monotonic())
            self._on_status(self.status())

    async def _broadcast(self) -> None:
        status = self.status()
        self._on_status(status)
        for rank in range(self._plan.api_server_count):
            await self._tell(rank, to_frontend.StatusChanged(status=status))

    async def _tell(self, rank: int, message: msgspec.Struct) -> None:
        child = self._children.get(frontend_name(rank))
        if child is not None:
            await self._send(child, message)

    # ------------------------------------------------------------------ metrics

    async def _answer_scrape(self, rank: int, scrape_id: int) -> None:
        text = await self.scrape()
        await self._tell(rank, to_frontend.Scraped(id=scrape_id, text=text))

    async def scrape(self) -> str:
        """The merged metrics of all ranks and stages, as Prometheus text."""
        states_now = self._policy.children
        ranks = [
            rank
            for rank in range(self._plan.api_server_count)
            if states_now[frontend_name(rank)] in ("ready", "draining")
        ]
        engines = [
            (stage.served_names[0], self._links[stage.name])
            for stage in self._plan.stages
            if states_now[stage_name(stage.name)] == "ready"
        ]
        return await self._scraper.scrape(ranks, engines)

    # ----------------------------------------------------------------- stopping

    async def _drain(self) -> None:
        timeout_s = self._door.drain_timeout_s + DRAIN_MARGIN_S
        for rank in range(self._plan.api_server_count):
            await self._tell(rank, to_frontend.Drain())
            self._set_deadline(frontend_name(rank), timeout_s)

    async def _stop_child(self, name: str) -> None:
        child = self._children.get(name)
        if child is None:
            self._events.put_nowait(states.Exited(name, "never started"))
        else:
            await child.stop(self._plan.stop_timeout_s)

    async def _kill_all(self) -> None:
        for child in self._children.values():
            child.signal(signal.SIGKILL)
        ends = [child.exited for child in self._children.values()]
        if ends:
            await asyncio.wait(ends)

    async def _close(self) -> None:
        for timer in self._deadlines.values():
            timer.cancel()
        # Launches first, so that none adds a child behind the kill.
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._kill_all()
        await self._launcher.stop()
        for link in self._links.values():
            await link.close()
        self._context.destroy(0)
        for child in self._children.values():
            child.channel.close()
            child.output.close()
        self._reap_unknown()

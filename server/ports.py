"""What the routes need from the rest of the process, as protocols."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.requests import Request
from starlette.types import ASGIApp

from engine_bridge.status import RuntimeStatus

__all__ = ["JsonReply", "Parent", "Reply", "Stage", "StreamReply"]


class Parent(Protocol):
    """The process that owns every child, as a frontend sees it through its control channel."""

    async def scrape(self) -> str:
        """The merged text of ``/metrics``.

        Raises:
            ChannelClosed: If the parent is gone.
            TimeoutError: If it does not answer in time.
        """

    def status(self) -> RuntimeStatus:
        """The state of the run as last broadcast."""


@dataclass(frozen=True, slots=True)
class JsonReply:
    """A whole answer, encoded."""

    body: bytes
    status: int = 200


@dataclass(frozen=True, slots=True)
class StreamReply:
    """Server-sent events, encoded. The reader closes ``frames`` on every path.

    Attributes:
        frames: Whole frames.
        terminator: The frame that ends every stream of this family.
    """

    frames: AsyncGenerator[str, None]
    terminator: str = "data: [DONE]\n\n"


Reply = JsonReply | StreamReply


class Stage(Protocol):
    """One stage of this frontend: one model, called through upstream's serving classes.

    The request types are upstream's own and are not followed by the type checker.
    """

    @property
    def name(self) -> str:
        """The stage's name in the plan."""

    @property
    def names(self) -> Sequence[str]:
        """Every name by which a request selects the stage, the canonical one first."""

    @property
    def tasks(self) -> frozenset[str]:
        """The task families of ``server.route_table`` that the stage serves."""

    @property
    def dead(self) -> bool:
        """Whether its engine has died."""

    @property
    def keep_alive_s(self) -> float:
        """Seconds of silence after which a stream gets a comment; 0 for never."""

    def enabled(self, option: str) -> bool:
        """Whether an opt-in option of upstream's (``enable_scale_out``) is set for the stage."""

    def chat(self, request: Any, raw: Request) -> Awaitable[Reply]:
        """Chat completions."""

    def complete(self, request: Any, raw: Request) -> Awaitable[Reply]:
        """Completions."""

    def tokenize(self, request: Any, raw: Request) -> Awaitable[Reply]:
        """Text or messages to token ids."""

    def detokenize(self, request: Any, raw: Request) -> Awaitable[Reply]:
        """Token ids to text."""

    def models(self) -> Awaitable[list[dict[str, Any]]]:
        """The stage's entries of ``/v1/models``."""

    def check_health(self) -> Awaitable[None]:
        """Return if the engine can serve.

        Raises:
            ApiError: 503 if it cannot.
        """

    def passthrough(self) -> ASGIApp:
        """Upstream's own application over this stage, made at the first call."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document of ``passthrough``."""

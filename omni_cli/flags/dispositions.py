"""What becomes of vLLM's flags in omni's house, where they are not simply handed to each stage.

Every flag that would silently do nothing stands here: it is ``satisfied``, if omni does what it
asks for anyway, or ``refused``, with the reason and what to do instead. Rules about combinations
are not made here (omni_cli/serve/validate.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omni_cli.flags.flag import Scope

__all__ = ["DISPOSITIONS", "FORMER", "Disposition"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposition:
    """What becomes of one flag.

    Attributes:
        scope: ``satisfied`` or ``refused``.
        reason: Why; no full stop.
        way_out: What to do instead; may be empty.
        fulfilled: The value of a satisfied flag that asks for what omni does.
    """

    scope: Scope
    reason: str
    way_out: str = ""
    fulfilled: object = True


def _refused(reason: str, way_out: str = "") -> Disposition:
    return Disposition(scope="refused", reason=reason, way_out=way_out)


def _satisfied(reason: str, fulfilled: object = True) -> Disposition:
    return Disposition(scope="satisfied", reason=reason, fulfilled=fulfilled)


_NODES = "stages on several machines are not built yet"
_SUPERVISOR = "data parallelism behind an outer load balancer is not built yet"
_GRPC = "gRPC is not built yet"

DISPOSITIONS: Mapping[str, Disposition] = {
    "headless": _refused("a stage without frontends is not built yet"),
    "grpc": _refused(_GRPC, "leave it out and use HTTP"),
    "grpc_port": _refused(_GRPC, "leave it out and use HTTP"),
    "uds": _refused("a Unix socket is not built yet", "use --host and --port"),
    "middleware": _refused(
        "code of others inside the frontends is not built yet", "put a proxy in front"
    ),
    "uvicorn_log_level": _refused("uvicorn's lines are shown like all others", "use --log-level"),
}

FORMER: Mapping[str, str] = {
    "--task": "use --runner pooling, with --convert embed, classify or none if needed",
    "--workers": "use --api-server-count",
}
"""Spellings that vLLM had, or others have, and what stands for them now."""

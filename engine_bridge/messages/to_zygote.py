"""From the parent to the zygote."""

from __future__ import annotations

import msgspec

__all__ = ["Fork", "ToZygote"]


class Fork(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Start a child. Descriptors: its end of the control channel, and the pipe for its output.

    Attributes:
        target: ``module:function``, called with the control channel's socket.
        name: For the process title and messages.
        needs: Preload group that must be in before the fork (``engine`` or ``frontend``).
    """

    target: str
    name: str
    needs: str


ToZygote = Fork

"""Every error that omni raises on purpose, in one tree.

    OmniError
    ├── UsageError            a flag, an argument or a file that the user can correct
    ├── ModelError            a model that cannot be found, fetched or prepared
    ├── StartError            a child that never became ready
    ├── ChildDied             a child that died after it was ready
    ├── ClientError           a server that cannot be reached, or that refused a client command
    └── ChannelClosed         a channel that its other side, or this one, has closed

An exception keeps its facts as fields and writes its sentence in ``__str__``. The class says which
exit code the command ends with and whether trying again can help.
"""

from __future__ import annotations

__all__ = [
    "ChannelClosed",
    "ChildDied",
    "ClientError",
    "ModelError",
    "OmniError",
    "StartError",
    "UsageError",
]


class OmniError(Exception):
    """Root of the tree. Caught in one place, ``omni_cli.main``, and shown as one line."""

    exit_code = 1
    retryable = False


class UsageError(OmniError):
    """Found by validation, before anything was started.

    Args:
        subject: The flag, argument or file at fault, as the user spells it (``--port``).
        value: What the user gave, or None if the point is that nothing was given.
        reason: Why it cannot be used; no full stop.
        way_out: What to do instead; no full stop. May be empty.
    """

    exit_code = 2

    def __init__(self, subject: str, value: object | None, reason: str, way_out: str = "") -> None:
        super().__init__(subject, value, reason, way_out)
        self.subject = subject
        self.value = value
        self.reason = reason
        self.way_out = way_out

    def __str__(self) -> str:
        given = "" if self.value is None else f" {self.value}"
        hint = f"; {self.way_out}" if self.way_out else ""
        return f"{self.subject}{given}: {self.reason}{hint}"


class ModelError(OmniError):
    """A model that cannot be found, fetched or prepared.

    Args:
        model: The name that the user gave.
        reason: What went wrong; no full stop.
        way_out: What to do next; no full stop. May be empty.
        retryable: Whether the same call can succeed later without a change.
    """

    exit_code = 2

    def __init__(
        self, model: str, reason: str, way_out: str = "", *, retryable: bool = False
    ) -> None:
        super().__init__(model, reason, way_out)
        self.model = model
        self.reason = reason
        self.way_out = way_out
        self.retryable = retryable

    def __str__(self) -> str:
        hint = f"; {self.way_out}" if self.way_out else ""
        return f"model {self.model}: {self.reason}{hint}"


class StartError(OmniError):
    """A child that never became ready; it is not restarted.

    Args:
        child: The child's name (``stage chat``, ``frontend 0``, ``zygote``).
        cause: Its own last words, or what its exit says; no full stop.
    """

    exit_code = 3

    def __init__(self, child: str, cause: str) -> None:
        super().__init__(child, cause)
        self.child = child
        self.cause = cause

    def __str__(self) -> str:
        return f"{self.child} could not start: {self.cause}"


class ChildDied(OmniError):
    """A child that died after it was ready.

    Args:
        child: The child's name.
        cause: The signal or exit code, and a hint where one is known; no full stop.
    """

    exit_code = 1

    def __init__(self, child: str, cause: str) -> None:
        super().__init__(child, cause)
        self.child = child
        self.cause = cause

    def __str__(self) -> str:
        return f"{self.child} died: {self.cause}"


class ClientError(OmniError):
    """A server that a client command cannot reach, or that refused its request.

    Args:
        url: The server's address.
        reason: What happened; no full stop.
        way_out: What to do next; no full stop. May be empty.
    """

    exit_code = 1

    def __init__(self, url: str, reason: str, way_out: str = "") -> None:
        super().__init__(url, reason, way_out)
        self.url = url
        self.reason = reason
        self.way_out = way_out

    def __str__(self) -> str:
        hint = f"; {self.way_out}" if self.way_out else ""
        return f"{self.url}: {self.reason}{hint}"


class ChannelClosed(OmniError):
    """Raised by every operation on a channel that either side has closed."""

    retryable = False

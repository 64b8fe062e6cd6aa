"""Which server a client command asks, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from engine_bridge.errors import UsageError
from omni_cli.client.address import Address
from omni_cli.client.trust import Trust

__all__ = ["Target"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server as a client command was told of it.

    Attributes:
        api_key: Sent as a bearer token, or None.
        timeout_s: Longest wait for a server that is starting, and between two pieces of an answer.
    """

    address: Address
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 300.0
    trust: Trust = field(default_factory=Trust)

    @classmethod
    def parse(
        cls,
        url: str,
        *,
        api_key: str | None,
        timeout_s: float,
        ca_file: Path | None,
        insecure: bool,
    ) -> Target:
        """Read what the flags say, and refuse what can never work.

        Raises:
            UsageError: An address, a key or a file of certificates that cannot be one.
        """
        address = Address.parse(url)
        if api_key and not (api_key.isascii() and api_key.isprintable()):
            raise UsageError("--api-key", None, "has characters that an HTTP header cannot carry")
        trust = Trust(ca_file=ca_file, insecure=insecure)
        trust.check()
        return cls(address=address, api_key=api_key, timeout_s=timeout_s, trust=trust)

    @property
    def headers(self) -> dict[str, str]:
        """The header that carries the key, or none."""
        return {"authorization": f"Bearer {self.api_key}"} if self.api_key else {}

"""Which certificates a client believes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine_bridge.errors import UsageError

if TYPE_CHECKING:
    import ssl

__all__ = ["Trust"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How far a server's certificate is believed; without more, those of well-known authorities.

    Attributes:
        ca_file: PEM file of the certificates to believe instead, or None.
        insecure: Believe any certificate.
    """

    ca_file: Path | None = None
    insecure: bool = False

    def check(self) -> None:
        """Refuse what can never work, before anything is asked.

        Raises:
            UsageError: A file that holds no certificate, or both ways at once.
        """
        if self.ca_file is None:
            return
        if self.insecure:
            raise UsageError(
                "--insecure", None, "contradicts --ca-file", "leave one of the two out"
            )
        self.context()

    def context(self) -> ssl.SSLContext | bool:
        """What HTTP libraries take: True for the well-known authorities, False for anybody.

        Raises:
            UsageError: The file cannot be read or holds no certificate.
        """
        if self.ca_file is None:
            return not self.insecure
        import ssl  # noqa: PLC0415 - late: plain HTTP has no use for it

        try:
            return ssl.create_default_context(cafile=str(self.ca_file))
        except ssl.SSLError as error:
            reason = "holds no certificate in PEM form"
            raise UsageError("--ca-file", self.ca_file, reason) from error
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
            raise UsageError("--ca-file", self.ca_file, reason) from error

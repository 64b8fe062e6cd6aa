"""How a child says in one line why it ends."""

from __future__ import annotations

__all__ = ["MAX_CAUSE_CHARS", "one_line"]

# The parent shows it whole; vLLM can list all the architectures that it knows.
MAX_CAUSE_CHARS = 500
# Enough for pydantic, whose first line names no field.
MAX_LINES = 4


def one_line(error: BaseException) -> str:
    """The error's sentence in one printable line of bounded length, never empty.

    Lines that only point to documentation are left out.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("For further information")]
    text = " ".join(told[:MAX_LINES])
    text = "".join(char if char.isprintable() else "?" for char in text)
    if len(text) > MAX_CAUSE_CHARS:
        text = text[: MAX_CAUSE_CHARS - 1].rstrip() + "…"
    return text or type(error).__name__

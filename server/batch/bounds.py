"""Bounds of a batch that help pages tell as well; imports nothing."""

from __future__ import annotations

__all__ = ["MAX_CONCURRENCY"]

# Lines at work at once. No engine takes more sequences, and each holds its body and a task.
MAX_CONCURRENCY = 4096

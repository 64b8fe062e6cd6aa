"""Bounds of a load that flags and machinery share."""

from __future__ import annotations

__all__ = ["MAX_CONCURRENCY", "MAX_PROMPTS"]

# Requests in flight whatever the rate: each takes a socket here and memory there
MAX_CONCURRENCY = 4096
# Requests of one load: all their records are held in memory, some kilobytes each
MAX_PROMPTS = 100_000

"""The README, read: its fenced blocks, its commands, and those of them that need a server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "SERVED", "Block", "blocks", "commands"]

ROOT = Path(__file__).resolve().parent.parent

# Run by tests/e2e/test_readme.py, which fails if one of them has no test there.
SERVED = {
    "make serve",
    "make chat",
    '.venv/bin/omni chat "Who wrote Hamlet?"',
    'echo "Say hello in French." | .venv/bin/omni chat',
    'curl http://127.0.0.1:8000/v1/chat/completions -H "Content-Type: application/json"'
    ' -d \'{"model": "smollm2-135m-instruct",'
    ' "messages": [{"role": "user", "content": "Hello!"}]}\'',
    'curl http://127.0.0.1:8000/v1/embeddings -H "Content-Type: application/json"'
    ' -d \'{"model": "embed", "input": "A kitten sleeps."}\'',
    ".venv/bin/omni serve assistant.yaml",
    ".venv/bin/omni serve --api-server-count 2",
    'make serve ARGS="--port 9000"',
    'make chat ARGS="--url http://127.0.0.1:9000"',
}


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    text: str


def blocks() -> list[Block]:
    """The fenced blocks of the README, in order."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    return [Block(language, text) for language, text in fenced]


def commands() -> list[str]:
    """Every line of every shell block."""
    lines = [block.text.splitlines() for block in blocks() if block.language == "sh"]
    return [line.strip() for block in lines for line in block if line.strip()]

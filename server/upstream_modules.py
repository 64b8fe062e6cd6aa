"""Upstream's serving modules, which it imports itself only when a stage is built.

Importing them with this package lets a process that forks frontends do it once for all of them.
"""

from __future__ import annotations

import vllm.entrypoints.anthropic.serving
import vllm.entrypoints.generate.generative_scoring.serving
import vllm.entrypoints.openai.chat_completion.batch_serving
import vllm.entrypoints.openai.chat_completion.serving
import vllm.entrypoints.openai.completion.serving
import vllm.entrypoints.openai.responses.serving
import vllm.entrypoints.pooling.classify.serving
import vllm.entrypoints.pooling.embed.serving
import vllm.entrypoints.pooling.factories
import vllm.entrypoints.pooling.pooling.serving
import vllm.entrypoints.pooling.scoring.serving
import vllm.entrypoints.scale_out.derender.serving
import vllm.entrypoints.scale_out.render.serving
import vllm.entrypoints.scale_out.token_in_token_out.serving
import vllm.entrypoints.speech_to_text.factories
import vllm.parser.metrics  # noqa: F401

__all__: list[str] = []

"""What ``omni check`` does: a conformance self-test of any OpenAI-style or Anthropic-style
server."""

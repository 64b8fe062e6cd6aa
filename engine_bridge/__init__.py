"""Stages: pipelines, the StageRuntime, the zygote, channels and stage clients."""

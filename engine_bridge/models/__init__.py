"""The bundled models: catalogue, download, preparation, cache.

``catalogue`` says which there are, ``store`` fetches and keeps them, ``resolve`` turns what a user
typed into what vLLM loads. ``gguf_*`` alone import more than the standard library and msgspec, and
are imported only while a model is prepared.
"""

"""The bundled models: catalogue, download, preparation, cache."""

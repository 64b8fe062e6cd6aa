"""The checks, one module per family; each lists its own in ``CHECKS``."""

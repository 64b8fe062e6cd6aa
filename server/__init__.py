"""The frontends: routes, adapters onto vLLM's serving classes, errors as HTTP."""

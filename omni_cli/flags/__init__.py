"""The flags of ``omni serve``: one catalogue, read by parser, help, settings, completions, docs."""

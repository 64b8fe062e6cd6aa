"""The omni command: settings, validation, the composition root and the terminal."""

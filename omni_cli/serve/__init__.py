"""The composition root of omni serve: settings, validation, and the wiring of the parts."""

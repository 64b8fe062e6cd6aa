"""One module per command; each is a translator from flags to one call."""

"""``omni bench``: how fast a server answers, and how fast it starts."""

"""Batches: JSON lines in, one result line for each out, with or without a server between."""

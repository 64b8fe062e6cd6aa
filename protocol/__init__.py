"""Sans-IO wire codecs (standard library, msgspec and numpy only)."""

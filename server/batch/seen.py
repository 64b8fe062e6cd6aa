"""Which keys were there before, in 8 bytes for each.

Open addressing over 32-bit fingerprints, with two slots of 4 bytes for each key that is announced.
A fingerprint and its place together tell about 60 bits of a keyed hash apart, so a match is a key
seen before, or one chance in some billions: whoever must be certain looks at the keys themselves.
"""

from __future__ import annotations

from array import array

__all__ = ["SeenKeys"]

SLOTS_PER_KEY = 2
_FINGERPRINT = 0xFFFFFFFF


class SeenKeys:
    """A set to which keys are only added.

    Args:
        capacity: Most keys that will be added.
    """

    def __init__(self, capacity: int) -> None:
        self._size = SLOTS_PER_KEY * max(capacity, 1) + 1
        self._slots = array("I", [0]) * self._size

    def add(self, key: str) -> bool:
        """Add a key; returns whether it was there, or looks so."""
        # Keyed anew in every process, so that no file can be made to collide.
        value = hash(key)
        # 0 stands for an empty slot.
        fingerprint = (value >> 32) & _FINGERPRINT or 1
        slots, size = self._slots, self._size
        place = value % size
        while there := slots[place]:
            if there == fingerprint:
                return True
            place += 1
            if place == size:
                place = 0
        slots[place] = fingerprint
        return False

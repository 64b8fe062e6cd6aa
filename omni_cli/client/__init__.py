"""What the client commands share: an address, a connection, its faults, and an answer as it
grows."""

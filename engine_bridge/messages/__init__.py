"""What travels on control channels: one module for each direction."""

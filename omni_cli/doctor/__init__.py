"""What ``omni doctor`` does: looks at this machine and this installation, and changes nothing."""

"""Runs a command in a network namespace that has a loopback interface and nothing else.

python tests/e2e/offline.py COMMAND [ARG ...]
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
IFREQ = struct.Struct("16sh14x")


def main() -> None:
    flags = CLONE_NEWNET if os.getuid() == 0 else CLONE_NEWNET | CLONE_NEWUSER
    if ctypes.CDLL(None, use_errno=True).unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket() as sock:
        answer = fcntl.ioctl(sock, SIOCGIFFLAGS, IFREQ.pack(b"lo", 0))
        _, current = IFREQ.unpack(answer)
        fcntl.ioctl(sock, SIOCSIFFLAGS, IFREQ.pack(b"lo", current | IFF_UP))
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()

"""Run pip, and die with the process that asked for it.

Started as a script: ``python -P pip_child.py PARENT_PID ARGUMENT...``. Needs nothing but the
standard library and pip.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

# From <linux/prctl.h>. Elsewhere the guard is missing, and an orphaned pip ends when its download
# is done.
PR_SET_PDEATHSIG = 1


def main() -> None:
    parent = int(sys.argv[1])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the guard was set
        sys.exit(1)
    sys.argv = ["pip", *sys.argv[2:]]
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

"""Pull in a process that a test can kill: ROOT CATALOGUE NAME [MAX_FILE_BYTES]."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from engine_bridge.errors import ModelError
from engine_bridge.models import catalogue
from engine_bridge.models.progress import Progress
from engine_bridge.models.store import ModelStore


def show(progress: Progress) -> None:
    sys.stdout.write(f"{progress.step} {progress.done} {progress.total}\n")
    sys.stdout.flush()


def main() -> int:
    root, listing, name, *limit = sys.argv[1:]
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit[0]), int(limit[0])))
    store = ModelStore(Path(root), catalogue.parse(Path(listing).read_bytes()))
    try:
        folder = store.pull(name, show, timeout_s=60)
    except ModelError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(f"{folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

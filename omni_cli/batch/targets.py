"""The result files and the journal: which may be used, by one run at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from engine_bridge.errors import UsageError
from omni_cli.batch.wish import JOURNAL_SUFFIX, STDIO, BatchWish
from server.batch.done import DoneLines, ForeignLine
from server.batch.files import LineFile
from server.batch.journal import Head, new_path, read_head
from server.batch.lines import Survey

__all__ = ["Targets", "foreign", "refuse_early"]

# A run whose parent was just killed needs a moment to end.
LOCK_WAIT_S = 5.0
LOCK_POLL_S = 0.05

_STREAMS = {"-o": 1, "--errors": 2}


def refuse_early(wish: BatchWish) -> None:
    """Refuse what can be seen without opening anything, before the input is read.

    Raises:
        UsageError: A result file is there already, cannot be one, or is the input.
    """
    if wish.existing == "resume":
        for flag, path in (("-o", wish.output), ("--errors", wish.error_target)):
            if _is_stream(path):
                reason = "cannot be resumed: what was written to it cannot be read again"
                raise UsageError(flag, path, reason, "name a file")
    named = [("INPUT", wish.source), ("-o", wish.output), ("--errors", wish.error_target)]
    files = [(flag, path) for flag, path in named if not _is_stream(path)]
    for index, (flag, path) in enumerate(files):
        for other, before in files[:index]:
            if _same(path, before):
                raise UsageError(flag, path, f"is the same file as {other}", "name another")
        if flag != "INPUT":
            _refuse_target(flag, path, wish)


def _refuse_target(flag: str, path: str, wish: BatchWish) -> None:
    if os.path.isdir(path):
        raise UsageError(flag, path, "is a folder", "name a file in it")
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise UsageError(flag, path, "its folder is not there", "make it first")
    if wish.existing == "refuse" and os.path.exists(path):
        raise _exists(flag, path, wish)


def _exists(flag: str, path: str, wish: BatchWish) -> UsageError:
    if os.path.exists(wish.output + JOURNAL_SUFFIX):
        way_out = "--resume goes on with it, --overwrite begins again"
        return UsageError(flag, path, "belongs to a batch that has not ended", way_out)
    return UsageError(flag, path, "is there already", "name another, or give --overwrite")


class Targets:
    """Open result files, locked; a context manager that leaves them whole.

    Args:
        wish: What was asked for; `refuse_early` has passed it.
        survey: Of the input.

    Attributes:
        output: Descriptor of the output.
        errors: Descriptor of the error file.
        journal: Descriptor of the journal.
        journal_path: Where that is; None if the output is a stream.
        complete: Whether every line had its result before this run.

    Raises:
        UsageError: Another run has them, or they are not about this input.
    """

    def __init__(self, wish: BatchWish, survey: Survey, lines: int) -> None:
        self._wish = wish
        self._survey = survey
        self.complete = False
        self.journal_path: Path | None = None
        self._keep = False
        self._created: list[str] = []
        with ExitStack() as until_sure:
            until_sure.callback(self._forget)
            self.output = self._open("-o", wish.output, until_sure)
            self.errors = self._open("--errors", wish.error_target, until_sure)
            if wish.existing == "overwrite":
                self._empty()
            if _is_stream(wish.output):
                with tempfile.TemporaryFile() as file:
                    self.journal = os.dup(file.fileno())
                until_sure.callback(os.close, self.journal)
            else:
                self.journal_path = Path(wish.output + JOURNAL_SUFFIX).absolute()
                self.journal = self._open_journal(self.journal_path, until_sure, lines)
            self._closing = until_sure.pop_all()

    def _forget(self) -> None:
        """Leave no empty files where nothing was begun, so that the command can be given again."""
        for path in () if self._keep else self._created:
            with suppress(FileNotFoundError):
                os.unlink(path)

    def __enter__(self) -> Targets:
        return self

    def __exit__(self, *_: object) -> None:
        """Cut what a killed writer has left, and let go."""
        with self._closing:
            for fd, path in (
                (self.output, self._wish.output),
                (self.errors, self._wish.error_target),
            ):
                if not _is_stream(path):
                    LineFile(fd, path).cut_tail()
            self._keep = self._keep or self._has_results() or self._has_records()
            if not self._keep and self.journal_path is not None:
                self.journal_path.unlink(missing_ok=True)

    def finish(self) -> None:
        """Every line has its result: what only a resumed run would need goes."""
        self._keep = True
        if self.journal_path is not None:
            self.journal_path.unlink(missing_ok=True)
            # Left by a kill in the middle of a compaction.
            new_path(self.journal_path).unlink(missing_ok=True)
        errors = self._wish.error_target
        if not _is_stream(errors) and os.fstat(self.errors).st_size == 0:
            with suppress(FileNotFoundError):
                os.unlink(errors)

    # ------------------------------------------------------------------ opening

    def _open(self, flag: str, path: str, closing: ExitStack) -> int:
        wish = self._wish
        if path == STDIO:
            fd = os.dup(_STREAMS[flag])
            closing.callback(os.close, fd)
            return fd
        if _is_stream(path):
            flags = os.O_WRONLY
        else:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            flags |= os.O_EXCL if wish.existing == "refuse" else 0
        try:
            is_new = not os.path.exists(path)
            fd = os.open(path, flags | os.O_CLOEXEC, 0o666)
            self._created += [path] if is_new else []
        except FileExistsError as error:
            raise _exists(flag, path, wish) from error
        except OSError as error:
            raise UsageError(flag, path, f"cannot be written: {error.strerror}") from error
        closing.callback(os.close, fd)
        if not _is_stream(path):
            _lock(fd, flag, path, LOCK_WAIT_S if wish.existing == "resume" else 0.0)
        return fd

    def _empty(self) -> None:
        """Drop the results of before, once both files are ours."""
        # First of all, or a kill in between would leave the old results to be adopted.
        Path(self._wish.output + JOURNAL_SUFFIX).unlink(missing_ok=True)
        for fd, path in ((self.output, self._wish.output), (self.errors, self._wish.error_target)):
            if not _is_stream(path):
                os.ftruncate(fd, 0)

    def _open_journal(self, path: Path, closing: ExitStack, lines: int) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        begins = self._wish.existing != "resume" or not (path.exists() or self._has_results())
        if self._wish.existing == "resume" and not begins and not path.exists():
            self._require_complete(lines)
            self.complete = True
            begins = True
        try:
            fd = os.open(path, flags | (os.O_TRUNC if begins else 0), 0o666)
        except OSError as error:
            reason = f"cannot be written: {error.strerror}"
            raise UsageError("the journal", path, reason) from error
        closing.callback(os.close, fd)
        if begins or self._is_torn(fd, path):
            os.ftruncate(fd, 0)
            os.write(fd, msgspec.json.encode(self._head()) + b"\n")
        else:
            self._compare(fd, path)
        return fd

    def _head(self) -> Head:
        return Head(
            size=self._survey.size,
            digest=self._survey.digest,
            ordered=self._wish.ordered,
            errors=os.path.abspath(self._wish.error_target),
        )

    def _has_results(self) -> bool:
        return any(os.fstat(fd).st_size for fd in (self.output, self.errors))

    def _has_records(self) -> bool:
        path = self.journal_path
        head = len(msgspec.json.encode(self._head())) + 1
        return path is not None and path.exists() and path.stat().st_size > head

    def _is_torn(self, fd: int, path: Path) -> bool:
        """Whether the run before was killed before it had written the journal's head."""
        try:
            head = read_head(fd)
        except ValueError as error:
            way_out = "--overwrite begins again"
            raise UsageError("the journal", path, str(error), way_out) from error
        if head is None and self._has_results():
            raise UsageError("the journal", path, "has no head", "--overwrite begins again")
        return head is None

    def _compare(self, fd: int, path: Path) -> None:
        """Refuse to go on with another batch than the one that was begun."""
        head, ours = read_head(fd), self._head()
        assert head is not None
        if (head.size, head.digest) != (ours.size, ours.digest):
            reason = f"is not the input with which {self._wish.output} was begun"
            way_out = "give that file, or --overwrite to begin again"
            raise UsageError("INPUT", self._wish.source_name, reason, way_out)
        if head.ordered != ours.ordered:
            way_out = "leave --unordered out" if head.ordered else "give it again"
            raise UsageError("--unordered", None, "was not so when the batch was begun", way_out)
        if head.errors != ours.errors:
            reason = f"was {head.errors} when the batch was begun"
            raise UsageError("--errors", self._wish.error_target, reason, "give that file again")

    def _require_complete(self, lines: int) -> None:
        """Without a journal the batch has ended, or it is not one."""
        done = DoneLines(self._survey.lines)
        for fd, path in ((self.output, self._wish.output), (self.errors, self._wish.error_target)):
            try:
                done.read(fd, self._survey.digest, path)
            except ForeignLine as error:
                raise foreign(error, self._wish) from error
        if done.count < lines:
            reason = f"has {done.count} of {lines} results, and no journal beside it"
            raise UsageError("--resume", self._wish.output, reason, "--overwrite begins again")


def foreign(error: ForeignLine, wish: BatchWish) -> UsageError:
    """What a result file is told that holds something else."""
    reason = f"line {error.number} is no result of {wish.source_name}"
    return UsageError("--resume", error.name, reason, "--overwrite begins again")


def _lock(fd: int, flag: str, path: str, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise UsageError(flag, path, f"cannot be locked: {error.strerror}") from error
        if time.monotonic() >= deadline:
            reason = "is being written by another run-batch"
            raise UsageError(flag, path, reason, "wait for its end, or name another file")
        time.sleep(LOCK_POLL_S)


def _is_stream(path: str) -> bool:
    """Whether it is stdin, stdout, stderr, a pipe or a device."""
    if path == STDIO:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _same(path: str, other: str) -> bool:
    with suppress(OSError):
        return os.path.samefile(path, other)
    return os.path.abspath(path) == os.path.abspath(other)

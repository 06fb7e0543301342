"""Reading and writing files; a failure says what is wrong and destroys nothing."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import signal
import stat
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, TypeVar

from pairgossip.errors import InputError

_T = TypeVar("_T")
_BLOCK = 1 << 16
"""Number of bytes of a file that are overwritten at once."""
LARGEST_TOML = 1 << 18
"""Largest size of a TOML file, in bytes; a longer one is refused."""
_MOST_KEY_PARTS = 8
"""Most parts of a dotted key; more are refused, as the parser's memory grows with their square."""
_MOST_BRACKETS = 32
"""Most brackets open at once; more are refused, as each costs the parser a level of its stack."""
_TOML_TOKEN = re.compile(
    r"""
    (?P<skipped>\#[^\n]* | [ \t]+)
    | (?P<part>\"""(?s:(?:\\.|(?!\""").)*+)(?:\""")? | '''(?s:(?:(?!''').)*+)(?:''')?
        | "(?:[^"\\\n]|\\.)*+"? | '[^'\n]*+'? | [A-Za-z0-9_+-]++)
    | (?P<dot>\.) | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<other>[\s\S])
    """,
    re.VERBOSE,
)
"""Every character belongs to one token, and no text is scanned twice."""
_NOT_OFFERED = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY)
"""Errors of a file system that supports only the usual way of syncing."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a file system without room, or without room for this user."""
_LEAST_SPACE = 1 << 16
"""Free bytes below which a disk has no room for the work of a database."""
_MAKES_DECODER = threading.Lock()
"""Held while a decoder is made: a second thread that meets a type for the first time at that moment
would decode with the fields there so far, and crash the process."""


def read_bytes(path: Path, largest: int | None = None) -> bytes:
    """Return a file's content, or say that it cannot be read or is longer than ``largest``."""
    try:
        if largest is None:
            return path.read_bytes()
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            # Room is reserved for the whole size: for a file at most its length.
            longest = min(about.st_size, largest) if stat.S_ISREG(about.st_mode) else largest
            content = file.read(longest + 1)
            if len(content) > longest:  # it has grown meanwhile, or is too long
                content += file.read(largest - longest)
    except OSError as problem:
        raise unreadable(path, problem) from None
    if len(content) > largest:
        raise InputError(
            f"{path} is longer than {largest:,} bytes: check that it is the right one."
        )
    return content


def read_struct(path: Path, largest: int, kind: type[_T], description: str) -> _T:
    """Read a JSON file of this kind, or raise an error that it is not ``description``."""
    import msgspec

    with _MAKES_DECODER:
        decoder = msgspec.json.Decoder(kind)
    try:
        return decoder.decode(read_bytes(path, largest))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(f"{path} is not {description}.") from None


def unreadable(path: Path, problem: OSError) -> InputError:
    """Return the error for a file that cannot be read."""
    if isinstance(problem, FileNotFoundError):
        return InputError(f"There is no file {path}: check the path.")
    if isinstance(problem, IsADirectoryError):
        return InputError(f"{path} is a folder: give a file.")
    return InputError(f"Cannot read {path}: {problem.strerror}.")


def unwritable(path: Path, problem: OSError, act: str = "write") -> InputError:
    """Return the error for a file that cannot be written, locked or made, and stays as it was."""
    if is_full(problem):
        return InputError(
            f"The disk is full: {path} could not be written; what was there before is intact, so "
            "free some space."
        )
    return InputError(f"Cannot {act} {path}: {problem.strerror or type(problem).__name__}.")


def is_full(problem: OSError) -> bool:
    """Return whether something failed because the disk, or this user's share of it, is full."""
    return problem.errno in _FULL


def has_space(folder: Path) -> bool:
    """Return whether a folder's disk has room for a few more blocks and files."""
    try:
        disk = os.statvfs(folder)
    except (OSError, AttributeError):  # AttributeError: not on Windows
        return True
    has_names = disk.f_files == 0 or disk.f_favail > 0  # some file systems do not count them
    return has_names and disk.f_bavail * disk.f_frsize >= _LEAST_SPACE


def refuse_open_link(what: str, path: Path) -> None:
    """Raise `InputError` if a secret that others can read is a link.

    A user who may write beside the secret can make a link to anything: advice to change the
    permissions of ``path`` would change those of the link's target.
    """
    if path.is_symlink():
        raise InputError(
            f"{what} {path} is a link to {os.readlink(path)}, which is open to others: remove the "
            "link, and put the file that it leads to in its place."
        )


def sync(place: Path) -> None:
    """Make sure that a file's content, or a folder's list of names, is on the disk."""
    if sys.platform == "win32" and place.is_dir():  # Windows cannot open folders
        return
    descriptor = os.open(place, os.O_RDONLY)
    try:
        sync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def erase(path: Path) -> None:
    """Remove a file, overwritten first: some disks then hold its content nowhere."""
    try:
        with contextlib.suppress(FileNotFoundError), open(path, "r+b") as opened:
            size = path.stat().st_size
            for start in range(0, size, _BLOCK):
                opened.write(bytes(min(_BLOCK, size - start)))
            opened.flush()
            os.fsync(opened.fileno())
        path.unlink(missing_ok=True)
        sync(path.parent)
    except OSError as problem:
        raise unwritable(path, problem, "erase") from None


def sync_descriptor(descriptor: int) -> None:
    """Make sure that what was written to an open file is on the disk.

    On macOS ``os.fsync`` returns when the drive has the data, perhaps in a cache that a loss of
    power empties; another call of the system waits for the disk itself.
    """
    if not _sync_fully(descriptor):
        os.fsync(descriptor)


def _sync_fully(descriptor: int) -> bool:
    """Sync with macOS's own call; return whether the system and the disk support it."""
    try:
        import fcntl  # only Unix has it
    except ImportError:
        return False
    command = getattr(fcntl, "F_FULLFSYNC", None)
    if command is None:
        return False
    try:
        fcntl.fcntl(descriptor, command)
    except OSError as problem:
        if problem.errno not in _NOT_OFFERED:
            raise
        return False
    return True


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML text of bounded size and nesting; raise `InputError` for other text.

    The memory of Python's parser grows with the square of a dotted key's parts: a line of 100 kB
    can take all there is. So keys and brackets are counted first.
    """
    if len(text) > LARGEST_TOML:
        raise InputError(f"The file is longer than {LARGEST_TOML:,} characters: shorten it.")
    _check_nesting(text)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # also numbers of too many digits
        raise InputError(f"This is not valid TOML: {problem}.") from None


def quote_toml(value: Any) -> str:
    """Write text, a truth value, a number or a list as TOML; it differs from JSON in escapes."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check_nesting(text: str) -> None:
    dots = depth = 0
    for token in _TOML_TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "dot":
            dots += 1
        elif kind not in ("part", "skipped"):
            dots = 0
            depth = max(0, depth + (kind == "open") - (kind == "close"))
        if dots >= _MOST_KEY_PARTS or depth > _MOST_BRACKETS:
            line = text.count("\n", 0, token.start()) + 1
            raise InputError(f"Line {line} is nested too deeply: write it with fewer levels.")


@contextlib.contextmanager
def interrupts_later() -> Iterator[None]:
    """Hold a Ctrl-C back until the block ends; a second one takes effect at once.

    ``zipfile`` does not survive an exception between two of its instructions: it raises its own
    errors instead of the interrupt, or prints a traceback when the archive is garbage collected.
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield  # Ctrl-C is not turned into an exception here
        return
    held: list[tuple[int, FrameType | None]] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append((number, frame))
        if len(held) > 1:
            usual(number, frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if held:
            usual(*held[0])


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` only once it is completely written.

    Ctrl-C waits until then, so that it leaves neither a part of a file nor an error of the writer.
    Several processes may write the same path: the last one wins.
    """
    with interrupts_later(), _explain_failure(path):
        descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        mask = os.umask(0)  # the permissions of a new file follow from it
        os.umask(mask)
        with _write_draft(descriptor, Path(draft), path, 0o666 & ~mask) as file:
            yield file


def write_text(path: Path, pieces: Iterable[str]) -> None:
    """Write a text file so that a failure leaves the previous content."""
    with replacing(path) as file:
        file.writelines(piece.encode() for piece in pieces)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file so that a failure leaves the previous content."""
    with replacing(path) as file:
        file.write(content)


def write_json_file(path: Path, value: Any) -> None:
    """Write one JSON object for people and programs; a failure leaves the previous content."""
    write_text(path, [json.dumps(value, indent=2, allow_nan=False), "\n"])


def replace(path: Path, *data: bytes, mode: int = 0o600, durable: bool = True) -> None:
    """Replace a file at once; a failure raises `InputError` and leaves the previous content.

    Only one process may do this at a time: the draft has a fixed name, so a process that is killed
    leaves at most one draft, which the next one overwrites. The umask does not change ``mode``;
    ``durable`` waits until a loss of power can undo neither the content nor the name.
    """
    draft = path.with_name(f".{path.name}.new")
    with _explain_failure(path):
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with _write_draft(descriptor, draft, path, mode, durable=durable) as file:
            file.writelines(data)
        if durable:
            sync(path.parent)


@contextlib.contextmanager
def lock(path: Path, *, wait: float = 0.0) -> Iterator[int]:
    """Hold a file, made if it is missing, or a folder; yield its descriptor.

    No other process can hold it until this one releases it or ends, in whatever way. The file
    stays: a lock on a deleted file would exclude nobody. Raise `BlockingIOError` if another
    process holds it after ``wait`` seconds, `OSError` if it cannot be opened or its disk has no
    locks.
    """
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, flags, 0o600)
    try:
        _wait_for_lock(descriptor, time.monotonic() + wait)
        yield descriptor
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Return whether another process holds a file; one that is missing is not held."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    import fcntl  # only on Unix, and only where a peer runs

    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _wait_for_lock(descriptor: int, end: float) -> None:
    import fcntl

    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise
        time.sleep(0.05)


@contextlib.contextmanager
def _explain_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise unwritable(path, problem) from None


@contextlib.contextmanager
def _write_draft(
    descriptor: int, draft: Path, path: Path, mode: int, *, durable: bool = True
) -> Iterator[BinaryIO]:
    """Open a new file for writing; put it in the place of ``path``, or remove it on failure."""
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            if durable:
                sync_descriptor(descriptor)
        os.chmod(draft, mode)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise

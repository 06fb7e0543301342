"""Requests of a study's operator to the own peer: files in its folder, each carried out once.

A command writes a file and the peer answers with another one, now or when it is next started. A
request stays until its answer is on the disk, so it survives a crash; the peer notes the name of
the question in the same transaction, so that no question is asked twice.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.study.protocol.records import LONGEST_SENTENCE, LONGEST_TEXT, Card
from pairgossip.study.storage.writing import write_file

_ENDING = ".json"
_LARGEST = 1 << 20
"""Largest request or answer, in bytes; a longer one is refused."""
_LONGEST_KEPT = 7 * 86_400.0
"""Seconds for which an unread answer is kept."""
_LONGEST_WAIT = 60.0
"""Seconds after which no command waits for an answer any more."""
_LONGEST_SHOWN = 86_400.0
"""Seconds for which an unread refusal is among the peer's problems."""
_POLL = 0.02
"""Seconds between two checks for an answer."""

Text = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_SENTENCE)]


WITHDRAWN = "no reason was given"
"""The reason of one who withdraws a question and gives none."""


def check_reason(text: str) -> str:
    """Return a reason, which all members read, as one line; refuse none, and one too long."""
    reason = " ".join(text.split())
    if not 1 <= len(reason) <= LONGEST_SENTENCE:
        raise InputError(f"Give the reason as a sentence of up to {LONGEST_SENTENCE:,} characters.")
    return reason


class _Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="request"):
    """The base of all requests."""


class Join(_Request, frozen=True, tag="join"):
    """Accept these cards by hand: they may be members."""

    cards: tuple[Card, ...]


class Evict(_Request, frozen=True, tag="evict"):
    """Propose a list without this member, by its id."""

    member: str


class Leave(_Request, frozen=True, tag="leave"):
    """Ask to be left out of the next list."""

    totals_visible: bool = False
    """Whether this peer's totals may become known by the difference that its leaving makes."""


class Ask(_Request, frozen=True, tag="ask"):
    """Ask all members a question."""

    text: Text
    """The canonical text of the specification."""
    expires: int
    """The time of its end, in seconds since 1970."""
    is_fresh: bool = False
    """Whether rows are counted even if earlier tables can answer."""
    corrects: str | None = None
    """The name of a question whose data were corrected since."""
    is_visible: bool = False
    """Whether the asker accepts that others can compute totals of its rows by differences."""
    words: str | None = None
    """The digest of the words that the operator has read about what would leave; None if none were
    shown. If something else would leave, nobody is asked."""


class Draft(_Request, frozen=True, tag="draft"):
    """Return what a question that is not asked yet would send from this machine."""

    text: Text
    is_fresh: bool = False


class Accept(_Request, frozen=True, tag="accept"):
    """Say yes to a question, by its name."""

    question: str
    is_visible: bool = False
    """Whether the operator accepts that the difference to another table can be computed."""
    words: str | None = None
    """The digest of the words that the operator has read about what would leave; None if none were
    shown. If something else would leave, it is not a yes."""


class Refuse(_Request, frozen=True, tag="refuse"):
    """Say no to a question, by its name."""

    question: str
    because: Reason


class Withdraw(_Request, frozen=True, tag="withdraw"):
    """End a question that this peer has asked, by its name."""

    question: str
    because: Reason


class TryOut(_Request, frozen=True, tag="try"):
    """Read the source, and report the effect of a yes to a question."""

    question: str


class Add(_Request, frozen=True, tag="add"):
    """Freeze the rows of a further source."""

    source: str
    """Its absolute path."""
    totals_visible: bool = False
    """Whether the totals of these rows may become known by difference."""


AnyRequest = Join | Evict | Leave | Ask | Draft | Accept | Refuse | Withdraw | TryOut | Add


class Reply(msgspec.Struct, frozen=True):
    """The answer to a request."""

    sentence: str
    is_done: bool = True
    """Whether it was carried out; if not, the sentence gives the reason."""
    number: int | None = None
    """The number of its question."""
    sentences: tuple[str, ...] = ()
    """Further sentences, if requested."""


class Requests:
    """The requests in a folder, and their answers."""

    def __init__(self, folder: Path) -> None:
        self.requests, self.replies = folder / "requests", folder / "replies"

    def write(self, request: AnyRequest) -> str:
        """Write a request; return its key once it is on the disk."""
        key = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        write_file(self._request(key), msgspec.json.encode(request))
        return key

    def pending(self) -> Iterator[tuple[str, AnyRequest | InputError]]:
        """Yield the requests in the order in which they were made; other files are ignored."""
        for key in _list_keys(self.requests):
            try:
                yield key, self.read(key)
            except InputError as problem:
                yield key, problem

    def read(self, key: str) -> AnyRequest:
        """Return a request; raise `InputError` if the file holds none."""
        kind: type[AnyRequest] = AnyRequest  # type: ignore[assignment]
        return files.read_struct(
            self._request(key), _LARGEST, kind, "a request of a study's operator: remove it"
        )

    def count(self) -> int:
        """Return the number of pending requests."""
        return len(_list_keys(self.requests))

    def answer(self, key: str, reply: Reply) -> None:
        """Answer a request and remove it; the answer is on the disk first."""
        write_file(self._reply(key), msgspec.json.encode(reply))
        self._request(key).unlink(missing_ok=True)

    def wait(self, key: str, seconds: float) -> Reply | None:
        """Return the answer and remove it, or None if there is none after a while."""
        end = time.monotonic() + seconds
        while not (file := self._reply(key)).exists():
            if time.monotonic() > end:
                return None
            time.sleep(_POLL)
        reply = self._read_reply(key)
        file.unlink(missing_ok=True)
        return reply

    def _read_reply(self, key: str) -> Reply:
        description = "an answer of a peer: remove it"
        return files.read_struct(self._reply(key), _LARGEST, Reply, description)

    def unread_refusals(self) -> Iterator[str]:
        """Yield the refusals of the last day that came too late for the command that asked."""
        for key in _list_keys(self.replies):
            with contextlib.suppress(InputError, OSError):  # it may be read meanwhile
                answered = self._reply(key).stat().st_mtime
                is_late = answered - made_at(key) > _LONGEST_WAIT
                if is_late and time.time() - answered < _LONGEST_SHOWN:
                    reply = self._read_reply(key)
                    if not reply.is_done:
                        yield reply.sentence

    def clear(self) -> None:
        """Remove answers that were not read for long."""
        oldest = time.time() - _LONGEST_KEPT
        for key in _list_keys(self.replies):
            if made_at(key) < oldest:
                self._reply(key).unlink(missing_ok=True)

    def _request(self, key: str) -> Path:
        return self.requests / f"{key}{_ENDING}"

    def _reply(self, key: str) -> Path:
        return self.replies / f"{key}{_ENDING}"


def made_at(key: str) -> float:
    """Return the time at which a request was made, in seconds since 1970."""
    return int(key[:20]) / 1e9


def _list_keys(folder: Path) -> list[str]:
    """Return the keys in a folder, in the order of time; drafts and other files are left out."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    keys = (name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING))
    return sorted(key for key in keys if key[:20].isdigit() and key[20:21] == "-")

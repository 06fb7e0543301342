"""Signed texts that people send one another by mail: one line of letters after a prefix.

They are recognized among other words, with broken lines and quotation marks.
"""

from __future__ import annotations

import base64
import contextlib
import os
import quopri
import re
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import TypeVar

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import read_bytes

LARGEST_TEXT = 1 << 18
"""Largest size of a file with invitations, or of one invitation, in bytes; more is refused."""
_MOST_PIECES = 4_096
"""Largest number of pieces between blanks, lines or words after them, to try in an invitation."""
_LONGEST_WORD = 30
"""Largest number of letters of an ordinary word; a longer piece is part of an invitation."""
ALTERED = "The invitation is incomplete or altered: copy it again as a whole."
_LETTERS = re.compile(r"[A-Za-z0-9_=-]*")
_QUOTED = "<>|\"'`"
"""Marks that mail and chat programs put before quoted lines."""
_Invitation = TypeVar("_Invitation")


class Sealed(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The contents of an invitation: its body, and its sender's signature."""

    body: bytes
    signature: bytes


def write_armored(prefix: str, sealed: Sealed) -> str:
    """Return signed contents as one line that begins with a prefix."""
    return prefix + base64.urlsafe_b64encode(msgspec.msgpack.encode(sealed)).decode()


def read_armored(prefix: str, text_or_path: str | PathLike[str]) -> list[Sealed]:
    """Read all invitations in a text or a file; their signatures are not checked here."""
    _, *texts = find_text(prefix, text_or_path).split(prefix)
    # Words about invitations may name the prefix.
    long = [text for text in texts if max(map(len, _split(text)), default=0) > _LONGEST_WORD]
    return list(map(_find_sealed, long or texts[:1]))


def read_one_of(
    prefix: str, read: Callable[[str], list[_Invitation]], text: str, count: int
) -> list[_Invitation]:
    """Read the invitations in one of ``count`` texts or files; an error names the text."""
    content = find_text(prefix, text)  # its errors name the text
    try:
        return read(content)
    except InputError as problem:
        raise (problem if count == 1 else problem.at(text[:40])) from None


def find_text(prefix: str, text_or_path: str | PathLike[str]) -> str:
    """Return a text, or the contents of a file, which must have an invitation."""
    text = str(text_or_path).strip()
    if prefix in text:
        return text
    file = Path(text)
    if not os.path.isfile(text):  # raises no error if the text is too long for a path
        raise InputError(
            f"{text[:40]!r} is neither an invitation nor a file with one: "
            f"an invitation begins with {prefix}"
        )
    if file.stat().st_size > LARGEST_TEXT:
        raise InputError(f"{file} is too long for an invitation.")
    content = read_bytes(file).decode("ascii", errors="replace")
    if prefix not in content:
        raise InputError(f"{file} holds no invitation: one begins with {prefix}")
    return content


def _split(text: str) -> Iterator[str]:
    """Yield the pieces of letters that may be parts of an invitation, up to any other sign.

    Mail and chat programs break long lines, and quote them.
    """
    for piece in text.split():
        letters = piece.lstrip(_QUOTED)
        part = _LETTERS.match(letters)
        assert part is not None  # the pattern also matches nothing
        if part[0]:
            yield part[0]
        if part[0] != letters:
            return


def _find_sealed(text: str) -> Sealed:
    """Return the contents of an invitation in a text after the prefix, even from a saved mail."""
    saved = quopri.decodestring(text.encode("ascii", "replace")).decode("ascii", "replace")
    sealed = _join(list(_split(text))) or _join(list(_split(saved)))
    if sealed is None:
        raise InputError(ALTERED)
    return sealed


def _join(pieces: list[str]) -> Sealed | None:
    """Join pieces until they are an invitation; words after it may look like further pieces.

    Letters are decoded piece by piece, so that the time is proportional to the text.
    """
    body, read, packed = "", 0, b""
    for piece in pieces[:_MOST_PIECES]:
        body += piece
        if len(body) > LARGEST_TEXT:
            raise InputError("The invitation is too long to be one.")
        if len(body) % 4:
            continue
        try:
            packed += base64.b64decode(body[read:], altchars=b"-_", validate=True)
        except ValueError:
            return None
        read = len(body)
        with contextlib.suppress(ValueError, msgspec.MsgspecError, RecursionError):
            sealed = msgspec.msgpack.decode(packed, type=Sealed, strict=True)
            # Bits of the last letter go unread.
            if base64.urlsafe_b64encode(packed).decode() == body:
                return sealed
    return None

"""Reading a folder of pairgossip 0.2 for a new one: who the peer is, settings, signed result.

Frames, masks and the database have changed since, so nothing else of it can go on. This reads the
old formats as they were and for good; it shares no definition with the present ones, which may
change again.

Nothing in the old folder is touched: its database is copied, with its log, and the copy is read.
Every row of a table has a fingerprint, and the row of the peer has their sum, so damage is noticed.
Whether the database is the latest one, which its witness knows, does not matter: what is taken from
it is a result that all members have signed, and that stays true.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import LARGEST_TOML, parse_toml, read_bytes, sync
from pairgossip.peer.identity.certificates import expiry, is_expired
from pairgossip.peer.identity.identity import Identity, load_identity, missing_file, write_new
from pairgossip.peer.specification.spec import Spec, parse_unchecked
from pairgossip.peer.storage.folder import (
    Home,
    OperatorSettings,
    check_settings,
    explain_settings,
    read_eviction,
)
from pairgossip.text import join_names

VERSION = 9
"""The format of a database that pairgossip 0.2 has written."""
_APPLICATION = 0x70676F31
_KEPT_SETTINGS = ("listen", "metrics", "power_safe", "least_members", "least_rows", "budget")
_LARGEST_LIST = 1 << 26
"""Bytes of a list of members."""
_ORDINAL_SHIFT = 32
"""A generation was a number whose upper bits count the generations before."""
_ROWS, _PROOF, _NOT_CONTRIBUTIONS = "rows", "proof", ("rows", "proof", "summed", "evicted here")
"""Keys in the table of rounds; all others are those of contributions, round and member."""
_AFRESH = "make a new peer, without --from"


@dataclass(frozen=True)
class OldFolder:
    """The parts of an old folder that a new one takes."""

    folder: Path
    identity: Identity
    key: bytes
    """The file of the secret key."""
    settings: OperatorSettings
    results: Mapping[str, bytes]
    """Files of results that all members have signed, by their names."""

    def copy_to(self, home: Home) -> Identity:
        """Write key, certificate and signed results to a new folder."""
        write_new(home.key, self.key, 0o600)
        write_new(home.cert, self.identity.certificate.encode(), 0o644)
        home.results.mkdir(mode=0o700)
        for name, content in self.results.items():
            write_new(home.results / name, content, 0o600)
        sync(home.results)
        return load_identity(home.folder)


def read_old_folder(folder: str | PathLike[str]) -> OldFolder:
    """Read a folder of pairgossip 0.2, or say why nothing can be taken from it."""
    home = Home(folder)
    if not home.folder.is_dir():
        raise InputError(f"There is no folder {home.folder}: check the path that --from names.")
    if not home.peer.is_file():
        raise InputError(
            f"{home.folder} is not the folder of a peer: let --from name one that pairgossip 0.2 "
            "has made."
        )
    for file in (home.key, home.cert, home.spec, home.members, home.state):
        if not file.is_file():
            raise missing_file(file)
    if home.is_running():
        raise InputError(f"The peer in {home.folder} is running: stop it first.")
    state = _read_state(home.state)
    identity = load_identity(home.folder)
    _refuse_useless(home, identity, state)
    return OldFolder(
        home.folder,
        identity,
        read_bytes(home.key, 1 << 16),
        _read_settings(home, identity.name),
        _read_results(home, identity, state),
    )


def _refuse_useless(home: Home, identity: Identity, state: _State) -> None:
    """Refuse an identity under which no new peer can take part."""
    if identity.id in state.evicted or read_eviction(home) is not None:
        raise InputError(
            f"The other members have evicted the peer in {home.folder}, and never listen to its "
            f"key again: {_AFRESH}, which makes a new key."
        )
    if is_expired(identity.certificate):
        raise InputError(
            f"The certificate {home.cert} expired on {expiry(identity.certificate):%Y-%m-%d}: "
            f"{_AFRESH}."
        )
    if state.about.get("peer") != identity.id:
        raise InputError(
            f"{home.key} is not the one that {home.state.name} was made with: put the old one back."
        )


def _read_settings(home: Home, name: str) -> OperatorSettings:
    """Read what the operator has set; 0 as the least number of rows was what nobody had set."""
    content = read_bytes(home.peer, LARGEST_TOML)
    with explain_settings(home.peer):
        table = parse_toml(content.decode())
        kept = {key: table[key] for key in _KEPT_SETTINGS if key in table}
        if kept.get("least_rows") == 0:
            del kept["least_rows"]
        return check_settings(msgspec.convert({"name": name, **kept}, OperatorSettings))


# The database


class _State(NamedTuple):
    """A peer's durable state, as far as it is needed here."""

    generation: int
    evicted: tuple[str, ...]
    grown: Mapping[str, int]
    """How many rows the members have that had added some."""
    about: Mapping[str, str]
    rounds: Mapping[str, bytes]
    """Empty if the peer exchanged rows."""


def _read_state(path: Path) -> _State:
    with _reading_copy(path) as base:
        (application,) = base.execute("PRAGMA application_id").fetchone()
        (version,) = base.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            raise ValueError("it is not a peer's state")
        _check_version(path, version)
        (row,) = base.execute("SELECT * FROM peer")
        _check("peer", [row])
        names = ("nodes", "outcomes", "rounds", "about")
        tables = {name: base.execute(f"SELECT * FROM {name}").fetchall() for name in names}
        if row[-2] != sum(_check(*table) for table in tables.items()) % (1 << 63):
            raise ValueError("a row is missing, or is not the latest")
        _, generation, evicted, _, _, _, _, notice, *_ = row
        grown = msgspec.msgpack.decode(notice, type=_Notice).grown if notice else ()
        return _State(
            int(generation),
            msgspec.msgpack.decode(evicted, type=tuple[str, ...]),
            {one.member: one.rows for one in grown},
            {key: value for key, value, _ in tables["about"]},
            {key: content for key, content, _ in tables["rounds"]},
        )


@contextlib.contextmanager
def _reading_copy(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a copy of a database, with what its log has, and explain what is wrong with it."""
    with tempfile.TemporaryDirectory() as copies:
        try:
            for file in (path, path.with_name(f"{path.name}-wal")):
                if file is path or file.exists():
                    shutil.copyfile(file, Path(copies, file.name))
        except OSError as problem:
            raise InputError(f"Cannot copy {path}: {problem.strerror}.") from None
        try:
            with contextlib.closing(sqlite3.connect(Path(copies, path.name))) as base:
                base.text_factory = lambda content: content.decode(errors="replace")
                yield base
        except (sqlite3.Error, msgspec.MsgspecError, ValueError, TypeError) as problem:
            if isinstance(problem, InputError):
                raise
            raise _damaged(path, str(problem)) from None


def _check_version(path: Path, version: int) -> None:
    if version > VERSION:
        raise InputError(
            f"{path} is newer than pairgossip 0.2 (its format is {version}, that of 0.2 is "
            f"{VERSION}): use its folder as it is, without --from, and update pairgossip if it is "
            "newer than this one."
        )
    if version < VERSION:
        raise InputError(
            f"{path} is older than pairgossip 0.2 (its format is {version}, that of 0.2 is "
            f"{VERSION}): {_AFRESH}."
        )


def _check(table: str, rows: list[Any]) -> int:
    """Compare the rows of a table with their fingerprints, the last column, and add these up."""
    for *columns, crc in rows:
        if crc != zlib.crc32(msgspec.msgpack.encode((table, columns))):
            raise ValueError("a checksum is wrong")
    return sum(row[-1] for row in rows)


class _Growth(msgspec.Struct, array_like=True):
    member: str
    first: int
    rows: int
    signature: bytes


class _Notice(msgspec.Struct, array_like=True, tag="notice"):
    """The notice that began a generation."""

    generation: int
    evicted: tuple[str, ...]
    announcer: str
    signature: bytes
    grown: tuple[_Growth, ...]


def _damaged(path: Path, how: str) -> InputError:
    text = "".join(letter if letter.isprintable() else " " for letter in how[:200])
    return InputError(
        f"{path} is damaged ({text}) and was left as it is: put a good copy back, or {_AFRESH}."
    )


# The signed result


class _Contribution(msgspec.Struct, array_like=True, tag="contribution"):
    """A member's part of one round, as it was signed."""

    generation: int
    round: int
    member: str
    transcript: bytes
    public: bytes
    words: bytes
    signature: bytes


class _Noise(msgspec.Struct, forbid_unknown_fields=True):
    epsilon: float
    honest: int
    variance: float
    error: float | None


class _Figures(msgspec.Struct, forbid_unknown_fields=True):
    """The members' statements of the last round, in the order of a file of the result."""

    versions: dict[str, str]
    value: float | None
    sampling_error: float | None
    interval: tuple[float, float] | None
    p: float | None
    bracket: tuple[float, float] | None
    noise: _Noise | None
    model: tuple[float, ...] | None
    objective: float | None
    finished: bool
    rest: str
    """The digest of all else in the result."""


class _Member(msgspec.Struct):
    id: str
    rows: int
    certificate: str


class _Members(msgspec.Struct):
    members: tuple[_Member, ...]


def _read_results(home: Home, identity: Identity, state: _State) -> dict[str, bytes]:
    """Return the file of the last generation's result; none if not all members had signed it."""
    try:
        statements = _last_statements(state)
        if not statements:
            return {}
        signed = _rebuild(home, identity, state, statements)
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError) as problem:
        if isinstance(problem, InputError):
            raise
        raise _damaged(home.state, str(problem)) from None
    from pairgossip.peer.signed_result import SignedResult, check_signatures

    content = json.dumps(signed, indent=2, allow_nan=False).encode() + b"\n"
    try:  # as `pairgossip verify` does
        decoded = msgspec.json.decode(content, type=SignedResult)
        check_signatures(decoded, "The result").require_all()
    except (msgspec.MsgspecError, InputError):
        raise _damaged(home.state, "a signature is not that of the result") from None
    return {f"v1-{(state.generation >> _ORDINAL_SHIFT) + 1}.json": content}


def _last_statements(state: _State) -> list[_Contribution]:
    """Return what all members have stated in the last round; nothing if that is not so.

    Only members that were all there in round 0 ever got to a sum, in round 1. Statements have no
    masked numbers; if they differ, the round was to be repeated.
    """
    contributions = [
        msgspec.msgpack.decode(content, type=_Contribution)
        for key, content in state.rounds.items()
        if key not in _NOT_CONTRIBUTIONS
    ]
    last = max((one.round for one in contributions), default=0)
    members = {one.member for one in contributions if one.round == 1}
    stated = sorted((one for one in contributions if one.round == last), key=lambda one: one.member)
    is_complete = (
        last > 1
        and _PROOF not in state.rounds
        and members == {one.member for one in stated}
        and len({(one.transcript, one.public, one.words) for one in stated}) == 1
        and not stated[0].words
    )
    return stated if is_complete else []


def _rebuild(
    home: Home, identity: Identity, state: _State, statements: list[_Contribution]
) -> dict[str, Any]:
    """Put the file of a signed result together; the digest in it must be the one signed."""
    spec = parse_unchecked(read_bytes(home.spec, LARGEST_TOML).decode("utf-8-sig"))
    if spec.hash != state.about.get("spec"):
        raise InputError(
            f"{home.spec} is not the one that {home.state.name} was made with: put the old one "
            "back, so that the signed result can be taken along."
        )
    others = _read_members(home, [one.member for one in statements if one.member != identity.id])
    rows = {
        **{one.id: one.rows for one in others.values()},
        **state.grown,
        identity.id: msgspec.msgpack.decode(state.rounds[_ROWS], type=int),
    }
    members = {one.member: rows[one.member] for one in statements}
    about = {
        "question": _describe_question(spec),
        "members": members,
        "rows": sum(members.values()),
        "generation": state.generation,
        "specification": spec.text,
        "hash": spec.hash,
    }
    last, figures = statements[0], msgspec.json.decode(statements[0].public, type=_Figures)
    stated = msgspec.to_builtins(figures)
    del stated["versions"], stated["rest"]
    sums = _count_sums(last.round, about, figures.rest)
    certificates = {identity.id: identity.certificate}
    certificates |= {one.id: one.certificate for one in others.values()}
    return {
        "format": "pairgossip-signed-result",
        "version": 1,
        "result": {**about, "versions": figures.versions, "rounds": sums, **stated},
        "round": last.round,
        "transcript": _as_text(last.transcript),
        "signatures": {
            one.member: {
                "certificate": certificates[one.member],
                "signature": _as_text(one.signature),
            }
            for one in statements
        },
    }


def _read_members(home: Home, ids: list[str]) -> dict[str, _Member]:
    """Return these members as the list has them."""
    try:
        content = read_bytes(home.members, _LARGEST_LIST)
        listed = msgspec.json.decode(content, type=_Members).members
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise InputError(f"{home.members} is not a list of members: {problem}.") from None
    members = {one.id: one for one in listed}
    if missing := [one[:16] for one in ids if one not in members]:
        raise InputError(
            f"{home.members} does not list {join_names(missing)}, who signed the result: put the "
            "old list back, so that it can be taken along."
        )
    return {one: members[one] for one in ids}


def _count_sums(last: int, about: Mapping[str, Any], signed: str) -> int:
    """Return how many sums the result is about: the statement may have been made twice."""
    for sums in (last - 1, last - 2):
        digested = msgspec.json.encode({**about, "rounds": sums}, order="sorted")
        if hashlib.sha256(digested).hexdigest() == signed:
            return sums
    raise ValueError("the signed result is of other members, rows or another specification")


def _describe_question(spec: Spec) -> str:
    """Say what was asked in the words of pairgossip 0.2, which are signed."""
    columns = join_names(spec.columns)
    if spec.loss is not None:
        return (
            f"the linear score of {columns} that orders rows by {spec.label}, by the loss "
            f"{spec.loss}, over the rows of all members"
        )
    by = "" if spec.label is None else f" by {spec.label}"
    kind = ", own pairs left out" if spec.target == "u" else ""
    return f"{spec.kernel} of {columns}{by}, over the rows of all members{kind}"


def _as_text(content: bytes) -> str:
    return base64.b64encode(content).decode()

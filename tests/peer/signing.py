"""Results signed by members without a network: their sums are added up in this process."""

from __future__ import annotations

import datetime
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from pairgossip.peer.identity.identity import Identity, create_identity
from pairgossip.peer.protocol.messages import Rows as Rows
from pairgossip.peer.signed_result import Signature, SignedResult
from pairgossip.peer.specification.canonical_text import find_positive_class
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.simulation import run_programs, start_programs

KEPT = datetime.datetime(2026, 2, 3, 14, 15, 16, tzinfo=datetime.UTC)
FIRST = Path(__file__).parent / "fixtures" / "signed_result_0.2.json"
"""Written by version 0.2.0 of pairgossip for three members."""
_ROUND, _TRANSCRIPT = 2, bytes(32)


def make_members(folder: Path, count: int) -> list[Identity]:
    """Make the keys of this many members, each in a separate folder."""
    members = []
    for k in range(count):
        (folder / f"key-{k}").mkdir()
        members.append(create_identity(folder / f"key-{k}", f"clinic-{k}"))
    return members


class SignedTable(NamedTuple):
    """A result that all members have signed, and the table that they keep."""

    signed: SignedResult
    table: bytes


def sign_table_of(folder: Path, spec: str, rows: Sequence[np.ndarray | Rows]) -> SignedTable:
    """Let one member per table of rows count its rows, and sign the result."""
    members = make_members(folder, len(rows))
    dealt = dict(sorted(zip((one.id for one in members), rows, strict=True)))
    programs = start_programs(parse_spec(spec), dealt)
    result = run_programs(programs)
    return SignedTable(sign(result, members), programs[0].table or b"")


def sign_result_of(folder: Path, spec: str, rows: Sequence[Rows]) -> SignedResult:
    """Let one member per table of rows compute a result and sign it."""
    return sign_table_of(folder, spec, rows).signed


def sign(result: Result, members: Sequence[Identity]) -> SignedResult:
    """Sign a result by all members, as members of a single run did."""
    signatures = {}
    for one in members:
        said = (result.hash, one.id, result.generation, _ROUND, _TRANSCRIPT, result.state(), b"")
        payload = b"pairgossip contribution 2\x00" + msgspec.msgpack.encode(said)
        signatures[one.id] = Signature(one.certificate, b64encode(one.sign(payload)).decode())
    return SignedResult(
        result=result,
        positive_class=find_positive_class(result.specification),
        kept=KEPT,
        round=_ROUND,
        transcript=b64encode(_TRANSCRIPT).decode(),
        signatures=signatures,
    )


def draw_rows(members: int, features: int, classes: int = 2, rows: int = 36) -> list[Rows]:
    """Draw features between 0 and 1, and a weakly dependent class as the last column."""
    chance = np.random.default_rng(7)
    labels = np.arange(rows) % classes
    return [
        tuple(
            (*((chance.random(features) + label / classes) / 2).round(4).tolist(), float(label))
            for label in labels
        )
        for _ in range(members)
    ]

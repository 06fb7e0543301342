"""Records: one row of a member's data, signed by the member, the same wherever it travels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

Sign = Callable[[bytes], bytes]
Verify = Callable[[str, bytes, bytes], bool]
"""``verify(member, payload, signature)``: whether the member signed the payload."""

PURPOSE = b"pairgossip record 1\x00"
"""Signed along, so that no signature made for something else is ever taken for a record's."""
MOST_REMEMBERED = 100_000
MOST_ROWS = 1_000_000
"""Of one member."""
Rows = tuple[tuple[float, ...], ...]


class Record(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An observation on its way through the network."""

    origin: str
    row: int
    generation: int
    value: tuple[float, ...]
    signature: bytes


def signed_record(
    origin: str, row: int, generation: int, value: tuple[float, ...], spec: str, sign: Sign
) -> Record:
    """Make the record of one of a member's own rows."""
    unsigned = Record(origin, row, generation, value, b"")
    return msgspec.structs.replace(unsigned, signature=sign(payload(unsigned, spec)))


def payload(record: Record, spec: str) -> bytes:
    """What the origin signs: everything in the record, and the specification it was made for."""
    told = (spec, record.origin, record.row, record.generation, record.value)
    return PURPOSE + msgspec.msgpack.encode(told)


class RecordCheck:
    """Tells whether a record may circulate; what was found genuine once is remembered."""

    def __init__(
        self,
        verify: Verify,
        spec: str,
        ranges: tuple[tuple[float, float], ...],
        rows: Mapping[str, int],
        *,
        whole: bool = False,
    ) -> None:
        self._whole = whole  # private observations are reports: numbers of cells
        self._verify = verify
        self._spec = spec
        self._ranges = ranges
        self._rows = rows
        self._genuine: set[bytes] = set()

    def is_member(self, record: Record) -> bool:
        """Return whether the record's origin takes part, and has this row."""
        return 0 <= record.row < self._rows.get(record.origin, 0)

    def is_sound(self, record: Record, generation: int) -> bool:
        """Whether the value is of the declared shape and range, and its origin signed it."""
        return (
            record.generation == generation
            and self._is_in_range(record.value)
            and self._is_genuine(record)
        )

    def _is_in_range(self, value: tuple[float, ...]) -> bool:
        return len(value) == len(self._ranges) and all(
            math.isfinite(entry) and low <= entry <= high and not (self._whole and entry % 1)
            for entry, (low, high) in zip(value, self._ranges, strict=True)
        )

    def _is_genuine(self, record: Record) -> bool:
        signed = payload(record, self._spec)
        key = record.signature + signed
        if key in self._genuine:
            return True
        if not self._verify(record.origin, signed, record.signature):
            return False
        if len(self._genuine) >= MOST_REMEMBERED:
            self._genuine.clear()
        self._genuine.add(key)
        return True

"""The signed results of a study's questions: files that everybody can check offline.

The journal has all contents of such a file once all members have signed.
"""

from __future__ import annotations

import base64
import datetime
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.signed_result import (
    STUDY_VERSION,
    Signature,
    SignedResult,
    check_signatures,
    read_signed,
)
from pairgossip.peer.signed_study import AskedIn
from pairgossip.peer.specification.canonical_text import find_positive_class
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.site_sums import find_agreement
from pairgossip.study.protocol.records import (
    NO_DIGEST,
    Assent,
    BadRecord,
    MemberList,
    Question,
    Statement,
    decode,
    encode,
)
from pairgossip.study.storage.folder import StudyHome
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.study.storage.writing import write_file

_ENDING = ".json"


def list_of(journal: StudyJournal, digest: bytes) -> MemberList | None:
    """Return the list with a digest, if a signature of it is known here."""
    for content in journal.records_of(NO_DIGEST):
        record = decode(content)
        if isinstance(record, Assent) and record.list.digest == digest:
            return record.list
    return None


def keep_signed(home: StudyHome, journal: StudyJournal, name: bytes, result: bytes) -> bool:
    """Write the file of a question's result, on the disk before this returns.

    Return whether the file exists now; it does not before all have signed.
    """
    path = path_of(home, name)
    if path.exists():
        return True
    signed = _sign(journal, name, msgspec.json.decode(result, type=Result))
    if signed is None:
        return False
    write_file(path, msgspec.json.format(msgspec.json.encode(signed)) + b"\n")
    return True


def read_answer(home: StudyHome, name: bytes) -> SignedResult:
    """Return the signed result of a question; raise `InputError` if there is none yet."""
    path = path_of(home, name)
    if not path.exists():
        raise InputError("The question has no result that all members have signed yet.")
    signed = read_signed(path)
    check_signatures(signed, str(path)).require_all()
    return signed


def path_of(home: StudyHome, name: bytes) -> Path:
    """Return the path of the signed result of a question."""
    return home.results / f"{name.hex()}{_ENDING}"


def _sign(journal: StudyJournal, name: bytes, result: Result) -> SignedResult | None:
    """Put together the records that all members have signed; None if some are missing."""
    records = []
    for content in journal.records_of(name):
        try:
            records.append(decode(content))
        except BadRecord:
            continue
    question = next((one for one in records if isinstance(one, Question)), None)
    members = None if question is None else list_of(journal, question.list)
    if question is None or members is None:
        return None
    stated = result.state()
    statements = [one for one in records if isinstance(one, Statement) and one.public == stated]
    for attempt in (0, 1):
        here = {one.member: one for one in statements if one.attempt == attempt}
        if here.keys() == set(members.ids):
            break
    else:
        return None
    certificates = {card.id: card.certificate for card in members.members}
    return SignedResult(
        version=STUDY_VERSION,
        result=result,
        positive_class=find_positive_class(result.specification),
        agreement=find_agreement(result.heterogeneity),
        kept=datetime.datetime.now(datetime.UTC).replace(microsecond=0),
        round=attempt,
        transcript=_text(here[question.member].transcript),
        signatures={
            member: Signature(certificates[member], _text(one.signature))
            for member, one in sorted(here.items())
        },
        asked=AskedIn(
            question=_text(encode(question)), members=_text(msgspec.msgpack.encode(members))
        ),
    )


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()

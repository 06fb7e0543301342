"""The signed results of a study's questions: files that everybody can check offline."""

from __future__ import annotations

from pairgossip.peer.signed_result import SignedResult
from pairgossip.study.site.folder import StudyHome


def read_answer(home: StudyHome, name: bytes) -> SignedResult:
    """Return the signed result of a question; raise `InputError` if there is none yet."""
    raise NotImplementedError

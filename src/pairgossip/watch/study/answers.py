"""The result of a question as HTML with its curves, and as files to pass on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from pairgossip.curves.reading import roc
from pairgossip.errors import InputError
from pairgossip.pages.page import Figure, Heading, Page, Part
from pairgossip.peer.result_page import make_page
from pairgossip.peer.signed_report import add_report, asks_report
from pairgossip.peer.signed_result import SignedResult
from pairgossip.peer.specification.canonical_text import decode_spec
from pairgossip.study.service.reading import StudyReading

_CURVE = (
    "ROC curve, read from the counts that all members have signed. The light region covers the "
    "population's whole curve in 95 % of all samples; the dark one is certain for these rows."
)


class Answer(NamedTuple):
    """A signed result, with its report if it has one, and its page."""

    signed: SignedResult
    page: Page

    def to_file(self, kind: str) -> bytes:
        """Return it as a file, "html" or "json"."""
        if kind == "html":
            return self.page.to_html().encode()
        return msgspec.json.format(msgspec.json.encode(self.signed))


def make_answer(reading: StudyReading, number: str) -> Answer:
    """Return the answer to a question."""
    signed, later = reading.result(number), reading.later(number)
    if asks_report(signed.result):
        signed = add_report(signed, reading.table(number))
        return Answer(signed, make_page(signed, later=later))
    return Answer(signed, make_page(signed, tuple(_draw_curves(reading, signed, number)), later))


def _draw_curves(reading: StudyReading, signed: SignedResult, number: str) -> Iterator[Part]:
    """Draw the ROC curve of an AUC that has a table."""
    if signed.result.table is None or decode_spec(signed.result.specification).kernel != "auc":
        return
    with contextlib.suppress(InputError):  # such as where all rows are of one class
        picture = roc(reading.summary(number)).picture()
        yield Heading("ROC curve")
        yield Figure(picture, _CURVE)

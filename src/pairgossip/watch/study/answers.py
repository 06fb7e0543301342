"""The result of a question as HTML with its curves, and as files to hand on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

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


def make_answer(reading: StudyReading, number: int) -> Page:
    """Return the page of a question's result."""
    signed = find_answer(reading, number)
    curves = () if signed.report is not None else tuple(_draw_curves(reading, signed, number))
    return make_page(signed, curves)


def find_answer(reading: StudyReading, number: int) -> SignedResult:
    """Return the signed result of a question, with its report if it asks for one."""
    signed = reading.result(number)
    return add_report(signed, reading.table(number)) if asks_report(signed.result) else signed


def write_answer(reading: StudyReading, number: int, kind: str) -> bytes:
    """Return the result of a question as a file, "html" or "json"."""
    if kind == "html":
        return make_answer(reading, number).to_html().encode()
    return msgspec.json.format(msgspec.json.encode(find_answer(reading, number)))


def _draw_curves(reading: StudyReading, signed: SignedResult, number: int) -> Iterator[Part]:
    """Draw the ROC curve of an AUC that has a table."""
    if signed.result.table is None or decode_spec(signed.result.specification).kernel != "auc":
        return
    with contextlib.suppress(InputError):  # such as where all rows are of one class
        picture = roc(reading.summary(number)).picture()
        yield Heading("ROC curve")
        yield Figure(picture, _CURVE)

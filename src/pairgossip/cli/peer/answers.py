"""`pairgossip peer result` of a study: the answer to a question, as files to hand on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import tell, write_line, write_rows
from pairgossip.errors import InputError
from pairgossip.text import clean_text

if TYPE_CHECKING:
    from pairgossip.cli.peer.readings import ReadingOptions
    from pairgossip.peer.signed_result import SignedResult
    from pairgossip.study.service.reading import StudyReading


def write_answer(
    study: StudyReading,
    number: str | None,
    *,
    out: Path | None,
    json: Path | None,
    html: Path | None,
    with_table: bool,
    reading: ReadingOptions,
) -> None:
    """Write the answer to a question to files, or print it where none is asked for."""
    from pairgossip.peer.result_page import write_page
    from pairgossip.peer.signed_report import add_report, asks_report
    from pairgossip.peer.signed_result import write_signed

    chosen = _choose(study, number)
    signed = study.result(chosen)
    if reading.is_asked:
        reading.print(signed, study.table(chosen))
    elif out is None and json is None and html is None:
        _print(signed)
    has_report = asks_report(signed.result) and (json is not None or html is not None)
    if with_table or has_report:
        signed = add_report(signed, study.table(chosen))
    if out is not None:
        _write_model(study, signed, out)
    if json is not None:
        write_signed(signed, json)
    if html is not None:
        write_page(signed, html)


def _choose(study: StudyReading, number: str | None) -> str:
    """Return the question that is meant: the only one that is answered, where none is named."""
    if number is not None:
        return number
    answered = [str(one.number) for one in study.questions() if one.is_done]
    if len(answered) == 1:
        return answered[0]
    if not answered:
        raise InputError("No question is answered yet: see peer questions.")
    raise InputError(
        f"{len(answered)} questions are answered: name one by its number, such as {answered[-1]}."
    )


def _print(signed: SignedResult) -> None:
    from pairgossip.cli.sums import result_facts
    from pairgossip.peer.identity.certificates import name_in_certificate

    result = signed.result
    names = {
        member: name_in_certificate(one.certificate) for member, one in signed.signatures.items()
    }
    write_rows((clean_text(result.question), ""), result_facts(result, names), numbers=False)
    write_line(f"All {len(names)} members have signed this.")


def _write_model(study: StudyReading, signed: SignedResult, out: Path) -> None:
    from pairgossip.cli.outputs.model import signed_model, write_model

    if signed.result.model is None:
        raise InputError("--out is for a model, and this is a statistic: give --json or --html.")
    write_model(signed_model(signed.result, {"peer": study.name, "exchanges": 0}), out)
    tell("pairgossip score reads it.")

"""`pairgossip peer result` of a study: the answer to a question, as files to hand on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pairgossip.cli.console import format_value, tell, write_line, write_rows
from pairgossip.errors import InputError
from pairgossip.files import write_json_file
from pairgossip.peer.specification.canonical_text import restore_spec
from pairgossip.text import clean_text

if TYPE_CHECKING:
    from pairgossip.cli.peer.readings import ReadingOptions
    from pairgossip.peer.signed_result import SignedResult
    from pairgossip.peer.specification.spec import Spec
    from pairgossip.study.rows.journey import OwnEstimate
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
    if study.question(chosen).travels:
        if html is not None or with_table or reading.is_asked:
            raise InputError(
                "Rows travel for this question, and each member has an estimate of its own: "
                "nothing is signed by all, and there is no table. Give --json, or --out for a "
                "model."
            )
        _write_own(study, chosen, out=out, json=json)
        return
    signed = study.result(chosen)
    if reading.is_asked:
        reading.print(signed, study.table(chosen))
    elif out is None and json is None and html is None:
        _print(signed, study.later(chosen))
    has_report = asks_report(signed.result) and (json is not None or html is not None)
    if with_table or has_report:
        signed = add_report(signed, study.table(chosen))
    if out is not None:
        _write_model(study, signed, out)
    if json is not None:
        write_signed(signed, json)
    if html is not None:
        write_page(signed, html, study.later(chosen))


def _choose(study: StudyReading, number: str | None) -> str:
    """Return the question that is meant: the only one that is answered, where none is named."""
    if number is not None:
        return number
    answered = [str(one.number) for one in study.questions() if one.is_done or one.own is not None]
    if len(answered) == 1:
        return answered[0]
    if not answered:
        raise InputError("No question is answered yet: see peer questions.")
    raise InputError(
        f"{len(answered)} questions are answered: name one by its number, such as {answered[-1]}."
    )


def _print(signed: SignedResult, later: Sequence[tuple[str, str]]) -> None:
    from pairgossip.cli.sums import result_facts
    from pairgossip.peer.identity.certificates import name_in_certificate

    result = signed.result
    names = {
        member: name_in_certificate(one.certificate) for member, one in signed.signatures.items()
    }
    before = [] if signed.asked is None else signed.asked.describe_relations()
    rows = [*result_facts(result, names), *before, *later]
    write_rows((clean_text(result.question), ""), rows, numbers=False)
    write_line(f"All {len(names)} members have signed this.")


def _write_own(study: StudyReading, number: str, *, out: Path | None, json: Path | None) -> None:
    """Write or print this peer's own estimate where rows travel."""
    own = study.own(number)
    if out is not None:
        _write_own_model(study, own, out)
    if json is not None:
        write_json_file(json, {"peer": study.name, **msgspec.to_builtins(own)})
    if out is None and json is None:
        _print_own(own)


def _print_own(own: OwnEstimate) -> None:
    spec = restore_spec(own.specification)
    numbers = own.estimate or ()
    rows = [
        (name, format_value(value))
        for name, value in zip(_names(spec, len(numbers)), numbers, strict=bool(numbers))
    ]
    for name, ends in (
        ("value of all rows, 95 %", own.gossip_interval),
        ("population, 95 %", own.sampling_interval),
    ):
        if ends is not None:
            rows.append((name, f"{format_value(ends[0])} to {format_value(ends[1])}"))
    rows.append(("exchanges", f"{own.exchanges:,}"))
    rows.append(("met rows of", f"{own.met} of {own.members} members, {own.rows:,} rows in all"))
    kind = "final" if own.is_final else "so far, while rows travel"
    write_rows((f"this peer's own estimate, {kind}", ""), rows, numbers=False)
    write_line("Other members' estimates differ by their errors, and nobody has signed this one.")


def _names(spec: Spec, count: int) -> Sequence[str]:
    """Return what the numbers of an estimate are called."""
    if spec.loss is None:
        return (str(spec.kernel),)
    if count == len(spec.columns):
        return spec.columns
    return [f"parameter {k + 1}" for k in range(count)]


def _write_own_model(study: StudyReading, own: OwnEstimate, out: Path) -> None:
    from pairgossip.cli.outputs.model import specified_model, write_model

    spec = restore_spec(own.specification)
    if spec.loss is None or own.estimate is None or len(own.estimate) != len(spec.columns):
        raise InputError("--out is for a linear model: give --json.")
    settings = {"peer": study.name, "exchanges": own.exchanges}
    write_model(specified_model(spec, own.estimate, list(own.labels), settings), out)
    tell("pairgossip score reads it.")


def _write_model(study: StudyReading, signed: SignedResult, out: Path) -> None:
    from pairgossip.cli.outputs.model import signed_model, write_model

    if signed.result.model is None:
        raise InputError("--out is for a model, and this is a statistic: give --json or --html.")
    write_model(signed_model(signed.result, {"peer": study.name, "exchanges": 0}), out)
    tell("pairgossip score reads it.")

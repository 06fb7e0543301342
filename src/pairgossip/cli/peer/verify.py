"""`pairgossip verify`: checks what all members have signed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pairgossip.cli.console import tell, write_json, write_line, write_rows
from pairgossip.cli.options import Flag, Json
from pairgossip.cli.outputs.files import check_outputs
from pairgossip.cli.peer.readings import ReadingOptions
from pairgossip.cli.sums import result_facts
from pairgossip.errors import InputError
from pairgossip.text import clean_text


def verify_command(
    file: Path,
    /,
    *,
    json: Json = False,
    html: Path | None = None,
    report: Flag = False,
    reading: ReadingOptions = ReadingOptions(),
) -> None:
    """Check a result that members of a network have signed; nothing but the file is needed.

    Every signature is checked against the certificate beside it. Whether these are the members
    that should have signed is for you to see: compare their ids with those you were told.

    If the file holds the table of counts, every figure is computed anew from it, and the first that
    it does not tell is named. So it is with a report, whose figures nobody signs; --report prints
    what was computed.

    With --reading another statistic is read from the table in the file, if `peer result
    --with-table` has published it, instead of the signed figures.

    For example:

        pairgossip verify result.json

    Parameters
    ----------
    file
        A file of `pairgossip peer result --json`.
    html
        The page to write of it, to read and to print.
    report
        Print the report too, as the counts in the file tell it.
    """
    import msgspec

    from pairgossip.peer.result_page import write_page
    from pairgossip.peer.signed_report import asks_report, explain_lack, recompute
    from pairgossip.peer.signed_result import check_signatures, published_table, read_signed

    check_outputs([html], [file])
    reading.check()
    if json and (reading.is_asked or report):
        other = "--reading" if reading.is_asked else "--report"
        raise InputError(f"--json is of the signed figures: give it or {other}.")
    signed = read_signed(file)
    checked = check_signatures(signed, str(file))
    result, table = checked.result, published_table(signed) if reading.is_asked else b""
    computed = recompute(signed, str(file))
    if report and (computed is None or computed.report is None):
        raise InputError(
            "This file holds no report: let its specification ask for one, and write the file with "
            "peer result --json."
        )
    if json:
        about = {
            "no_value": explain_lack(result),
            "positive_class": signed.positive_class,
            "kept": signed.kept,
        }
        who = {"signed_by": checked.signed, "missing": checked.missing}
        told: dict[str, Any] = {} if computed is None else {"recomputed": computed.figures}
        told |= {} if signed.report is None else {"report": signed.report}
        write_json(msgspec.to_builtins({**msgspec.to_builtins(result), **about, **who, **told}))
    else:
        rows = [(name, member) for member, name in sorted(checked.signed.items())]
        write_rows(("signed by", "id"), rows, numbers=False)
    checked.require_all()
    if html is not None:
        write_page(signed, html)
        tell(f"Wrote {html}")
    if reading.is_asked:
        reading.print(signed, table)
    elif not json:
        kept = [] if signed.kept is None else [("kept", f"{signed.kept:%Y-%m-%d %H:%M:%S %Z}")]
        kept += () if checked.asked is None else checked.asked.describe_relations()
        facts = [*result_facts(result, checked.signed), *kept, ("specification", result.hash)]
        write_line(clean_text(result.question))
        write_rows(("figure", ""), facts, numbers=False)
        if report and computed is not None and computed.report is not None:
            from pairgossip.cli.outputs.parts import print_parts

            print_parts(computed.report.parts())
        write_line(f"All {len(checked.signed)} members have signed this.")
        if computed is not None:
            write_line(
                f"All {computed.figures:,} figures in it follow from the counts that they have "
                "signed."
            )
        elif asks_report(result):
            write_line("This file holds no counts: peer result --json writes one with its report.")

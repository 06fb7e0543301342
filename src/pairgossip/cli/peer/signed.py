"""Results of sums as files to hand on, and `pairgossip verify`: of what all members have signed."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairgossip.cli.console import tell, write_json, write_line, write_rows
from pairgossip.cli.options import Flag, Json
from pairgossip.cli.outputs.files import check_outputs
from pairgossip.cli.outputs.model import signed_model, versions, write_model
from pairgossip.cli.peer.readings import ReadingOptions
from pairgossip.cli.sums import result_facts
from pairgossip.errors import InputError
from pairgossip.files import write_json_file
from pairgossip.text import clean_text

if TYPE_CHECKING:
    from pairgossip.peer.service.assembly import PeerSnapshot
    from pairgossip.peer.signed_result import SignedResult
    from pairgossip.peer.storage.folder import Home
    from pairgossip.peer.storage.kept_results import KeptResult
    from pairgossip.peer.sums.results import Result


def find_signed(home: Home, generation: int | None) -> SignedResult:
    """Return the result that all members have signed, of the present generation or another.

    It is kept in a file whatever has begun since; raise `InputError` if there is none.
    """
    from pairgossip.peer.protocol.messages import generation_ordinal
    from pairgossip.peer.service.assembly import read_snapshot
    from pairgossip.peer.storage.kept_results import list_kept

    everything, problems = list_kept(home)
    spec = home.read_spec().hash
    kept = [one for one in everything if one.is_of(spec)]
    chosen = [one for one in reversed(kept) if one.ordinal == generation]
    for other in chosen[1:]:  # of generations that began at once and have the same number
        tell(
            f"Generation {other.ordinal} has more than one result here, and this is the last that "
            f"was kept: pairgossip verify {other.path} reads another."
        )
    if chosen:
        return chosen[0].signed
    seen = read_snapshot(home)
    now = generation_ordinal(seen.saved.generation)
    if generation in (None, now):
        return _find_present(seen, kept)
    if problems:
        raise InputError(problems[0])
    results = ", ".join(map(str, dict.fromkeys(one.ordinal for one in kept))) or "none"
    others = [str(one.path) for one in everything if not one.is_of(spec)]
    beside = f" (pairgossip verify {others[-1]} reads one of another study)" if others else ""
    raise InputError(
        f"--generation is {generation}: the results that all members have signed are of "
        f"generation {results}, and the present one is {now}{beside}."
    )


def _find_present(seen: PeerSnapshot, kept: list[KeptResult]) -> SignedResult:
    """Return the result of the present generation, kept or as the state tells it."""
    from pairgossip.peer.signed_result import check_signatures, replay_rounds, sign_result
    from pairgossip.peer.storage.kept_results import path_of, read_kept

    path = path_of(seen.home, seen.saved.generation)
    for one in reversed(kept):
        if one.signed.result.generation == seen.saved.generation:
            return one.signed
    try:
        signed = sign_result(seen.context, replay_rounds(seen.context, seen.sums))
    except InputError as problem:
        if path.exists():
            read_kept(path)  # which says what is wrong with it
        if not kept:
            raise
        earlier = f"--generation {kept[-1].ordinal} writes the result of that generation."
        raise InputError(f"{problem} {earlier}") from None
    check_signatures(signed, str(seen.home.state)).require_all()
    return signed


def write_signed_files(
    home: Home, signed: SignedResult, out: Path | None, json: Path | None, html: Path | None
) -> None:
    """Write a result as every file that is asked for."""
    from pairgossip.peer.result_page import write_page
    from pairgossip.peer.signed_result import write_signed

    if signed.result.crowded_cells and (advice := signed.result.advise_bins()) is not None:
        tell(f"This test says little: {advice}.")
    if out is not None:
        _write_plain(home, signed, out)
    if json is not None:
        write_signed(signed, json)
    if html is not None:
        write_page(signed, html)


def _write_plain(home: Home, signed: SignedResult, out: Path) -> None:
    """Write a result without its signatures: a model as `score` reads it, or the figures."""
    from pairgossip.peer.signed_report import explain_lack

    result = signed.result
    if result.model is not None:
        settings = {"peer": home.read_settings().name, "exchanges": 0}
        write_model(signed_model(result, settings), out)
    elif (reason := explain_lack(result)) is not None:
        raise InputError(f"There is no value to write: {reason}.")
    else:
        write_json_file(out, _plain(home, signed))


def _plain(home: Home, signed: SignedResult) -> dict[str, Any]:
    import msgspec

    from pairgossip.peer.service.status import read_ended
    from pairgossip.peer.specification.canonical_text import decode_spec

    result, spec = signed.result, decode_spec(signed.result.specification)
    ended = read_ended(home.ended, result.ordinal)
    members, evicted = len(result.members), _evicted_before(home, result)
    positive, promise = signed.positive_class, spec.guarantee
    return {
        "format": "pairgossip-result",
        "version": 2,
        "kernel": spec.kernel,
        "columns": list(spec.columns),
        "label": spec.label,
        **({} if positive is None else {"positive_class": positive}),
        "target": spec.target,
        "estimate": result.value,
        "gossip_error": None,
        "gossip_interval": None,
        "sampling_error": result.sampling_error,
        "sampling_interval": result.interval,
        **({} if result.p is None else {"p": result.p, "p_bracket": result.p_bracket}),
        "privacy_error": result.noise and result.noise.error,
        "exchanges": 0,
        "generation": result.ordinal,
        **({} if evicted is None else {"evicted": list(evicted)}),
        "covers": {"members": members, "of_members": members, "of_rows": result.rows},
        "ended": [msgspec.to_builtins(one) for one in ended],
        "spec": result.hash,
        **({} if promise is None else {"privacy": promise}),
        "versions": versions(),
    }


def _evicted_before(home: Home, result: Result) -> tuple[str, ...] | None:
    """Return who was evicted before a generation; None if that is not known any more."""
    from pairgossip.peer.service.assembly import read_snapshot
    from pairgossip.peer.service.status import read_ended

    with contextlib.suppress(InputError):
        seen = read_snapshot(home)
        if seen.saved.generation == result.generation:
            names = seen.members.names()
            return tuple(names.get(one, one) for one in seen.saved.evicted)
    ended = {one.generation: one for one in read_ended(home.ended, result.ordinal + 1)}
    return ended[result.ordinal].evicted if result.ordinal in ended else None


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

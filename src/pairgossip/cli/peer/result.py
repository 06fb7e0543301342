"""`pairgossip peer result` and `pairgossip verify`: what a peer has found, as files to hand on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import tell, write_json, write_line, write_rows
from pairgossip.cli.options import HomeFolder, Json
from pairgossip.cli.outputs.files import check_outputs
from pairgossip.cli.peer.setup import find_home
from pairgossip.cli.saved import Model, specified_model, versions, write_model
from pairgossip.cli.sums import result_facts
from pairgossip.errors import InputError
from pairgossip.files import write_json_file

if TYPE_CHECKING:
    from pairgossip.peer.protocol.state import SumsState
    from pairgossip.peer.service.assembly import PeerSnapshot
    from pairgossip.peer.service.status import Ended, Status
    from pairgossip.peer.signed_result import SignedResult


def result_command(
    *,
    out: Path | None = None,
    json: Path | None = None,
    html: Path | None = None,
    home: HomeFolder = None,
    generation: int | None = None,
) -> None:
    """Write what the peer has found: a statistic, or a model that `pairgossip score` reads.

    It is read from the peer's durable state, so the peer may be running or not; it goes on. What
    earlier generations had found when they ended is in the file too. Where members compute sums,
    all of them sign the result: --json and --html write it with their signatures, which
    `pairgossip verify` checks anywhere.

    For example:

        pairgossip peer result --out model.json
        pairgossip peer result --json result.json --html result.html

    Parameters
    ----------
    out
        The JSON file to write.
    json
        The JSON file to write with the signatures of all members, where they compute sums.
    html
        The same as a page to read and to print.
    generation
        Write what this generation had found when it ended; the first is 1. By default what the
        present one has found.
    """
    from pairgossip.peer.service.assembly import read_snapshot

    place, wanted = find_home(home), [file for file in (out, json, html) if file is not None]
    if not wanted:
        raise InputError("Say where to write: give --out, --json or --html.")
    check_outputs(wanted)
    seen = read_snapshot(place)
    handed_on = json is not None or html is not None
    signed = _sign(seen, generation) if handed_on else None
    if out is not None:
        _write(seen, out, generation)
    if signed is not None:
        _hand_on(signed, json, html)
    for file in wanted:
        tell(f"Wrote {file}")


def _sign(seen: PeerSnapshot, generation: int | None) -> SignedResult:
    """Return the result that all members have signed; raise `InputError` if there is none."""
    from pairgossip.peer.protocol.messages import generation_ordinal
    from pairgossip.peer.protocol.rounds import Rounds
    from pairgossip.peer.protocol.state import SumsState
    from pairgossip.peer.signed_result import check_signatures, sign_result

    if not isinstance(seen.saved, SumsState):
        raise InputError(
            "Only a result of sums is signed by all members, and this peer exchanges rows: give "
            "--out alone."
        )
    now = generation_ordinal(seen.saved.generation)
    if generation not in (None, now):
        raise InputError(
            f"Signatures are kept of the present generation only, which is {now}: leave "
            "--generation out, or give it with --out alone."
        )
    signed = sign_result(seen.context, Rounds(seen.context, seen.saved))
    check_signatures(signed, str(seen.home.state)).require_all()
    return signed


def _hand_on(signed: SignedResult, json: Path | None, html: Path | None) -> None:
    from pairgossip.peer.result_page import write_page
    from pairgossip.peer.signed_result import write_signed

    if json is not None:
        write_signed(signed, json)
    if html is not None:
        write_page(signed, html)


def _write(seen: PeerSnapshot, out: Path, generation: int | None) -> None:
    """Write what the peer itself has found."""
    found = _now(seen) if generation is None else _then(seen, generation)
    if seen.spec.loss is not None and len(found.estimate) == len(seen.spec.columns):
        write_model(_model(seen, found), out)
    else:
        write_json_file(out, _result(seen, found))


def _now(seen: PeerSnapshot) -> Ended:
    """Return what the present generation has found so far."""
    from pairgossip.peer.protocol.messages import generation_ordinal
    from pairgossip.peer.protocol.state import SumsState
    from pairgossip.peer.service.status import ended_generation, follow, status_of

    shown, context = seen.status(), seen.context
    generation = generation_ordinal(seen.saved.generation)
    if isinstance(seen.saved, SumsState):
        status = _stated(seen, seen.saved)
    else:
        met = shown.heard_of if shown.generation == generation else ()
        status = status_of(context, seen.state, follow(context, seen.state, shown), met=met)
    found = ended_generation(status)
    if found is None and status.rounds is not None and status.rounds.is_finished:
        raise InputError(
            "All sums are known, but the rows of all members do not tell the result: there may be "
            "one class only."
        )
    if found is None and shown.ended:
        last = shown.ended[-1].generation
        raise InputError(
            f"This peer has made no exchange yet in generation {generation}: run it, or give "
            f"--generation {last} for what that one had found."
        )
    if found is None:
        raise InputError("This peer has made no exchange yet: run it, then ask again.")
    return found


def _stated(seen: PeerSnapshot, saved: SumsState) -> Status:
    """Describe a peer whose members have all signed the result; raise `InputError` if not."""
    from pairgossip.peer.protocol.rounds import Rounds
    from pairgossip.peer.service.status import sums_status
    from pairgossip.peer.signed_result import check_stated

    rounds = Rounds(seen.context, saved)
    try:
        check_stated(seen.context, rounds)
    except InputError as problem:
        if ended := seen.status().ended:
            earlier = f"--generation {ended[-1].generation} writes what that one had found"
            raise InputError(f"{str(problem).removesuffix('.')}; {earlier}.") from None
        raise
    return sums_status(seen.context, rounds)


def _then(seen: PeerSnapshot, generation: int) -> Ended:
    """Return what a generation had found when it ended."""
    from pairgossip.peer.protocol.messages import generation_ordinal
    from pairgossip.peer.service.status import read_ended

    now = generation_ordinal(seen.saved.generation)
    if generation == now:
        return _now(seen)
    ended = {one.generation: one for one in read_ended(seen.home.ended, now)}
    if generation not in ended:
        known = ", ".join(map(str, [*ended, now]))
        raise InputError(f"--generation is {generation}: what is known is of {known}.")
    return ended[generation]


def _result(seen: PeerSnapshot, found: Ended) -> dict[str, object]:
    import msgspec

    from pairgossip.peer.service.status import guarantee_of

    spec = seen.spec
    ended = [msgspec.to_builtins(one) for one in seen.status().ended]
    entries = {"kernel": spec.kernel, "loss": spec.loss, "columns": list(spec.columns)}
    return {
        "format": "pairgossip-result",
        "version": 2,
        **{name: value for name, value in entries.items() if value is not None},
        "label": spec.label,
        "target": spec.target,
        "estimate": found.estimate[0] if spec.kernel is not None else list(found.estimate),
        **(found.as_fields() if spec.kernel is not None else {}),
        "exchanges": found.exchanges,
        "generation": found.generation,
        "evicted": list(found.evicted),
        "covers": msgspec.to_builtins(found.covers),
        "ended": [one for one in ended if one["generation"] < found.generation],
        "spec": spec.hash,
        **({} if spec.privacy is None else {"privacy": guarantee_of(spec)}),
        "versions": versions(),
    }


def _model(seen: PeerSnapshot, found: Ended) -> Model:
    from pairgossip.peer.sums.questions import label_values

    if seen.spec.is_sums:
        labels = label_values(seen.spec).tolist()
    else:  # a peer knows its own labels only
        labels = sorted({row[-1] for row in seen.context.own})
    settings = {
        "peer": seen.identity.name,
        "exchanges": found.exchanges,
        "generation": found.generation,
    }
    return specified_model(seen.spec, found.estimate, labels, settings)


def verify_command(file: Path, /, *, json: Json = False) -> None:
    """Check a result that members of a network have signed; nothing but the file is needed.

    Every signature is checked against the certificate beside it. Whether these are the members
    that should have signed is for you to see: compare their ids with those you were told.

    For example:

        pairgossip verify result.json

    Parameters
    ----------
    file
        A file of `pairgossip peer result --json`.
    """
    import msgspec

    from pairgossip.peer.signed_result import check_signed

    checked = check_signed(file)
    result = checked.result
    if json:
        signed = {"signed_by": checked.signed, "missing": checked.missing}
        write_json({**msgspec.to_builtins(result), **signed})
    else:
        rows = [(name, member) for member, name in sorted(checked.signed.items())]
        write_rows(("signed by", "id"), rows, numbers=False)
    checked.require_all()
    if not json:
        facts = [*result_facts(result), ("specification", result.hash)]
        write_line(result.question)
        write_rows(("figure", ""), facts, numbers=False)
        write_line(f"All {len(checked.signed)} members have signed this.")

"""`pairgossip peer result`: what a peer has found, as files to hand on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import tell
from pairgossip.cli.options import Flag, HomeFolder
from pairgossip.cli.outputs.files import check_outputs
from pairgossip.cli.outputs.model import specified_model, versions, write_model
from pairgossip.cli.peer.folders import find_home, find_study_folder
from pairgossip.cli.peer.readings import ReadingOptions
from pairgossip.cli.peer.status import describe_eviction
from pairgossip.errors import InputError
from pairgossip.files import write_json_file

if TYPE_CHECKING:
    from pairgossip.peer.service.assembly import PeerSnapshot
    from pairgossip.peer.service.status import Ended
    from pairgossip.peer.storage.folder import Home


def result_command(
    number: str | None = None,
    /,
    *,
    out: Path | None = None,
    json: Path | None = None,
    html: Path | None = None,
    home: HomeFolder = None,
    generation: int | None = None,
    with_table: Flag = False,
    reading: ReadingOptions = ReadingOptions(),
) -> None:
    """Write what the peer has found: a statistic, or a model that `pairgossip score` reads.

    In a study it is the answer to one of its questions, which is named by its number; without a
    file it is printed. All members sign it: --json and --html write it with their signatures, which
    `pairgossip verify` checks anywhere.

    Where the specification asks for a report, both hold it: the page its curves and figures, and
    the JSON file the figures beside the table of counts from which everybody computes them again.

    With --reading another statistic is read from the table of counts that all members have signed,
    which is kept in the peer's folder: nothing is sent, and nobody has to agree.

    The peer of a single network writes what it has found with --out, and what earlier generations
    had found when they ended.

    For example:

        pairgossip peer result 3 --json result.json --html result.html
        pairgossip peer result 3 --reading median
        pairgossip peer result 3 --group f
        pairgossip peer result --out model.json

    Parameters
    ----------
    number
        The question's number; it may be left out if only one is answered.
    out
        The JSON file to write.
    json
        The JSON file to write with the signatures of all members.
    html
        The same as a page to read and to print.
    generation
        In a single network, write what this generation had found when it ended; the first is 1.
        By default what the present one has found.
    with_table
        Publish the table in the file of --json: `pairgossip verify --reading` reads it there.
    """
    files = [file for file in (out, json, html) if file is not None]
    reading.check()
    if with_table and json is None:
        raise InputError("--with-table is for the file of --json: give --json.")
    if (study := find_study_folder(home)) is not None:
        from pairgossip.cli.peer.answers import write_answer
        from pairgossip.study.service.reading import StudyReading

        if generation is not None:
            raise InputError("--generation is for a single network: name a question by its number.")
        check_outputs(files)
        write_answer(
            StudyReading(study),
            number,
            out=out,
            json=json,
            html=html,
            with_table=with_table,
            reading=reading,
        )
    else:
        place = find_home(home)
        if number is not None:
            raise InputError(
                "A question's number is for a study, and this peer is of a single network."
            )
        if reading.is_asked or json is not None or html is not None or out is None:
            raise InputError(
                "Only the answers of a study are signed by all members and read from a table, and "
                "this peer exchanges rows: give --out alone."
            )
        _write_own(place, out, generation)
    for file in files:
        tell(f"Wrote {file}")


def _write_own(place: Home, out: Path, generation: int | None) -> None:
    """Write what the peer of a single network has found."""
    from pairgossip.peer.service.assembly import read_snapshot

    check_outputs([out])
    for sentence in describe_eviction(place):
        tell(f"{sentence} What it had found before remains.")
    _write(read_snapshot(place), out, generation)


def _write(seen: PeerSnapshot, out: Path, generation: int | None) -> None:
    """Write what the peer itself has found."""
    result = _find(seen, generation)
    if seen.spec.loss is not None and len(result.estimate) == len(seen.spec.columns):
        labels = sorted({row[-1] for row in seen.context.own})  # a peer knows its own only
        settings = {
            "peer": seen.identity.name,
            "exchanges": result.exchanges,
            "generation": result.generation,
        }
        write_model(specified_model(seen.spec, result.estimate, labels, settings), out)
    else:
        write_json_file(out, _result(seen, result))


def _find(seen: PeerSnapshot, asked: int | None) -> Ended:
    """Return what the present generation has found so far, or another had when it ended."""
    from pairgossip.peer.protocol.messages import generation_ordinal
    from pairgossip.peer.service.status import ended_generation, follow, read_ended, status_of

    generation = generation_ordinal(seen.state.generation)
    if asked not in (None, generation):
        ended = {one.generation: one for one in read_ended(seen.home.ended, generation)}
        if asked not in ended:
            generations = ", ".join(map(str, [*ended, generation]))
            raise InputError(f"--generation is {asked}: what is known is of {generations}.")
        return ended[asked]
    shown, context = seen.status(), seen.context
    met = shown.heard_of if shown.generation == generation else ()
    status = status_of(context, seen.state, follow(context, seen.state, shown), met=met)
    result = ended_generation(status)
    if result is None and shown.ended:
        last = shown.ended[-1].generation
        raise InputError(
            f"This peer has made no exchange yet in generation {generation}: run it, or give "
            f"--generation {last} for what that one had found."
        )
    if result is None:
        raise InputError("This peer has made no exchange yet: run it, then ask again.")
    return result


def _result(seen: PeerSnapshot, result: Ended) -> dict[str, object]:
    import msgspec

    spec = seen.spec
    ended = [msgspec.to_builtins(one) for one in seen.status().ended]
    entries = {"kernel": spec.kernel, "loss": spec.loss, "columns": list(spec.columns)}
    return {
        "format": "pairgossip-result",
        "version": 2,
        **{name: value for name, value in entries.items() if value is not None},
        "label": spec.label,
        "target": spec.target,
        "estimate": result.estimate[0] if spec.kernel is not None else list(result.estimate),
        **(result.as_fields() if spec.kernel is not None else {}),
        "exchanges": result.exchanges,
        "generation": result.generation,
        "evicted": list(result.evicted),
        "covers": msgspec.to_builtins(result.covers),
        "ended": [one for one in ended if one["generation"] < result.generation],
        "spec": spec.hash,
        **({"privacy": spec.guarantee} if spec.guarantee else {}),
        "versions": versions(),
    }

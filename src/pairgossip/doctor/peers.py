"""Checks of a peer's folder: settings, certificates, source, process, ways to other members."""

from __future__ import annotations

import datetime
import errno
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.doctor.findings import Finding
from pairgossip.doctor.installation import examine_space
from pairgossip.errors import InputError
from pairgossip.text import TLS, format_count, join_names, parse_address

if TYPE_CHECKING:
    from pairgossip.peer.identity.identity import Identity
    from pairgossip.study.storage.folder import StudyHome
    from pairgossip.study.storage.settings import StudySettings

_SECONDS = 3.0
"""Seconds to wait for another site's connection; after them it counts as not reachable."""
_SOON = datetime.timedelta(days=60)
"""Remaining validity below which a certificate is worth a look."""
_MOST_AT_ONCE = 32
"""Largest number of sites that are called at the same time."""


def examine_peer(folder: Path) -> Iterator[Finding]:
    """Check the folder of a member of a study, whether its peer runs or not."""
    from pairgossip.peer.identity.identity import load_identity
    from pairgossip.peer.storage.folder import Home
    from pairgossip.study.storage.folder import is_study, open_study

    if not is_study(folder) and Home(folder).peer.is_file():
        sentence = "This is the peer of a single network, and only members of studies are checked."
        advice = f"Look at its state: pairgossip peer status --home {folder}"
        yield Finding(str(folder), "look", sentence, advice)
        return
    try:
        home = open_study(folder)
        settings = home.read_settings()
        identity = load_identity(home.folder)
    except InputError as problem:
        yield Finding(str(folder), "broken", str(problem))
        return
    name = identity.name
    yield _examine_certificate(f"{name}: certificate", identity.certificate)
    yield _examine_source(name, home, settings, identity)
    yield _examine_port(name, home, settings)
    yield from _examine_members(name, home, settings)
    yield examine_space(f"{name}: free space", home.folder)
    yield from _examine_problems(name, home)


def _examine_certificate(subject: str, certificate: str) -> Finding:
    from pairgossip.peer.identity.certificates import expiry, is_early, is_expired, start

    end = f"{expiry(certificate):%Y-%m-%d}"
    if is_expired(certificate):
        return Finding(
            subject,
            "broken",
            f"It expired on {end} by this machine's clock.",
            "Set the clock if it is off; else have the member evicted, and let it join anew.",
        )
    if is_early(certificate):
        return Finding(
            subject,
            "broken",
            f"It is valid from {start(certificate):%Y-%m-%d %H:%M} UTC, which is in the future.",
            "Set the clock of this machine.",
        )
    if expiry(certificate) - datetime.datetime.now(datetime.UTC) < _SOON:
        sentence = f"It expires on {end}."
        return Finding(subject, "look", sentence, "Plan for this member to join anew.")
    return Finding(subject, "fine", f"Valid until {end}.")


def _examine_source(
    name: str, home: StudyHome, settings: StudySettings, identity: Identity
) -> Finding:
    """Check that sources exist and, unless the peer runs, that they hold the frozen rows."""
    subject = f"{name}: source"
    try:
        sources = home.find_sources()
    except InputError as problem:
        return Finding(subject, "broken", str(problem))
    lacking = [source for source in sources if not source.exists()]
    if lacking:
        return Finding(
            subject,
            "broken",
            f"There is no {lacking[0]}.",
            "Put it back, or write in peer.toml where it has moved to.",
        )
    if home.is_running():  # it compares them itself, for each question
        named = join_names([str(source) for source in sources])
        return Finding(subject, "fine", f"{named} {'is' if len(sources) == 1 else 'are'} there.")
    try:
        count = _count_frozen_rows(home, settings, identity)
    except InputError as problem:
        return Finding(subject, "broken", str(problem), "Add new rows with pairgossip peer add.")
    return Finding(subject, "fine", f"All {format_count(count, 'row')} are as they were frozen.")


def _count_frozen_rows(home: StudyHome, settings: StudySettings, identity: Identity) -> int:
    """Read all sources; raise `InputError` for one whose rows have changed."""
    from pairgossip.study.storage.snapshots import read_again

    return sum(len(read_again(batch, settings, identity)) for batch in home.read_batches())


def _examine_port(name: str, home: StudyHome, settings: StudySettings) -> Finding:
    """Check whether the peer runs, or else whether it could listen at its address."""
    subject = f"{name}: process"
    if home.is_running():
        return Finding(subject, "fine", "The peer runs.")
    if settings.relay is not None:
        return Finding(subject, "look", "The peer does not run.", _START)
    host, port = parse_address(settings.listen, TLS) or ("", 0)
    try:
        with socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        ):
            pass
    except OSError as problem:
        is_taken = problem.errno == errno.EADDRINUSE
        return Finding(
            subject,
            "broken",
            f"The peer does not run, and cannot listen at {settings.listen}: {_reason(problem)}.",
            "End what uses the port, or write another into listen of peer.toml."
            if is_taken
            else "Write an address of this machine, and a free port, into listen of peer.toml.",
        )
    return Finding(subject, "look", f"The peer does not run; {settings.listen} is free.", _START)


_START = "Start it: pairgossip peer run, or the service that peer unit writes."


def _examine_members(name: str, home: StudyHome, settings: StudySettings) -> Iterator[Finding]:
    """Check others' certificates, and connect to those that have an address."""
    from pairgossip.study.service.membership import read_list

    signed = read_list(home)
    if signed is None:
        sentence = "There is no list of members yet."
        advice = "Exchange invitations: pairgossip peer invite, then peer join."
        yield Finding(f"{name}: members", "look", sentence, advice)
        return
    others = [one for one in signed.list.members if one.name != name]
    for card in others:
        finding = _examine_certificate(f"{name}: certificate of '{card.name}'", card.certificate)
        if finding.state != "fine":
            yield finding
    places = {f"'{one.name}'": one.address for one in others if one.address is not None}
    if settings.relay is not None:
        places = {"the relay": settings.relay}
    with ThreadPoolExecutor(_MOST_AT_ONCE) as threads:
        yield from threads.map(lambda one: _call(name, *one), places.items())


def _call(name: str, who: str, address: str) -> Finding:
    """Check that an address takes connections; only peers' own links check who answers."""
    subject = f"{name}: way to {who}"
    place = parse_address(address, TLS)
    try:
        assert place is not None  # addresses were checked when they came in
        with socket.create_connection(place, _SECONDS):
            return Finding(subject, "fine", f"{address} takes connections.")
    except OSError as problem:
        return Finding(
            subject,
            "look",
            f"{address} takes no connection: {_reason(problem)}.",
            "It may not be running; otherwise check the address, and firewalls in between.",
        )


def _reason(problem: OSError) -> str:
    """Return the system's reason, without the address that Python adds to it."""
    text = problem.strerror or str(problem) or type(problem).__name__
    return text.partition(" (while attempting")[0]


def _examine_problems(name: str, home: StudyHome) -> Iterator[Finding]:
    """Repeat the problems that the peer itself reported last."""
    from pairgossip.study.service.status import read_status

    status = read_status(home)
    for problem in () if status is None else status.problems:
        yield Finding(f"{name}: problem", "look", problem)

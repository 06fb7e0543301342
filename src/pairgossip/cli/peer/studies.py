"""The folder of a study's member: made, invited, joined; and what its operator asks of its peer."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import tell, write_line
from pairgossip.cli.peer.folders import find_folder, is_answered_yes
from pairgossip.errors import InputError
from pairgossip.text import MOST_NAMED, clean_text, format_count, join_first, join_names

if TYPE_CHECKING:
    from pairgossip.study.protocol.records import Card
    from pairgossip.study.service.invitations import Invitation
    from pairgossip.study.service.reading import StudyReading
    from pairgossip.study.service.requests import AnyRequest, Reply
    from pairgossip.study.storage.folder import StudyHome

_PATIENCE = 10.0
"""Seconds for which a command waits until a running peer has done it."""


def read_study(home: Path | None) -> StudyReading:
    """Return the study's folder that a command is about, to be looked at."""
    from pairgossip.study.service.reading import StudyReading
    from pairgossip.study.storage.folder import is_study

    folder = find_folder(home)
    if folder.is_dir() and not is_study(folder):
        raise InputError(
            f"{folder} is the folder of a single network, which takes no questions: make one of a "
            "study with peer init --name and --source, without --spec."
        )
    return StudyReading(folder)


def send_request(study: StudyReading, request: AnyRequest) -> Reply | None:
    """Let the peer carry out a request; return its answer, or None if that comes later.

    Raise `InputError` if the peer refuses.
    """
    key = study.requests.write(request)
    if not study.is_running:
        tell("This peer does not run: that is done as soon as it is started with peer run.")
        return None
    try:
        reply = study.requests.wait(key, _PATIENCE)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            "Interrupted, but the peer still does what was asked for."
        ) from None
    if reply is None:
        tell("The peer has not come to it yet: it stays asked for.")
        return None
    if not reply.is_done:
        raise InputError(reply.sentence)
    tell(reply.sentence)
    return reply


# The membership


def tell_made(made: StudyHome) -> None:
    """Say what was made, and what to do next."""
    from pairgossip.peer.identity.identity import load_identity
    from pairgossip.study.storage.snapshots import describe_folder

    tell(f"Made {made.folder}, a member of a study: it answers one question after the other.")
    rows = format_count(sum(batch.rows for batch in made.read_batches()), "row")
    tell(f"It counts {rows}, as they are now. None leaves this machine; you are asked first.")
    tell_all(tuple(describe_folder(Path(made.read_settings().source))))
    tell("Next: pairgossip peer invite, and give what it prints to the other members.")
    write_line(load_identity(made.folder).id)


def print_invitation(folder: Path, address: str | None, unreachable: bool) -> None:
    """Print the invitation of a study's member."""
    from pairgossip.peer.identity.identity import load_identity
    from pairgossip.study.service.invitations import write_invitation
    from pairgossip.study.service.membership import invite_card, keep_address, read_list
    from pairgossip.study.storage.folder import open_study

    home = open_study(folder)
    if address is not None or unreachable:
        keep_address(home, address)
    me = load_identity(home.folder)
    signed = read_list(home)
    card = invite_card(home, me)
    if signed is None:
        write_line(write_invitation(card, me.sign))
    else:
        write_line(write_invitation(card, me.sign, signed.list, signed.signatures))


def join_study(folder: Path, texts: Sequence[str], *, yes: bool) -> None:
    """Accept members by their invitations."""
    from pairgossip.study.service.reading import StudyReading
    from pairgossip.study.service.requests import Join

    study = StudyReading(folder)
    invited = read_others(study, texts)
    _check_study(study, invited)
    cards = [one.card for one in invited]
    for one in invited:
        write_line(f"member {one.card.name}, {one.card.id}")
    accepted = {card.id: card for card in (*_accepted_before(study), *cards)}
    tell_all(tuple(_describe_few(study, list(accepted.values()))))
    if not yes and study.signed_list() is None:
        _confirm_first_list(study, invited)
    send_request(study, Join(tuple(cards)))


def _accepted_before(study: StudyReading) -> Collection[Card]:
    """Return the other members that this operator has accepted, also while the peer did not run."""
    from pairgossip.study.service.requests import Evict, Join

    accepted: dict[str, Card] = {}
    if (status := study.status()) is not None:
        others = (one for one in status.members if one.card.id != status.id)
        accepted = {one.card.id: one.card for one in others if one.is_accepted}
    for request in study.waiting():
        if isinstance(request, Join):
            accepted |= {card.id: card for card in request.cards}
        elif isinstance(request, Evict):
            accepted.pop(request.member, None)
    return accepted.values()


def _describe_few(study: StudyReading, others: Sequence[Card]) -> Iterator[str]:
    """Say that a new study has too few members for tables in which small counts are hidden."""
    policy, count = study.home.read_settings().policy, len(others) + 1
    least = max([policy.least_cell, *(card.least_cell for card in others)])
    needed = 1 + max([policy.least_members, *(card.least_members for card in others)])
    if study.signed_list() is None and least > 1 and count < needed:
        yield (
            f"These are {count} members, and where no count of fewer than {least} rows leaves a "
            f"site a table takes the rows of {needed}: statistics on sums without noise are "
            "refused until more have joined. With fewer members, all of them must give "
            "--least-cell 1 to peer init."
        )


def read_others(study: StudyReading, texts: Sequence[str]) -> list[Invitation]:
    """Read all invitations, each once; this peer's own is left out where there are others."""
    from pairgossip.cli.peer.folders import leave_out_own
    from pairgossip.peer.identity.identity import load_identity
    from pairgossip.study.protocol.records import Card
    from pairgossip.study.service.invitations import refuse_same_names

    me = load_identity(study.home.folder)
    by_id = {one.card.id: (text, one) for text in texts for one in _read(text, len(texts))}
    if by_id.keys() == {me.id}:
        raise InputError("This is this peer's own invitation: give it to the others.")
    invited = leave_out_own(by_id, me.id)
    own = Card(me.id, me.name, me.certificate, None)
    refuse_same_names((one.card for one in invited), [own, *_accepted_before(study)])
    return invited


def _read(text: str, count: int) -> list[Invitation]:
    from pairgossip.peer.identity.armored import read_one_of
    from pairgossip.study.service.invitations import PREFIX, read_invitations

    return read_one_of(PREFIX, read_invitations, text, count)


def _check_study(study: StudyReading, invited: Sequence[Invitation]) -> None:
    """Refuse invitations to a study that is not this peer's."""
    own = study.signed_list()
    if own is None:
        _refuse_missing(study, invited)
    lists = {one.list.digest for one in invited if one.list is not None}
    if own is None and len(lists) > 1:
        raise InputError(
            "These invitations name different lists of members: ask all for new ones at the same "
            "time, from one study."
        )
    if own is None:
        return
    ids = {card.id for card in own.list.members}
    for one in invited:
        if one.list is not None and ids.isdisjoint(one.list.ids):
            raise InputError(
                f"'{one.card.name}' is a member of another study: make a folder of its own for it."
            )


def _refuse_missing(study: StudyReading, invited: Sequence[Invitation]) -> None:
    """Refuse the invitations of some of a list's members: an operator accepts all of them."""
    from pairgossip.peer.identity.identity import load_identity

    ids = {load_identity(study.home.folder).id, *(one.card.id for one in invited)}
    listed = [card for one in invited if one.list is not None for card in one.list.members]
    if missing := sorted({clean_text(card.name, 64) for card in listed if card.id not in ids}):
        raise InputError(
            f"The invitations of {join_names(missing)} are missing, who are members of the same "
            "study: give those of all members at once."
        )


def _confirm_first_list(study: StudyReading, invited: Sequence[Invitation]) -> None:
    """Ask before the first list is signed, after which members come one by one."""
    names = join_names(sorted([study.name, *(one.card.name for one in invited)]))
    lists = [one.list for one in invited if one.list is not None]
    if lists:
        there = join_names(sorted(card.name for card in lists[0].members))
        meaning = f"This peer asks to join the study of {there}, who have signed their list."
    else:
        meaning = (
            f"This peer signs a new study of {names}: it begins once all of them have signed the "
            "same list, so join all invitations at once."
        )
    confirm_all("Join them?", "Nobody was accepted.")([meaning])


def find_card(study: StudyReading, name: str) -> Card:
    """Return a member that is proposed, by its name or its invitation; raise for others."""
    from pairgossip.study.service.invitations import PREFIX

    if PREFIX in name or Path(name).is_file():
        (first, *more) = read_others(study, [name])
        if more:
            raise InputError(f"{name[:40]} holds several invitations: give one at a time.")
        return first.card
    status = study.status()
    members = [] if status is None else [one for one in status.members if not one.is_accepted]
    for one in members:
        if name in (one.card.name, one.card.id):
            return one.card
    names = join_names(sorted(one.card.name for one in members) or ["nobody"])
    raise InputError(
        f"{name[:64]!r} is neither a question's number nor a proposed member: proposed and not "
        f"accepted yet: {names}. For others, give the file of their invitation."
    )


def evict_from_study(folder: Path, member: str, *, yes: bool) -> None:
    """Sign a list without a member."""
    from pairgossip.study.service.reading import StudyReading
    from pairgossip.study.service.requests import Evict

    study = StudyReading(folder)
    members = _cards_of(study)
    lost = [one for one in members if member in (one.name, one.id)]
    if not lost:
        names = join_names(sorted({one.name for one in members}) or ["nobody"])
        raise InputError(f"No member is called '{member[:64]}': the members are {names}.")
    if lost[0].name == study.name:
        raise InputError("A peer does not evict itself: it leaves, with peer leave.")
    meaning = [
        f"Without '{lost[0].name}' a new list exists once all others have signed it too. Questions "
        "that wait for it end; tables with its rows stay as they are.",
        *describe_cost(study, lost[0].name),
        "This cannot be undone.",
    ]
    confirm_all(f"Evict {lost[0].name}?", "Nobody was evicted.", yes=yes)(meaning)
    send_request(study, Evict(lost[0].id))


def _cards_of(study: StudyReading) -> list[Card]:
    """Return the members of the list, and after them those that wait to be on it."""
    signed, status = study.signed_list(), study.status()
    listed = () if signed is None else signed.list.members
    waiting = [] if status is None else [one.card for one in status.members if not one.is_listed]
    return [*listed, *(one for one in waiting if one not in listed)]


def describe_cost(study: StudyReading, member: str) -> Iterator[str]:
    """Say what it costs the others that a member is gone with whose rows theirs were counted."""
    numbers = [
        str(one.number)
        for one in study.questions()
        if one.is_disclosed and one.adds and not one.travels and member in one.yeses
    ]
    if numbers:
        of = "question" if len(numbers) == 1 else "questions"
        yield (
            f"The others' rows were counted together with those of '{member}' ({of} "
            f"{join_first(numbers[:MOST_NAMED], len(numbers))}), and are counted in no further "
            "column without them: the two tables would differ by that member alone. Tables of "
            "before can still be read, and rows that three or more members add later count."
        )


def add_to_study(folder: Path, source: Path, *, yes: bool, visible: bool) -> None:
    """Freeze the rows of a further source."""
    from pairgossip.study.service.assembly import carry_out_alone
    from pairgossip.study.service.reading import StudyReading
    from pairgossip.study.service.requests import Add
    from pairgossip.study.storage.snapshots import describe_folder

    study = StudyReading(folder)
    request = Add(str(source.absolute()), visible)
    meaning = [
        *describe_folder(source),
        "These rows are frozen as they are, and counted in questions from now on: they cannot be "
        "taken back, and none of them may be among the rows of before.",
    ]
    confirm_all("Add these rows?", "No rows were added.", yes=yes)(meaning)
    if not study.is_running:
        reply = carry_out_alone(study.home, request)
        tell(reply.sentence)
    else:
        answer = send_request(study, request)
        if answer is None:
            return
        reply = answer
    tell_all(reply.sentences)


def tell_all(sentences: Sequence[str]) -> None:
    """Print sentences for the operator."""
    for sentence in sentences:
        tell(sentence)


def confirm_all(
    question: str, otherwise: str, *, yes: bool = False
) -> Callable[[Sequence[str]], None]:
    """Return a function that prints sentences, asks, and raises `InputError` for a no.

    With ``yes``, the operator has agreed beforehand, and is not asked.
    """

    def confirm(sentences: Sequence[str]) -> None:
        refusal = f"{' '.join(sentences)} There is no terminal to ask on: give --yes."
        if yes:
            tell_all(sentences)
        elif sentences and not is_answered_yes(sentences, question, refusal):
            raise InputError(f"{otherwise} Answer y, or give --yes.")

    return confirm


_UNITS = {"d": 86_400, "h": 3_600, "m": 60}


def read_duration(text: str) -> int:
    """Return the seconds in a text such as 7d, 12h or 30m."""
    match = re.fullmatch(r"([1-9][0-9]{0,3})([dhm])", text.strip())
    if match is None:
        raise InputError(f"--expires is {text[:32]!r}: write it as 7d, 12h or 30m.")
    return int(match[1]) * _UNITS[match[2]]

"""A member's site: its decisions by policy, its rows, its numbers, and what it keeps of answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.protocol.program import Program
from pairgossip.study.protocol.records import MemberList, Question, Yes
from pairgossip.study.protocol.site import Offer, Verdict
from pairgossip.study.site.folder import StudyHome
from pairgossip.study.site.journal import StudyJournal


class MemberSite:
    """The `Site` of a member: what a study asks of its machine.

    Parameters
    ----------
    home, identity, journal
        The folder, who the member is, and its journal, which is open.
    find_list
        Gives a list of members by its digest, such as the study's own; None if it is unknown.
    """

    def __init__(
        self,
        home: StudyHome,
        identity: Identity,
        journal: StudyJournal,
        find_list: Callable[[bytes], MemberList | None] = lambda _: None,
    ) -> None:
        raise NotImplementedError

    def judge(self, name: bytes, question: Question) -> Verdict:
        """Say yes or no by policy, or ask the operator; never by what the rows are."""
        raise NotImplementedError

    def offer(self, name: bytes, question: Question) -> Offer:
        """Read the rows, and say what this site adds; nothing leaves yet but this."""
        raise NotImplementedError

    def make_program(self, name: bytes, question: Question, yeses: Mapping[str, Yes]) -> Program:
        """Return the computation that all members go through."""
        raise NotImplementedError

    def note_disclosure(self, name: bytes, round_: int, words: bytes) -> None:
        """Write into the record of disclosures what is shown next; durable when it returns."""
        raise NotImplementedError

    def finish(self, name: bytes, question: Question, transcript: bytes) -> None:
        """Take up the result that all members have signed: keep the table, end the entry."""
        raise NotImplementedError

    def give_up(self, name: bytes, because: str, *, is_disclosed: bool) -> None:
        """Note that nothing comes of a question; words of it may have been shown."""
        raise NotImplementedError

    def accept_visible(self, name: bytes) -> None:
        """Note that the operator accepts that others can subtract what this question tells."""
        raise NotImplementedError

    def choose_reads(
        self, text: str, members: Sequence[str], *, is_fresh: bool = False
    ) -> tuple[tuple[bytes, ...], bool]:
        """Return which tables answer a text for these members, and whether rows are to be added.

        Those are the `reads` and `adds` of a question. With ``is_fresh`` rows that were added since
        are counted though a table could answer at once.
        """
        raise NotImplementedError

    def describe(self, question: Question) -> list[str]:
        """Say in sentences what would leave this site, whatever its rows are."""
        raise NotImplementedError

    def try_out(self, name: bytes, question: Question) -> list[str]:
        """Read the source, note nothing, and say in sentences what a yes would come to."""
        raise NotImplementedError

    def keep_signed(self) -> None:
        """Write the files of results that all members have signed by now, if they lack."""
        raise NotImplementedError

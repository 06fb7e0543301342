"""A member's folder, opened: all parts of a study's peer but its process and its network."""

from __future__ import annotations

import secrets
from typing import Any

from pairgossip.errors import InputError
from pairgossip.peer.identity.certificates import is_signed
from pairgossip.peer.identity.identity import Identity, load_identity
from pairgossip.study.protocol.records import Card, MemberList
from pairgossip.study.protocol.study import Keys, Study
from pairgossip.study.service.membership import find_card
from pairgossip.study.service.status import QuestionStatus
from pairgossip.study.site.folder import StudyHome
from pairgossip.study.site.journal import StudyJournal
from pairgossip.study.site.member_site import MemberSite

_KEY = 32
"""Bytes of a private key."""


class StudyParts:
    """A member's folder, opened: who it is, what it has said, its rows, and the rules.

    Only the process that holds the folder may open it so.
    """

    def __init__(self, home: StudyHome) -> None:
        self.home = home
        self.settings = home.read_settings()
        self.identity: Identity = load_identity(home.folder)
        self.journal = StudyJournal(
            home.database, home.secrets, power_safe=self.settings.power_safe
        )
        try:
            self.card: Card = find_card(home, self.identity)
            state: Any = self.journal.load()
            self.site = MemberSite(home, self.identity, self.journal, self._find_list)
            site: Any = self.site
            keys = Keys(self.identity.sign, is_signed, lambda: secrets.token_bytes(_KEY))
            least = self.settings.policy.least_members
            self.study = Study(self.card, keys, site, state, least_members=least)
        except BaseException:
            self.journal.close()
            raise

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    def _find_list(self, digest: bytes) -> MemberList | None:
        return self.study.find_list(digest)


def try_out_alone(home: StudyHome, question: QuestionStatus) -> tuple[str, ...]:
    """Say what a yes to a question would come to, while the peer does not run."""
    with home.lock():
        parts = StudyParts(home)
        try:
            progress = parts.study.question(bytes.fromhex(question.name))
            if progress is None:
                raise InputError("This question has come to its end: there is nothing to try.")
            return tuple(parts.site.try_out(progress.name, progress.question))
        finally:
            parts.close()

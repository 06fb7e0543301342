"""A member's folder, opened: all parts of a study's peer except its process and its network."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from pairgossip.peer.identity.certificates import is_signed
from pairgossip.peer.identity.identity import Identity, load_identity
from pairgossip.study.protocol.records import Card
from pairgossip.study.protocol.site import Action, Save
from pairgossip.study.protocol.study import Keys, Study
from pairgossip.study.service.membership import find_card
from pairgossip.study.service.operating import Operator
from pairgossip.study.service.requests import AnyRequest, Reply
from pairgossip.study.site.member_site import MemberSite
from pairgossip.study.storage.folder import StudyHome
from pairgossip.study.storage.journal import StudyJournal

_KEY = 32
"""Number of bytes of a private key."""


class StudyParts:
    """A member's folder, opened: its identity, its records, its rows, and the rules.

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
            state = self.journal.load()
            self.site = MemberSite(home, self.identity, self.journal)
            keys = Keys(self.identity.sign, is_signed, lambda: secrets.token_bytes(_KEY))
            least = self.settings.policy.least_members
            self.study = Study(self.card, keys, self.site, state, least_members=least)
        except BaseException:
            self.journal.close()
            raise

    def keep(self, actions: Sequence[Action]) -> None:
        """Carry out what actions save; messages to others are sent at the next contact."""
        for action in actions:
            if isinstance(action, Save):
                self.journal.save(action)

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()


def carry_out_alone(home: StudyHome, request: AnyRequest) -> Reply:
    """Carry out a request that others need not hear of, while the peer does not run."""
    with home.lock():
        parts = StudyParts(home)
        try:
            operator = Operator(parts.study, parts.site, parts.journal)
            reply = operator.carry_out("", request, parts.keep)
            parts.journal.flush()
            return reply
        finally:
            parts.close()

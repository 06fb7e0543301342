"""One question at one member: from the yeses of all to the result that all have signed.

Theory of operation
-------------------
The state of a question follows only from its records, and from this member's secrets. So a member
that comes back from a crash goes through its records again and is where it was; and two members
that have the same records agree. Records spread by set union, and may come in any order.

Once all have said yes, the transcript is fixed: it names the list, the question and all yeses. In
each round all members commit to their masked words (`Digests`) for the transcript so far, then each
signs the set of all commitments (`Echo`), and shows its words only when all have signed the same
set. If a member shows one half of the others one commitment, and the other half another, there are
two sets, neither is signed by all, and no words are shown. When all words are there they are added;
the request of the next round follows from the sums so far. In the end all sign the result.

Members whose machines round differently make different requests in clear. Their words would not add
up, so they are not echoed: the next round takes the request of the lowest id. A second difference
in a row ends the question.

An ending stops a round that its member has not echoed, so no words of that round can have been
shown. An echo and an ending of one member prove a lie. A question ends here, for good, if this
member has not shown its words; otherwise it cannot be undone, and late words may still finish it.
So a sum is known only if no honest member has ended it, and a member that has not shown its words
has revealed nothing. Whether it has ended follows from the records until `study` archives it.

Whoever has signed a result does not end its question, as others may have all signatures, unless
all have signed and their results differ: then there is no result to take back.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import Ask, Disagreement, Kind, add_up, pack
from pairgossip.study.protocol import ratchet
from pairgossip.study.protocol.desk import Held
from pairgossip.study.protocol.records import (
    LONGEST_PUBLIC,
    LONGEST_SENTENCE,
    LONGEST_WORDS,
    MOST_ROUNDS,
    Digests,
    Echo,
    Ending,
    EndingKind,
    Statement,
    Words,
    Yes,
)
from pairgossip.study.protocol.site import Action, Offer
from pairgossip.study.protocol.standing import Standing, digest_all, hash_of
from pairgossip.text import clean_text

_NO_KEY = (
    "This peer's key for this question is not here any more, as in a restored backup, so that it "
    "cannot contribute what it has promised: ask again."
)
_NO_WORDS = (
    "All wait for numbers of this peer that it has lost, as its folder is a restored backup: have "
    "the others evict it, unless one of them has seen the numbers."
)
FAILURES = (Disagreement, InputError, ArithmeticError, LookupError, TypeError, ValueError)
"""Exceptions of a site's methods or a program that end a question, and not the process."""
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(dict[str, bytes])


class Run(Standing):
    """One question's machine."""

    # The steps of this member

    def proceed(self) -> list[Action]:
        """Sign due records, and proceed as far as the records allow."""
        actions: list[Action] = []
        while not self.is_done and not self.is_final:
            try:
                step = self._step()
            except FAILURES as problem:
                sentence = self.explain(problem)
                is_own = not isinstance(problem, Disagreement)
                if self.has_stated or (self._owes_words and is_own):
                    self.trouble = sentence
                else:
                    self._failure = sentence
                break
            if step is None:
                break
            actions += step
        # Last, so that a member with all words has gone through them.
        return actions if self._is_signed() else actions + self._confess()

    def explain(self, problem: Exception) -> str:
        """Return a problem's text for others; for a mistake in the program, without details."""
        if isinstance(problem, Disagreement | InputError):
            return str(problem)
        self.trouble = repr(problem)
        return f"This peer has failed to compute it ({type(problem).__name__})."

    def say_yes(
        self,
        offer: Offer,
        released: int = 0,
        seen: Mapping[str, int] | None = None,
        *,
        is_visible: bool = False,
    ) -> list[Action]:
        """Promise to contribute, with a fresh key."""
        private = self._desk.keys.draw_key()
        yes = Yes(
            member=self._me,
            question=self.name,
            list=self.question.list,
            disclosure=offer.disclosure,
            commitment=offer.commitment,
            pieces=offer.pieces,
            key=ratchet.public_key(private),
            card=offer.card,
            version=offer.version,
            released=released,
            seen=dict(seen or {}),
            totals_visible=is_visible,
        )
        return self._desk.say(yes, {key_name(self.name): private})

    def end(self, kind: EndingKind, because: str) -> list[Action]:
        """End the question for all, unless this member has signed a result.

        It ends from the first round on that this member has not echoed, which is not always the
        present one. After a start it may have echoed rounds that it has not gone through again; and
        a round with different requests ends without an echo: members that still wait for
        commitments to it end here, too.
        """
        if self.said("ending", self._me) or self.is_done or not self.may_speak:
            return []
        if kind != "cannot" and self.has_stated:
            return []  # some may have its result already
        sentence = clean_text(because, LONGEST_SENTENCE)
        return self._desk.say(
            Ending(
                member=self._me,
                question=self.name,
                kind=kind,
                round=self._last_echoed + 1,
                because=sentence,
            )
        )

    def forget_yes(self) -> list[Action]:
        """End a question to which others have this member's commitment, and nobody its yes.

        A backup has lost it; another yes has another key, and no commitment fits to it.
        """
        return [] if self.has_echoed(self._me) else self.end("cannot", _NO_KEY)

    @property
    def owes_ending(self) -> bool:
        """Return whether others do not know yet why this member cannot continue."""
        return bool(self._failure) and not self.said("ending", self._me)

    def _confess(self) -> list[Action]:
        return self.end("cannot", self._failure) if self._failure else []

    def _is_signed(self) -> bool:
        """Find out whether all members have signed the same result."""
        for attempt in (0, 1):
            about = self._find_results(attempt)
            if len(about) == 1 and not self.is_done:
                ((self.transcript, _),) = about
                self.is_done = True
                if self._program is not None and self._ask is not None and self._states:
                    self._program.take(self._ask, add_up((), 0))
        return self.is_done

    def _step(self) -> list[Action] | None:
        """Do the next step; return None if others must act first."""
        if self.round == 0:
            return self._begin()
        if self.travels and not self._states:
            return self._wait_for_rows()
        return self._state() if self._states else self._sum()

    def _begin(self) -> list[Action] | None:
        """Begin the first round once all have said yes."""
        yeses, actions = self._first("yes"), list[Action]()
        self.transcript = self.name
        if self.question.adds:
            if not self._is_all(yeses):
                return None
            named = [self.question.list, self.name, *(yeses[one].digest for one in self.members)]
            self.transcript = digest_all(named)
            if not self.said("digests", self._me, 1):
                if hindrance := self._hinder(self):
                    raise InputError(hindrance)
                actions += self._derive_chains()
        self._program = self._desk.site.make_program(self.name, self.question, self.yeses)
        self.round, self._ask = 1, self._program.ask()
        self._keep_to_own_question()
        return actions

    def _derive_chains(self) -> list[Action]:
        """Derive the first round's chains and erase the key, if that is not done."""
        key, first = key_name(self.name), chains_name(self.name, 1)
        if first in self._desk.secrets:
            return [self._desk.save(secrets={key: None})]
        if key not in self._desk.secrets:
            raise InputError(_NO_KEY)
        others = {one: yes.key for one, yes in self.yeses.items() if one != self._me}
        private = self._desk.secrets[key]
        chains = ratchet.derive_chains(self._me, private, others, self.transcript)
        return [self._desk.save(secrets={first: _ENCODER.encode(chains), key: None})]

    def _sum(self) -> list[Action] | None:
        """Commit, echo, show, add up."""
        own, shown = self.said("digests", self._me, self.round), self._own_words()
        if not own:
            return self._commit() if self.may_speak else None
        if not self._is_all(digests := self._digests()):
            return None
        if len({one.record.public for one in digests.values()}) > 1:
            return self._repeat(digests)
        if shown is None:
            return self._regain(own[0])
        if not self.said("echo", self._me, self.round):
            return self._echo(digests) if self.may_speak else None
        if not self._is_all(self._echoes()):
            return None
        if not shown.is_shown:
            return self._show(shown)
        return self._add_up(digests)

    def _own_words(self) -> Held | None:
        held = self.said("words", self._me, self.round)
        return held[0] if held else None

    def _mask(self) -> tuple[Words, dict[str, bytes | None]]:
        """Return this member's masked words, and the secrets that replace those of the mask."""
        assert self._program is not None and self._ask is not None
        now, then = (chains_name(self.name, one) for one in (self.round, self.round + 1))
        if now not in self._desk.secrets:
            raise InputError(_NO_KEY)
        chains = _DECODER.decode(self._desk.secrets[now])
        numbers = self._program.contribute(self._ask)
        hidden = pack(numbers + ratchet.mask(self._me, chains, self.round, self._ask.words))
        later = _ENCODER.encode(ratchet.advance(chains, self.round))
        words = Words(member=self._me, question=self.name, round=self.round, words=hidden)
        return words, {then: later, now: None}

    def _commit(self) -> list[Action]:
        """Make the words, keep them, erase the source of their mask, and commit to them."""
        assert self._ask is not None
        words, secrets = self._mask()
        digests = Digests(
            member=self._me,
            question=self.name,
            round=self.round,
            before=self.transcript,
            public=self._ask.public,
            words=hash_of(words.words),
        )
        return self._desk.say(digests, secrets, words)

    def _regain(self, own: Held) -> list[Action] | None:
        """Make words again that this member has committed to, and that a backup lacks.

        If it has echoed them it can no longer declare that it cannot: others may give them back.
        """
        has_key = chains_name(self.name, self.round) in self._desk.secrets
        if not has_key and self.said("echo", self._me, self.round):
            self.trouble = _NO_WORDS if self.may_speak else ""
            return None
        words, secrets = self._mask()
        if hash_of(words.words) != own.record.words:
            raise InputError(_NO_KEY)
        return self._desk.keep_hidden(words, secrets)

    def _echo(self, digests: Mapping[str, Held]) -> list[Action]:
        seen = digest_all(digests[one].digest for one in self.members)
        return self._desk.say(
            Echo(member=self._me, question=self.name, round=self.round, digests=seen)
        )

    def _show(self, held: Held) -> list[Action] | None:
        """Show the words, once they are in the record of disclosures."""
        try:
            words = held.record.words
            self._desk.site.note_disclosure(self.name, self.round, words)
        except InputError as problem:
            self.trouble = str(problem)
            return None
        actions = self._desk.show(held)
        self.note_shown()
        return actions

    def _add_up(self, digests: Mapping[str, Held]) -> list[Action] | None:
        words = self._words()
        if not self._is_all(words):
            return None
        assert self._program is not None and self._ask is not None
        size, ask = self._ask.words, self._ask
        contents = [words[one].record.words for one in self.members]
        self._close_round(digests)
        if any(len(content) != 8 * size for content in contents):
            raise Disagreement("a member has shown another number of words than it was asked for")
        self._program.take(ask, add_up(contents, size))
        self._has_repeated, self._ask = False, self._program.ask()
        self.travels = self._ask is not None and self._ask.kind is Kind.EXCHANGE
        self._keep_to_own_question()
        return []

    def _wait_for_rows(self) -> list[Action] | None:
        """Sign once this member has exchanged enough rows; it continues until all have."""
        assert self._program is not None
        ask = self._program.ask()
        if ask is None or (ask.kind is Kind.EXCHANGE and not self.said("statement", self._me)):
            return None
        self._ask = ask._replace(kind=Kind.STATEMENT)
        return []

    def _repeat(self, digests: Mapping[str, Held]) -> list[Action]:
        """Repeat the round with the request of the lowest id."""
        assert self._program is not None
        if self._has_repeated:
            raise Disagreement("members ask for something else in one round after another")
        public = digests[self.members[0]].record.public
        self._close_round(digests)
        self._has_repeated, self._ask = True, self._program.follow(public)
        self._keep_to_own_question()
        return []

    def _close_round(self, digests: Mapping[str, Held]) -> None:
        assert self._program is not None
        named = [self.transcript, *(digests[one].digest for one in self.members)]
        self.transcript = digest_all(named)
        self.round += 1
        if self.round > min(MOST_ROUNDS, self._program.most_rounds):
            raise Disagreement("the rounds that the question allows are used up")

    def _keep_to_own_question(self) -> None:
        """Repeat this member's own request in this round: after an update it may differ in its
        last digits."""
        if self._ask is None:
            raise Disagreement("nothing is left to sign")
        kind, number = ("statement", 0) if self._states else ("digests", self.round)
        own = self.said(kind, self._me, number)
        assert self._program is not None
        if own and own[0].record.public != self._ask.public:
            public = own[0].record.public
            self._ask = self._program.follow(public, is_repeated=False)
        if len(self._ask.public) > LONGEST_PUBLIC or 8 * self._ask.words > LONGEST_WORDS:
            raise InputError("Its numbers are more than a record holds: ask for fewer.")

    def _state(self) -> list[Action] | None:
        """Sign the result; where last digits differ, once more as the lowest id has it."""
        assert self._program is not None and self._ask is not None
        if not self.said("statement", self._me, self._attempt):
            return self._sign(self._ask) if self.may_speak else None
        statements = self._statements()
        about = {one.record.public for one in statements.values()}
        if not self._is_all(statements) or len(about) == 1:
            return None
        if self._attempt:
            raise Disagreement("members' results differ")
        public = statements[self.members[0]].record.public
        self._attempt, self._ask = 1, self._program.follow(public)
        return []

    def _sign(self, ask: Ask) -> list[Action]:
        statement = Statement(
            member=self._me,
            question=self.name,
            attempt=self._attempt,
            transcript=self.transcript,
            public=ask.public,
        )
        return self._desk.say(statement)


def key_name(name: bytes) -> str:
    """Return the name of the secret that is a question's private key."""
    return f"{name.hex()}-key"


def chains_name(name: bytes, round_: int) -> str:
    """Return the name of the secret from which a round's masks are made."""
    return f"{name.hex()}-chains-{round_}"

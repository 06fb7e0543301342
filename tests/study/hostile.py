"""Members of a study that are sent frames no honest member sends, and the effects of these."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from functools import cache

from pairgossip.study.protocol.records import (
    AnyRecord,
    BadRecord,
    decode,
    digest_of,
    encode,
    payload_of,
)
from pairgossip.study.protocol.site import Actions, Save, Send
from pairgossip.study.protocol.spreading import Give, decode_frame, encode_frame
from pairgossip.study.protocol.study import Study
from tests.peer.audit import Violated
from tests.peer.contexts import name_of, seal
from tests.peer.hostile import STRANGER, mutate, twist
from tests.study.disk import Journal
from tests.study.forging import sign
from tests.study.sites import Folder, Layout
from tests.study.world import World

ME = name_of(1)
MOST_SENT = 40
"""Largest number of frames in answer to one frame."""
MOST_BYTES = 1 << 21
"""Largest number of bytes in answer to one frame."""
MOST_ANSWERED = 200
"""Frames after which a member is remade, so that used-up budgets of bytes do not hide defects."""
LOOKED_AT = 10
"""Number of frames from one comparison of all that an operator sees to the next."""


@dataclass
class Victim:
    """The state that a member had saved at some moment."""

    journal: Journal
    secrets: dict[str, bytes]
    folder: Folder


@dataclass
class Scene:
    """A member at many moments, and all that others may have sent to it."""

    world: World
    victims: list[Victim]
    frames: list[tuple[str, bytes]]

    def start(self, victim: Victim) -> Study:
        """Start the member as it was, and let all others greet it."""
        member = self.world.members[ME]
        member.disk.restore(victim.journal, victim.secrets)
        member.site.folder = victim.folder.copy()
        study = self.world._make_study(member)
        study.start(int(self.world.now))
        return study


@cache
def record_scene() -> Scene:
    """Let four members answer questions, and note each moment at which one of them saved."""
    world = World(4, seed=1)
    victims, frames = list[Victim](), list[tuple[str, bytes]]()
    member = world.members[ME]
    deliver, save = world._deliver, member.disk.save

    def note_frame(sender: str, to: str, frame: bytes) -> None:
        if to == ME:
            frames.append((sender, frame))
        deliver(sender, to, frame)

    def note_save(change: Save) -> None:
        save(change)
        victims.append(
            Victim(member.disk.journal.copy(), dict(member.disk.secrets), member.site.folder.copy())
        )

    world._deliver, member.disk.save = note_frame, note_save  # type: ignore[method-assign]
    world.run(8.0)
    for number, rounds in enumerate((1, 3, 1)):
        world.ask(name_of(number), Layout("risk" if number else "open", rounds))
    world.run(world.now + 10.0)
    world.add_batch(ME)
    world.leave(name_of(3))
    world.run(world.now + 10.0)
    member.disk.save = save  # type: ignore[method-assign]
    return Scene(world, victims, frames)


def twist_record(frame: bytes, chance: random.Random) -> bytes:
    """Change a record inside a frame, and let its member, or another, sign that."""
    message = decode_frame(frame)
    if not isinstance(message, Give):
        return twist(frame, chance)
    contents = list(message.records)
    at = chance.randrange(len(contents))
    try:
        record = decode(twist(contents[at], chance))
    except BadRecord:
        contents[at] = mutate(contents[at], chance)
    else:
        signers = [name_of(2), STRANGER] if record.member == ME else [record.member, name_of(2)]
        contents[at] = encode(sign(record, chance.choice(signers)))
    return encode_frame(Give(tuple(contents)))


def fuzz_study(frames: int, seed: int) -> Counter[str]:
    """Send this many mutated frames to a member at many moments; count the outcomes."""
    chance, scene, verdicts = random.Random(seed), record_scene(), Counter[str]()
    genuine = set(scene.world.auditor.records)
    study, left = scene.start(chance.choice(scene.victims)), MOST_ANSWERED
    for number in range(frames):
        sender, frame = chance.choice(scene.frames)
        kind = chance.random()
        if kind < 0.35:
            frame = mutate(frame, chance)
        elif kind < 0.6:
            frame = twist(frame, chance)
        elif kind < 0.9:
            frame = twist_record(frame, chance)
        if chance.random() < 0.2:
            sender = chance.choice([name_of(0), name_of(2), ME, STRANGER])
        before = None if number % LOOKED_AT else look(study)
        actions = study.receive(sender, frame, int(scene.world.now))
        verdict = judge(actions, genuine)
        if before is not None and verdict != "saved" and look(study) != before:
            raise Violated(f"changed by {frame!r}, and not written down")
        verdicts[verdict] += 1
        left -= 1
        if verdict == "saved" or not left:
            study, left = scene.start(chance.choice(scene.victims)), MOST_ANSWERED
    return verdicts


def look(study: Study) -> object:
    """Return all that an operator sees of a study."""
    return study.members, study.proposals, study.questions, study.halted


def judge(actions: Actions, genuine: set[bytes]) -> str:
    """Return what a member did with a frame; raise `Violated` if that is not allowed."""
    sent = [one for one in actions if isinstance(one, Send)]
    if len(sent) > MOST_SENT or sum(len(one.frame) for one in sent) > MOST_BYTES:
        raise Violated(f"a frame that {len(sent)} follow")
    saves = [one for one in actions if isinstance(one, Save)]
    saved = [decode(kept.content) for one in saves for kept in one.records]
    for record in saved:
        check_saved(record, genuine)
    return "saved" if saves else "answered" if sent else "ignored"


def check_saved(record: AnyRecord, genuine: set[bytes]) -> None:
    """Check that a saved record was signed by its member, honest or not."""
    is_signed = record.signature == seal(record.member, payload_of(record))
    if digest_of(record) not in genuine and not is_signed:
        raise Violated(f"a record that nobody has signed: {record}")

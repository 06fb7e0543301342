"""Records and frames that a liar, or anybody with access to its machine, can make by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from msgspec.structs import replace

from pairgossip.study.protocol.records import (
    AnyRecord,
    MemberList,
    Question,
    digest_of,
    encode,
    payload_of,
)
from pairgossip.study.protocol.spreading import Give, encode_frame
from pairgossip.study.protocol.study import Progress
from tests.peer.contexts import seal
from tests.study.sites import Layout
from tests.study.world import World

R = TypeVar("R", bound=AnyRecord)


def sign(record: R, signer: str | None = None) -> R:
    """Sign a record as its member does, or as another member does in its name."""
    unsigned = replace(record, signature=b"")
    return replace(unsigned, signature=seal(signer or record.member, payload_of(unsigned)))


def change(record: R, **fields: Any) -> R:
    """Let the member of a record say something else instead."""
    return sign(replace(record, **fields))


def make_study(size: int, seed: int = 0, **more: Any) -> World:
    """Make a study on a network without faults, whose list exists."""
    world = World(size, seed, **more)
    world.run(world.now + 8.0)
    assert all(list_of(world, name).ids == tuple(world.members) for name in world.members)
    return world


def list_of(world: World, name: str) -> MemberList:
    study = world.members[name].study
    assert study is not None
    assert study.members is not None
    return study.members


def view_of(world: World, name: str, question: bytes) -> Progress | None:
    study = world.members[name].study
    assert study is not None
    return study.question(question)


def ask(world: World, name: str, layout: Layout, **more: Any) -> bytes:
    """Ask a question, and return its name."""
    before = set(said(world, Question))
    world.ask(name, layout, **more)
    (question,) = set(said(world, Question)) - before
    return digest_of(question)


def forge_question(world: World, member: str, **fields: Any) -> Question:
    """Return a question that a member signs by hand."""
    given = {
        "member": member,
        "list": list_of(world, member).digest,
        "number": 1,
        "text": Layout("risk").text,
        "expires": 10**6,
        **fields,
    }
    return sign(Question(**given))


def inject(world: World, sender: str, receivers: Iterable[str], *records: AnyRecord) -> None:
    """Let a member send records that it has made by hand."""
    world.liars.add(sender)
    for to in receivers:
        for record in records:
            world._deliver(sender, to, encode_frame(Give((encode(record),))))


def said(world: World, kind: type[R], about: bytes | Question | None = None) -> list[R]:
    """Return the records of a kind that honest members have sent, about all questions or one."""
    name = digest_of(about) if isinstance(about, Question) else about
    return [
        one
        for one in world.auditor.records.values()
        if isinstance(one, kind) and name in (None, getattr(one, "question", b""))
    ]

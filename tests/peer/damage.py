"""Damage to the files of a killed peer's state, of every kind that a disk or a person can cause.

A damaged state must be restored bit for bit or be refused; no other state may be accepted.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.peer.protocol.messages import FIRST_GENERATION, Record
from pairgossip.peer.protocol.state import Node, Outcome, Pending, Save, State
from pairgossip.peer.storage.journal import SqliteJournal
from pairgossip.peer.storage.journal_file import export

NAMES = ("state.sqlite", "state.sqlite-wal", "state.sqlite-shm", "state.witness")
Files = Mapping[str, bytes]
Damage = Callable[[bytes, random.Random], bytes | None]
SAME, REFUSED = "same", "refused"


class Accepted(AssertionError):
    """A damaged state was taken for a sound one."""


def some_node(chance: random.Random, row: int) -> Node:
    value, mass = (chance.random(),), (chance.gauss(0, 1), chance.random())
    return Node(
        Record(chance.choice("ab"), row, FIRST_GENERATION, value, chance.randbytes(64)),
        mass,
        (1.0,),
    )


def history(folder: Path, seed: int, saves: int = 40) -> tuple[list[Files], State]:
    """Save random states; return the files as a kill leaves them after each, and the last state.

    In every second history the log is written back into the database in between.
    """
    chance = random.Random(seed)
    journal = SqliteJournal(folder / NAMES[0])
    rows = chance.choice((3, 40))
    nodes = tuple(some_node(chance, row) for row in range(rows))
    state = State(FIRST_GENERATION, seq=0, nodes=nodes, pending={}, outcomes={}, exchanges=0)
    found: list[Files] = []
    try:
        journal.note({"peer": "ann", "data": "rows", "draw_seed": "17"})
        journal.save(Save(state, sync=True, everything=True))
        for step in range(saves):
            state, change = changed(state, chance, step)
            journal.save(change)
            if seed % 2 and step == saves // 2:
                journal._base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            found.append(contents(folder))
        if seed % 3 == 2:
            journal.close()
            found.append(contents(folder))
    finally:
        journal.close()
    return found, state


def changed(state: State, chance: random.Random, step: int) -> tuple[State, Save]:
    """Return the next state, and the save that writes it."""
    nodes = list(state.nodes)
    touched = tuple(chance.sample(range(len(nodes)), chance.randint(0, 3)))
    for row in touched:
        nodes[row] = some_node(chance, row)
    who = chance.choice((None, "bob", "cid"))
    outcomes = dict(state.outcomes)
    if who is not None:
        outcomes[who] = Outcome(step, None, reason="busy")
    pending = {"bob": Pending(step, 0)} if chance.random() < 0.5 else {}
    later = replace(
        state,
        seq=state.seq + 1,
        nodes=tuple(nodes),
        outcomes=outcomes,
        pending=pending,
        exchanges=step,
    )
    return later, Save(later, chance.random() < 0.6, touched, who)


def contents(folder: Path) -> Files:
    files = {name: folder / name for name in NAMES}
    return {name: file.read_bytes() for name, file in files.items() if file.exists()}


def put(folder: Path, files: Files) -> None:
    for name in NAMES:
        (folder / name).unlink(missing_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def flipped(content: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 20))):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def noisy(content: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content))
    noise = chance.randbytes(min(chance.choice((1, 8, 512, 4096)), len(content) - at))
    return content[:at] + noise + content[at + len(noise) :]


def zeroed(content: bytes, chance: random.Random) -> bytes:
    size = chance.choice((16, 512, 4096))
    at = chance.randrange(len(content)) // size * size
    part = content[at : at + size]
    return content[:at] + bytes(len(part)) + content[at + len(part) :]


def cut(content: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content))
    return content[: at if chance.random() < 0.5 else at // 4096 * 4096]


def longer(content: bytes, chance: random.Random) -> bytes:
    return content + chance.choice((chance.randbytes(100), bytes(4096), content[-4096:]))


def pages_swapped(content: bytes, chance: random.Random) -> bytes:
    pages = [content[at : at + 4096] for at in range(0, len(content), 4096)]
    i, j = chance.randrange(len(pages)), chance.randrange(len(pages))
    pages[i], pages[j] = pages[j], pages[i]
    return b"".join(pages)


def gone(content: bytes, chance: random.Random) -> None:
    return None


DAMAGES: tuple[Damage, ...] = (flipped, noisy, zeroed, cut, longer, pages_swapped, gone)


def damaged(snapshots: list[Files], chance: random.Random) -> tuple[str, Files]:
    """Damage one file of the last snapshot, or replace it by an older version."""
    files = dict(snapshots[-1])
    name = chance.choice([name for name in files if files[name]])
    if chance.random() < 0.2:
        older = chance.choice(snapshots[:-1])
        files.pop(name)
        files |= {name: older[name]} if name in older else {}
        return f"{name}: an older one", files
    damage = chance.choice(DAMAGES)
    content = damage(files.pop(name), chance)
    return f"{name}: {damage.__name__}", files if content is None else {**files, name: content}


def judged(folder: Path, files: Files, state: State) -> str:
    """Open files as a starting peer does; return whether the state is the same or refused."""
    put(folder, files)
    path = folder / NAMES[0]
    try:
        export(path)  # as a reader does
        journal = SqliteJournal(path, create=False)
        try:
            found, about = journal.load(), journal.about()
        finally:
            journal.close()
    except InputError as problem:
        if "\n" in str(problem):
            raise Accepted(f"not one sentence: {problem}") from None
        if durable(contents(folder)) != durable(files):
            raise Accepted(f"refused, but not left as it was: {problem}") from None
        return REFUSED
    if found != state or about != {"peer": "ann", "data": "rows", "draw_seed": "17"}:
        raise Accepted("another state")
    return SAME


def durable(files: Files) -> Files:
    """Return all files but the log's index, which every start rebuilds, and an empty log."""
    return {name: content for name, content in files.items() if content and name != NAMES[2]}


def sweep(folder: Path, seeds: range, each: int) -> Counter[str]:
    """Damage copies of some histories, and count the outcomes."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        made, copy = folder / f"{seed}", folder / f"{seed}-copy"
        made.mkdir()
        copy.mkdir()
        snapshots, state = history(made, seed)
        if judged(copy, snapshots[-1], state) != SAME:
            raise Accepted(f"seed {seed}: nothing was damaged, and it was refused")
        for number in range(each):
            chance = random.Random(f"{seed} {number}")
            what, files = damaged(snapshots, chance)
            try:
                counts[judged(copy, files, state)] += 1
            except Accepted as problem:
                raise Accepted(f"seed {seed}, damage {number} ({what}): {problem}") from None
    return counts

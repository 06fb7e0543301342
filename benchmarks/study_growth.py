"""How much a study's frames, memory and start grow with the questions that were answered.

    python -m benchmarks.study_growth --members 3 --questions 1000

Members run in one process, on disks in memory. Prints after 1, 100, 300, ... questions: bytes of
the frame that a contact sends to one other member, seconds of a question at all members together,
seconds and MiB (tracemalloc) of a start from what a member has saved, and the size of that.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc

from pairgossip.study.protocol.site import Kept, Send, State
from pairgossip.study.protocol.study import Study
from tests.study.fakes import Node, ask, exchange, found, keys_of

STEPS = (1, 100, 300, 1_000, 3_000, 10_000)


def main() -> int:
    """Ask one question after the other, and print the sizes and times."""
    options = _options()
    nodes = found(options.members)
    print("questions  frame B  s/question  start s  start MiB  notes KiB  records  secrets")
    began, last = time.perf_counter(), 0
    for number in range(1, options.questions + 1):
        name = ask(nodes[number % len(nodes)], text=f"column {number}")
        exchange(nodes, contacts=2)
        if any(one.study.archived[name].kind != "done" for one in nodes):
            return 1
        if number in STEPS:
            each = (time.perf_counter() - began) / (number - last)
            _print(nodes, number, each)
            began, last = time.perf_counter(), number
    return 0


def _print(nodes: list[Node], number: int, each: float) -> None:
    node = nodes[0]
    frames = [len(one.frame) for one in node.study.contact(1) if isinstance(one, Send)]
    seconds, size = _start(node)
    notes = sum(len(name) + len(content) for name, content in node.notes.items()) / 1024
    kept = f"{notes:9.1f}  {len(node.records):7}  {len(node.secrets):7}"
    print(f"{number:9}  {max(frames):7}  {each:10.4f}  {seconds:7.3f}  {size:9.2f}  {kept}")


def _start(node: Node) -> tuple[float, float]:
    """Return the seconds of a start, and the MiB that are held after another one."""
    began = time.perf_counter()
    _make(node)
    seconds = time.perf_counter() - began
    tracemalloc.start()
    study = _make(node)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del study
    return seconds, size / 2**20


def _make(node: Node) -> Study:
    """Start a member from copies of what it has saved, as from a disk."""
    records = tuple(Kept(bytes(bytearray(one.content))) for one in node.records.values())
    notes = {name: bytes(bytearray(content)) for name, content in node.notes.items()}
    state = State(records, dict(node.secrets), notes)
    study = Study(node.card, keys_of(node.number), node.site, state)
    study.start(1)
    return study


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--questions", type=int, default=1_000)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

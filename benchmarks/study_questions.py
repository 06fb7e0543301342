"""How soon real members of a study answer, how their memory grows, and what a killed one costs.

    python -m benchmarks.study_questions --peers 5 --questions 50 --kills 10

Members are processes over TLS on this machine that accept by policy. Prints the seconds from `ask`
to the result that all have signed, one question after the other, the growth of a peer's memory and
the size of its record; then the same for questions that are all asked at once while one peer is
killed repeatedly. Every question is about a different column, unless there are fewer columns: then
tables answer the others, and only signatures are sent. Exits with 1 if one is not answered, or if
results of members differ.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from pairgossip.field import Asked
from tests.study.real import Site, running, until

PATIENCE = 600.0
LOOKS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Numbers of questions after which memory is measured."""
SETTLE = 2.0
"""Seconds until a peer has released memory that it does not need."""
SPEC = """\
kernel = "auc"
columns = ["{name}"]
label = "died"
[ranges]
{name} = [0, 1]
died = [0, 1]
"""


def main() -> int:
    """Measure, and return 1 if a question is not answered."""
    options = _options()
    with (
        tempfile.TemporaryDirectory(prefix="pairgossip-study-") as above,
        _study(Path(above), options) as sites,
    ):
        _ask_in_a_row(sites, options.questions, min(options.columns, options.questions))
        return int(not _ask_at_once(sites, options))


@contextlib.contextmanager
def _study(folder: Path, options: _Options) -> Iterator[Sequence[Site]]:
    """Create a study, and run it."""
    names = [f"c{k}" for k in range(min(options.columns, options.questions) + options.together)]
    sites = []
    for k in range(options.peers):
        source = folder / f"hospital-{k}.csv"
        _write_rows(source, k, names, options.rows)
        site = Site(folder, f"hospital-{k}", k, source=source)
        site.set(_policy(names))
        sites.append(site)
    for name in names:
        (folder / f"{name}.toml").write_text(SPEC.format(name=name))
    for site in sites:
        site.run("join", "--yes", *(str(other.invitation) for other in sites))
    with running(sites):
        until(lambda: all(one.has_members(len(sites)) for one in sites), "a list", PATIENCE)
        yield sites


def _write_rows(path: Path, seed: int, names: Sequence[str], rows: int) -> None:
    generator = np.random.default_rng(seed)
    died = np.arange(rows) % 2
    scores = np.clip(generator.normal(0.4 + 0.2 * died, 0.15, (len(names), rows)), 0, 1)
    table = np.vstack([scores.round(4), died]).T
    header = ",".join([*names, "died"])
    np.savetxt(path, table, fmt="%.4f", delimiter=",", header=header, comments="")


def _policy(names: Sequence[str]) -> str:
    ranges = "".join(f"{name} = [0, 1]\n" for name in [*names, "died"])
    return f'[policy]\naccept = "by-policy"\nmost_columns = 1000\n[ranges]\n{ranges}'


def _ask_in_a_row(sites: Sequence[Site], count: int, columns: int) -> None:
    """Ask one question after the other, each by another member."""
    time.sleep(SETTLE)
    times, memory, worked = [], sites[0].memory(), sites[0].work()
    print(f"{len(sites)} peers: memory of the first {memory / 1e6:.1f} MB at its start", flush=True)
    for k in range(count):
        site = sites[k % len(sites)]
        began = time.monotonic()
        asked = site.peer.ask(site.folder.parent / f"c{k % columns}.toml").wait(PATIENCE)
        times.append(time.monotonic() - began)
        assert asked.result.rows
        if k + 1 in LOOKS or k + 1 == count:
            time.sleep(SETTLE)
            grown = (sites[0].memory() - memory) / 1e6
            record = sites[0].record() / 1e6
            print(f"after {k + 1}: {grown:+.1f} MB, its record {record:.1f} MB", flush=True)
    first, rest = times[0], times[1:] or times
    print(
        f"{count} questions in a row: signed by all after {first:.2f} s at first, then "
        f"{statistics.median(rest):.2f} s (median), {max(rest):.2f} s at most; a peer works "
        f"{(sites[0].work() - worked) / count:.2f} s for a question, idle moments included"
    )


def _ask_at_once(sites: Sequence[Site], options: _Options) -> bool:
    """Ask many at once, kill one peer repeatedly, and return whether all are answered."""
    chance = random.Random(7)
    victim, others = sites[-1], sites[:-1]
    began, asked = time.monotonic(), list[Asked]()
    for k in range(options.together):
        site = others[k % len(others)]
        asked.append(
            site.peer.ask(
                site.folder.parent / f"c{min(options.columns, options.questions) + k}.toml"
            )
        )
    for _ in range(options.kills):
        time.sleep(chance.uniform(0.1, options.pause))
        victim.kill()
        victim.start()
    for one in asked:
        one.wait(PATIENCE)
    taken = time.monotonic() - began
    names = {one.status.name: one.result for one in asked}
    until(lambda: all(_has(site, names) for site in sites), "answers at all", PATIENCE)
    alike = all(
        site.peer.question(name).result == it for name, it in names.items() for site in sites
    )
    shown = [one.question for one in victim.peer.disclosed(verify=True) if one.event == "shown"]
    once = all(shown.count(name) == 1 for name in names)
    print(
        f"{len(asked)} questions at once, a peer killed {options.kills} times: all answered after "
        f"{taken:.1f} s, {'alike' if alike else 'DIFFERENTLY'} at all members, shown "
        f"{'once each' if once else 'MORE THAN ONCE'} by the one that was killed"
    )
    return alike and once


def _has(site: Site, names: Mapping[str, object]) -> bool:
    known = {one.status.name: one for one in site.peer.questions()}
    return all(name in known and known[name].status.is_done for name in names)


class _Options(argparse.Namespace):
    peers: int
    rows: int
    questions: int
    columns: int
    together: int
    kills: int
    pause: float


def _options() -> _Options:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=int, default=5)
    parser.add_argument("--rows", type=int, default=200, help="of each peer")
    parser.add_argument("--questions", type=int, default=50, help="one after the other")
    parser.add_argument("--columns", type=int, default=1000, help="that these are about, at most")
    parser.add_argument("--together", type=int, default=20, help="questions at once")
    parser.add_argument("--kills", type=int, default=10, help="of one peer meanwhile")
    parser.add_argument("--pause", type=float, default=4.0, help="seconds between kills, at most")
    return parser.parse_args(namespace=_Options())


if __name__ == "__main__":
    sys.exit(main())

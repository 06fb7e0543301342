"""Print how far off honest nodes are where others lie or messages get lost.

    python -m benchmarks.liars
    python -m benchmarks.liars --part sketches --seeds 3

All parts estimate Gini's mean difference of 676 normal numbers. The median is over honest nodes and
then over seeds, each of which draws its own numbers, network, exchanges and liars; "worst" is the
seed with the largest median over honest nodes. All errors are in percent of the exact value; nan
means that some honest node has no estimate yet.

    liars     GoSta and clipped GoSta with 1 and 7 liars, every attack, three graphs; how many in
              1,000 honest nodes are off by more than 10 % with clipped GoSta; the median error of
              collecting signed rows, which a liar can only spoil by a wrong row of its own
    sketches  the same for averaged sketches and clipped ones
    kernels   clipped GoSta on heavy tails, rare classes and ranks, on the small world
    lost      exchanges that are lost entirely, as our peers lose them, and on one side

Seeds and settings were fixed before the first run; the rules were chosen on others. A line ends
with "!" if the error of the method that is to withstand liars is neither a tenth of the other's nor
at most twice its own without liars.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import pairgossip as pg
from benchmarks.blocks import add_options, do_all
from pairgossip.arrays import FloatArray
from pairgossip.graphs import Graph

NODES, FIRST_SEED = 676, 310_000
EXCHANGES = (100_000, 1_000_000)
LARGEST_NEAR_ERROR = 0.1
"""Relative error beyond which an honest node is far off."""
ATTACKS = ("constant", "sign", "inside-the-clip", "dissensus")
GRAPHS: dict[str, Callable[[int], Graph]] = {
    "small world": lambda seed: pg.graphs.watts_strogatz(NODES, k=4, p=0.3, seed=seed),
    "torus": lambda _: pg.graphs.torus(26, 26),
    "geometric": lambda seed: pg.graphs.build("random-geometric", NODES, seed=seed),
}


def _scores(rng: np.random.Generator, rate: float) -> FloatArray:
    labels = (np.arange(NODES) < rate * NODES).astype(np.float64)
    return np.column_stack([rng.normal(size=NODES) + labels, labels])


def _ranks(rng: np.random.Generator) -> FloatArray:
    x = rng.normal(size=NODES)
    return np.column_stack([x, 0.5 * x + rng.normal(size=NODES)])


DATA: dict[str, tuple[str, Callable[[np.random.Generator], FloatArray]]] = {
    "gini, normal": ("gini", lambda rng: rng.normal(size=NODES)),
    "gini, lognormal": ("gini", lambda rng: rng.lognormal(sigma=1.2, size=NODES)),
    "gini, Student's t, 3": ("gini", lambda rng: rng.standard_t(3, size=NODES)),
    "variance, normal": ("variance", lambda rng: rng.normal(size=NODES)),
    "auc, 30 % positive": ("auc", lambda rng: _scores(rng, 0.3)),
    "auc, 3 % positive": ("auc", lambda rng: _scores(rng, 0.03)),
    "kendall, normal": ("kendall", _ranks),
}
_USUAL = "gini, normal"


class Errors(NamedTuple):
    """Relative errors of honest nodes, per seed and number of exchanges."""

    median: FloatArray
    far: FloatArray
    """The share of honest nodes that are far off."""


@functools.cache
def measure(
    method: str, graph: str, faults: str | None, seeds: int, data: str = _USUAL,
    exchanges: tuple[int, ...] = EXCHANGES,
) -> Errors:  # fmt: skip
    """Run a method once for every seed."""
    kernel, draw = DATA[data]
    medians, far = [], []
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        run = pg.estimate(
            draw(np.random.default_rng(seed)),
            kernel,
            GRAPHS[graph](seed),
            clock="async",
            method=method,
            iterations=exchanges[-1],
            checkpoints=exchanges,
            record="nodes",
            faults=faults,
            seed=seed,
        )
        assert run.history is not None
        honest = np.arange(NODES) if run.honest is None else run.honest
        off = np.abs(run.history[0][:, honest] / run.target - 1)
        # Collecting stops by itself: its last error holds from then on.
        off = np.concatenate([off, np.repeat(off[-1:], len(exchanges) - len(off), axis=0)])
        medians.append(np.median(off, axis=1))
        far.append(np.mean(~(off <= LARGEST_NEAR_ERROR), axis=1))
    return Errors(np.array(medians), np.array(far))


class Setting(NamedTuple):
    """Liars on a network, where an unprotected method is compared with a protected one."""

    methods: tuple[str, str]
    graph: str
    data: str
    liars: int
    attack: str


def lines(setting: Setting, seeds: int) -> str:
    """Measure a setting; return a line for each number of exchanges."""
    faults = f"liars={setting.liars}, attack={setting.attack}" if setting.liars else None
    lied, alone = (
        [measure(m, setting.graph, how, seeds, setting.data) for m in (*setting.methods, "collect")]
        for how in (faults, None)
    )
    protected = lied[1]
    shown = []
    for at, exchanges in enumerate(EXCHANGES):
        *both, collected = (float(np.median(one.median[:, at])) for one in lied)
        without = [float(np.median(one.median[:, at])) for one in alone]
        # For NaN, which is no protection, both comparisons are false.
        is_good = both[1] <= max(both[0] / 10, 2 * without[1])
        worst = float(protected.median[:, at].max())
        name = setting.graph if setting.data == _USUAL else setting.data
        shown.append(
            f"{name:<22}{setting.liars:>2} {setting.attack if setting.liars else 'none':<16}"
            f"{exchanges:>9,}{_percent(both[0]):>10}{_percent(both[1]):>9}{_percent(worst):>9}"
            f"{_percent(without[0]):>9}{_percent(without[1]):>9}"
            f"{1000 * float(np.mean(protected.far[:, at])):>7.1f}"
            f"{_percent(collected):>9}{'' if is_good else ' !'}"
        )
    return "\n".join(shown)


def _percent(part: float) -> str:
    return f"{100 * part:.3g}" if 100 * part < 1e4 else f"{100 * part:.0e}"


def settings(part: str) -> list[Setting]:
    """Return the settings of a part, for each network or data those without liars first."""
    methods = ("sketch", "clipped-sketch") if part == "sketches" else ("gosta", "clipped-gosta")
    places = [(graph, _USUAL) for graph in GRAPHS]
    if part == "kernels":
        places = [("small world", data) for data in DATA if data != _USUAL]
    cases = [(0, ATTACKS[0]), *((liars, attack) for liars in (1, 7) for attack in ATTACKS)]
    return [Setting(methods, *place, *case) for place in places for case in cases]


LOST = (
    None, "loss=0.01", "loss=0.1", "churn=100/10", "half_loss=0.001", "half_loss=0.01",
    "half_loss=0.1",
)  # fmt: skip
LOSING = ("gosta", "weighted-gosta", "clipped-gosta", "tracking", "sketch", "clipped-sketch")
_DECADES = (10_000, 100_000, 1_000_000)


def lost_line(method: str, faults: str | None, seeds: int) -> str:
    """Return the line of a method with messages that get lost."""
    found = measure(method, "small world", faults, seeds, exchanges=_DECADES).median
    numbers = "".join(f"{_percent(float(error)):>10}" for error in np.median(found, axis=0))
    return f"{method:<16}{faults or 'none':<18}{numbers}{_percent(float(found[:, -1].max())):>10}"


def _study(part: str, seeds: int, number: int) -> str:
    if part == "lost":
        cases = [(method, faults) for method in LOSING for faults in LOST]
        return lost_line(*cases[number], seeds)
    return lines(settings(part)[number], seeds)


HEADINGS = (
    f"{'':<41}{'':>9}{'liars':>10}{'':>9}{'':>9}{'none':>9}\n{'':<25}{'attack':<16}{'exchanges':>9}"
    f"{'plain':>10}{'clipped':>9}{'worst':>9}{'plain':>9}{'clipped':>9}{'far':>7}{'collect':>9}"
)
LOST_HEADINGS = (
    f"{'method':<16}{'faults':<18}" + "".join(f"{at:>10,}" for at in _DECADES) + "     worst"
)


def main() -> None:
    """Print the parts that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ("liars", "sketches", "kernels", "lost")
    parser.add_argument("--part", choices=parts, action="append", help="all unless given")
    parser.add_argument("--seeds", type=int, default=5)
    add_options(parser)
    options = parser.parse_args()
    for part in options.part or parts:
        print(f"\n{part}\n{LOST_HEADINGS if part == 'lost' else HEADINGS}", flush=True)
        count = len(LOSING) * len(LOST) if part == "lost" else len(settings(part))
        work = functools.partial(_study, part, options.seeds)
        numbers = range(options.start_seed, count)
        do_all(work, numbers, options.jobs, lambda _, shown: print(shown, flush=True), "settings")


if __name__ == "__main__":
    main()

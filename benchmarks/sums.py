"""What real peers take to compute masked sums, and that nothing disturbs them.

    python -m benchmarks.sums [auc] [many] [line] [learning]

- auc: the AUC of 5 peers with 50,000 rows each, from the start of the first process;
- many: 64 peers on this machine;
- line: 3 peers on a line that learn, the middle one killed and started again ten times before it
  has all sums: the same bits;
- learning: Breast Cancer Wisconsin dealt to 5 peers, and how far their model is from the best.

Each ends with an audit of all disks. Ends with 1 if one of them failed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import pairgossip as pg
from pairgossip.cli.swarm.sums_report import verdict
from pairgossip.swarm.plan import Plan, kernel_spec, make_plan
from pairgossip.swarm.running import Report, SwarmOptions, run_swarm
from pairgossip.swarm.sums_audit import SumsAudit
from tests.swarm.lines import copy_line, make_line, run_line
from tests.swarm.plans import cancer_loss, cancer_plan, income_sums_plan

LONGEST = 300.0


def main() -> int:
    """Run what is asked for; return 1 if something is not as it must be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="*", choices=[*PARTS, []], help="all unless given")
    parser.add_argument("--peers", type=int, default=64, help="of 'many'")
    parser.add_argument("--rows", type=int, default=50_000, help="of each peer of 'auc'")
    options = parser.parse_args()
    failed = 0
    for name in options.what or PARTS:
        with tempfile.TemporaryDirectory(prefix="pairgossip-sums-") as folder:
            print(f"{name}:", flush=True)
            failed += not PARTS[name](Path(folder), options)
    return 1 if failed else 0


def _run(plan: Plan, folder: Path) -> Report:
    options = SwarmOptions(seconds=LONGEST)
    report = run_swarm(plan, folder / "swarm", options, lambda *_: None)
    taken = "never" if report.result_after is None else f"{report.result_after:.1f} s"
    rows = sum(map(len, plan.rows))
    print(f"  {len(plan.names)} peers, {len(plan.links)} links, {rows:,} rows in all")
    print(f"  result at all peers after {taken} from the start of the first")
    print(f"  {report.cpu_starting + report.cpu_seconds:.1f} s of processor time in all")
    if report.memory is not None:
        resident, shared = (size / 1e6 for size in report.memory)
        print(f"  {resident:.0f} MB per peer, {shared:.0f} MB with shared pages divided")
    assert isinstance(report.books, SumsAudit)
    result = report.books.result
    if result is not None and result.value is not None and result.interval is not None:
        low, high = result.interval
        print(f"  value {result.value:.6g}, 95 %: {low:.6g} to {high:.6g}")
    for problem in (*report.books.violations, *report.failures):
        print(f"  problem: {problem}")
    print(f"  Verdict: {verdict(report)}", flush=True)
    return report


def _auc(folder: Path, options: argparse.Namespace) -> bool:
    peers, random = 5, np.random.default_rng(0)
    labels = random.integers(0, 2, peers * options.rows).astype(float)
    scores = 1 / (1 + np.exp(-random.normal(labels, 1.0)))
    table = np.column_stack([scores, labels])
    text = kernel_spec("auc", ["score"], "ill", table, rate=None)
    rows = tuple(map(tuple, table.tolist()))
    graph = pg.graphs.complete(peers)
    return _run(make_plan(text, rows, graph, peers, seed=0), folder).is_sound


def _many(folder: Path, options: argparse.Namespace) -> bool:
    graph = pg.graphs.watts_strogatz(options.peers, k=4, p=0.3, seed=0)
    return _run(income_sums_plan(options.peers, 20 * options.peers, graph), folder).is_sound


def _line(folder: Path, options: argparse.Namespace) -> bool:
    homes = make_line(cancer_plan(3, pg.graphs.path(3)), folder / "line")
    (folder / "copy").mkdir()
    copies = copy_line(homes, folder / "copy")
    calm, _ = run_line(copies, kills=0)
    disturbed, held = run_line(homes, kills=10)
    for problem in (*calm.violations, *disturbed.violations):
        print(f"  problem: {problem}")
    print(f"  contributions that the middle held at its kills: {', '.join(map(str, held))}")
    print(f"  of {3 * calm.rounds} in all, in {calm.rounds} rounds")
    same = calm.result is not None and calm.result == disturbed.result
    print(f"  the same result as undisturbed, bit for bit: {'yes' if same else 'NO'}", flush=True)
    return same and calm.is_sound and disturbed.is_sound


def _learning(folder: Path, options: argparse.Namespace) -> bool:
    report = _run(cancer_plan(5), folder)
    assert isinstance(report.books, SumsAudit)
    result = report.books.result
    if result is None or result.model is None:
        return False
    features, labels = pg.datasets.breast_cancer_wisconsin()
    best = pg.minimize(
        features, labels, loss="auc-logistic", method="sketch", tolerance=1e-12, engine="plain"
    )
    above = cancer_loss(np.array(result.model)) - cancer_loss(best.model)
    print(f"  {result.rounds} sums; {above:.1e} above the optimum", flush=True)
    return report.is_sound and above < 1e-5


PARTS: dict[str, Callable[[Path, argparse.Namespace], bool]] = {
    "auc": _auc,
    "many": _many,
    "line": _line,
    "learning": _learning,
}

if __name__ == "__main__":
    sys.exit(main())

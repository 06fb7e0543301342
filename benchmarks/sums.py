"""How long real members of a study take to answer, and that faults do not disturb them.

    python -m benchmarks.sums [auc] [many] [chaos] [learning]

- auc: the AUC of 5 members with 50,000 rows each;
- many: 32 members on this machine;
- chaos: 5 members that are killed, frozen and cut off meanwhile, while one leaves and one joins;
- learning: Breast Cancer Wisconsin dealt to 5 members, and how far their model is from the best.

Each ends with an audit of all folders. Exits with 1 if one of them failed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.cli.swarm.study_report import list_facts, verdict
from pairgossip.swarm.chaos import Faults, usual_faults
from pairgossip.swarm.running import Report, SwarmOptions, run_swarm
from pairgossip.swarm.study_audit import StudyAudit
from pairgossip.swarm.study_plan import plan_study
from pairgossip.tables import read_columns

LONGEST = 300.0


def main() -> int:
    """Run the parts asked for; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="*", choices=[*PARTS, []], help="all unless given")
    parser.add_argument("--peers", type=int, default=32, help="of 'many'")
    parser.add_argument("--rows", type=int, default=50_000, help="of each member of 'auc'")
    options = parser.parse_args()
    failed = 0
    for name in options.what or PARTS:
        with tempfile.TemporaryDirectory(prefix="pairgossip-sums-") as folder:
            print(f"{name}:", flush=True)
            failed += not PARTS[name](Path(folder), options)
    return 1 if failed else 0


def _run(
    folder: Path,
    columns: dict[str, FloatArray],
    texts: list[str],
    peers: int,
    faults: Faults | None = None,
    **more: int,
) -> Report[StudyAudit]:
    """Deal rows to members who answer; print the times and outcomes."""
    file = folder / "rows.csv"
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    file.write_text("\n".join(lines) + "\n")
    named = [(f"question {number}", text) for number, text in enumerate(texts, 1)]
    plan = plan_study(named, read_columns(file, ()), peers, 0, **more)
    options = SwarmOptions(seconds=LONGEST, faults=faults)
    report = run_swarm(plan, folder / "swarm", options, lambda *_: None)
    for name, fact in list_facts(report, plan):
        print(f"  {name}: {fact}")
    for problem in (*report.books.violations, *report.failures):
        print(f"  problem: {problem}")
    print(f"  Verdict: {verdict(report)}", flush=True)
    return report


def _auc(folder: Path, options: argparse.Namespace) -> bool:
    random = np.random.default_rng(0)
    ill = random.integers(0, 2, 5 * options.rows)
    score = 1 / (1 + np.exp(-random.normal(ill, 1.0)))
    text = _spec('kernel = "auc"', ["score"], {"score": (0, 1), "ill": (0, 1)}, "ill")
    return _run(folder, {"score": score, "ill": ill}, [text], 5).is_sound


def _many(folder: Path, options: argparse.Namespace) -> bool:
    income = np.random.default_rng(3).uniform(1, 99, 20 * options.peers)
    text = _spec('kernel = "gini"', ["income"], {"income": (0, 100)})
    return _run(folder, {"income": income}, [text], options.peers).is_sound


def _chaos(folder: Path, options: argparse.Namespace) -> bool:
    columns = np.random.default_rng(4).uniform(1, 99, (4, 600))
    named = dict(zip("abcd", columns, strict=True))
    texts = [_spec('kernel = "gini"', [name], {name: (0, 100)}) for name in named]
    faults = usual_faults(45.0)
    return _run(folder, named, texts, 5, faults, joins=1, leaves=1).is_sound


def _learning(folder: Path, options: argparse.Namespace) -> bool:
    features, labels = pg.datasets.breast_cancer_wisconsin()
    columns = {f"x{k}": column for k, column in enumerate(features.T)}
    ranges = {**dict.fromkeys(columns, (1.0, 10.0)), "y": (0.0, 1.0)}
    text = _spec('loss = "auc-logistic"', list(columns), ranges, "y")
    report = _run(folder, {**columns, "y": labels}, [text], 5)
    result = report.books.answers[0].result
    if result.model is None:
        return False
    best = pg.minimize(
        features, labels, loss="auc-logistic", method="sketch", tolerance=1e-12, engine="plain"
    )
    above = _loss(np.array(result.model)) - _loss(best.model)
    print(f"  {result.rounds} sums; {above:.1e} above the optimum", flush=True)
    return report.is_sound and above < 1e-5


def _loss(model: FloatArray) -> float:
    """Return the loss of a model over all cases, as members minimize it."""
    features, labels = pg.datasets.breast_cancer_wisconsin()
    scores = features @ model
    margins = np.subtract.outer(scores[labels == 1], scores[labels == 0])
    return float(np.logaddexp(0, -margins).sum()) / len(labels) ** 2


def _spec(
    measure: str, columns: list[str], ranges: dict[str, tuple[float, float]], label: str = ""
) -> str:
    """Return the text of a specification."""
    lines = [measure, f"columns = {columns}", *([f'label = "{label}"'] if label else [])]
    return "\n".join([*lines, "[ranges]", *(f"{name} = {[*it]}" for name, it in ranges.items())])


PARTS: dict[str, Callable[[Path, argparse.Namespace], bool]] = {
    "auc": _auc,
    "many": _many,
    "chaos": _chaos,
    "learning": _learning,
}

if __name__ == "__main__":
    sys.exit(main())

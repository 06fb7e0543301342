"""Six real peers validate a score: the time it takes, and whether their page follows from counts.

    python -m benchmarks.validation_peers [--rows 50000] [--page result.html]

Each peer is a process with its own rows: probabilities of a rare outcome, in two groups. Printed
are the seconds from the question until all peers have the result that all have signed; how many
figures of the published file are recomputed from its counts; and how many of their brackets hold
the values of `pg.validate` for all rows together. Exits with 1 if one does not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.cli.swarm.study_report import verdict
from pairgossip.peer.result_page import write_page
from pairgossip.peer.signed_report import add_report, recompute
from pairgossip.peer.signed_result import check_signed, read_signed, write_signed
from pairgossip.study.service.reading import StudyReading
from pairgossip.swarm.running import SwarmOptions, run_swarm
from pairgossip.swarm.study_plan import plan_study
from pairgossip.tables import read_columns
from pairgossip.validation import validate

PEERS = 6
LONGEST = 300.0
GOAL = 15.0
"""Seconds from the question to the result on an idle machine."""
THRESHOLDS = (0.05, 0.1, 0.2)
SPEC = f"""
report = "validation"
columns = ["risk"]
label = "died"
thresholds = {[*THRESHOLDS]}
by = "sex"
groups = ["f", "m"]
heterogeneity = true
[ranges]
risk = [0, 1]
died = [0, 1]
"""
_SLACK = 1e-9
"""Rounding error allowed at a bracket's ends."""


def draw_rows(rows: int, seed: int = 0) -> FloatArray:
    """Draw risks that are slightly too extreme, outcomes and groups."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, rows)
    logit = rng.normal(-2.6, 1.1, rows)
    died = rng.random(rows) < 1 / (1 + np.exp(-(0.85 * logit - 0.1 + 0.2 * sex)))
    return np.column_stack([1 / (1 + np.exp(-logit)), died, sex])


def list_brackets(figures: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every number that has a bracket, with its path."""
    if isinstance(figures, list):
        figures = {str(number): one for number, one in enumerate(figures)}
    if not isinstance(figures, Mapping):
        return
    if "bracket" in figures and "value" in figures:
        yield ".".join(place), figures
        return
    for name, one in figures.items():
        yield from list_brackets(one, (*place, name))


def compare(told: Any, rows: FloatArray) -> tuple[int, list[str]]:
    """Return how many brackets hold the values of all rows, and those that do not."""
    risk, died, sex = rows.T
    groups = np.array(["f", "m"])[sex.astype(int)]
    exact = validate(risk, died, by=groups, thresholds=THRESHOLDS).to_dict()
    known, missed, held = dict(list_brackets(exact)), [], 0
    for name, one in list_brackets(told):
        if name not in known or ".difference" in name or "calibration.bins" in name:
            continue
        low, high = one["bracket"]
        value = known[name]["value"]
        if value is None or low is None:
            continue
        if low - _SLACK <= value <= high + _SLACK:
            held += 1
        else:
            missed.append(f"{name}: {value:.6g} is not between {low:.6g} and {high:.6g}")
    return held, missed


def main() -> int:
    """Run the peers and check what they publish; return 1 if a check fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000, help="of each peer")
    parser.add_argument("--page", type=Path, help="where to write the page")
    options = parser.parse_args()
    rows = draw_rows(PEERS * options.rows)
    with tempfile.TemporaryDirectory(prefix="pairgossip-validation-") as name:
        folder = Path(name)
        file = folder / "rows.csv"
        lines = (f"{risk!r},{died:g},{'fm'[int(sex)]}" for risk, died, sex in rows.tolist())
        file.write_text("\n".join(["risk,died,sex", *lines, ""]))
        plan = plan_study([("validation", SPEC)], read_columns(file, ()), PEERS, 0)
        report = run_swarm(plan, folder / "swarm", SwarmOptions(seconds=LONGEST), lambda *_: None)
        print(f"{PEERS} peers with {options.rows:,} rows each: {verdict(report)}")
        if not report.books.answers or report.books.answers[0].seconds is None:
            return 1
        print(
            f"signed result at all peers {report.books.answers[0].seconds:.1f} s after the question"
        )
        print(f"(the goal is {GOAL:g} s on a quiet machine)")
        reading = StudyReading(folder / "swarm" / plan.names[0])
        begun = time.perf_counter()
        signed = add_report(reading.result(1), reading.table(1))
        write_signed(signed, folder / "result.json")
        write_page(signed, options.page or folder / "result.html")
        print(f"file and page written in {time.perf_counter() - begun:.1f} s")
        begun = time.perf_counter()
        check_signed(folder / "result.json").require_all()
        found = recompute(read_signed(folder / "result.json"), "result.json")
        size = (folder / "result.json").stat().st_size
    assert found is not None and signed.report is not None
    sites = signed.result.heterogeneity
    assert sites is not None, "whether sites agree is part of the question"
    print(f"all {found.figures:,} figures computed anew, {time.perf_counter() - begun:.1f} s")
    print(f"the file has {size:,} bytes")
    held, missed = compare(signed.report, rows)
    print(f"{held} numbers of all rows lie in their brackets, {len(missed)} do not")
    for line in missed:
        print(f"  {line}")
    return 1 if missed or not held or not report.is_sound else 0


if __name__ == "__main__":
    sys.exit(main())

"""Peers that run under privacy: what they converge to, what they send, and what a kill leaves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.cli import main
from pairgossip.peer.estimates.errors import errors_of, population_error, readout_of
from pairgossip.peer.estimates.privacy_noise import _largest_variances, bound_noise
from pairgossip.peer.service.assembly import read_snapshot
from pairgossip.peer.specification.spec import Spec, parse_spec
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home
from pairgossip.privacy import DebiasedLoss, RandomizedResponse, moments
from pairgossip.swarm.plan import Plan, make_plan
from pairgossip.swarm.running import SwarmOptions, run_swarm

from ..swarm.brisk import use_brisk_peers
from .homes import AUC, GINI, Pair, debiased_kernel_of, introduce_each_other, make_home
from .test_privacy_init import RAW, traces

PRIVATE = GINI + "[privacy]\nepsilon = 3\nbins = 4\n"
DRAWS = 1500
PRIVATE_AUC = AUC + "[privacy]\nepsilon = 4\nbins = 3\nclasses = [0, 1]\n"


def debiased_value(spec: Spec, homes: list[Home]) -> float:
    """Return the statistic over all reports, pair by pair."""
    kernel = debiased_kernel_of(spec)
    reports = np.array([row for home in homes for row in home.read_rows()])
    n = len(reports)
    total = np.zeros(kernel.components)
    for i in range(n):
        for j in range(n):
            if i == j:
                total += kernel.own(reports[[i]])[0] if spec.target == "v" else 0.0
            else:
                total += kernel.values(reports[[i]], reports[[j]])[0]
    return spec.value(total / (n * n if spec.target == "v" else n * (n - 1)))


def naive_value(spec: Spec, homes: list[Home]) -> float:
    """Return the statistic if a report is paired with itself as with any other."""
    kernel = debiased_kernel_of(spec)
    flat = kernel.mechanism.flat([row for home in homes for row in home.read_rows()])
    return spec.value(kernel.tables[:, flat][:, :, flat].mean(axis=(1, 2)))


def spread_of_reports(spec: Spec, homes: list[Home]) -> float:
    """Return the standard error of the statistic over reports, from their influences."""
    kernel = debiased_kernel_of(spec)
    reports = np.array([row for home in homes for row in home.read_rows()])
    n = len(reports)
    table = np.array([kernel.values(reports[[k] * n], reports)[:, 0] for k in range(n)])
    np.fill_diagonal(table, kernel.own(reports)[:, 0] if spec.target == "v" else 0.0)
    table *= 1.0 if spec.target == "v" else n / (n - 1)
    added = (table + table.T).mean(axis=1) - 2 * table.mean()
    return float(np.sqrt(added @ added / (n * (n - 1))))


@pytest.mark.parametrize(("target", "mixing"), [("v", "weighted"), ("u", "paper")])
def test_two_peers_find_the_value_of_the_reports(
    tmp_path: Path, target: str, mixing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PRIVATE.replace("[ranges]", f'target = "{target}"\nmembers = 6\n[ranges]')
    text = f'algorithm.mixing = "{mixing}"\n{text}'
    homes = [make_home(tmp_path, "ann", RAW[:3], text), make_home(tmp_path, "bob", RAW[3:], text)]
    for home in homes:
        home.peer.write_text(home.peer.read_text().replace("true", "false"))  # no waiting for disks
    introduce_each_other(homes)
    pair = Pair(homes, saves_at_end=True)
    frames: list[bytes] = []
    for k in range(2000):
        pair.ask(k % 2)
        while pair._frames:
            sender, to, frame = pair._frames.popleft()
            frames.append(frame)
            pair.running[to].received(sender, frame, pair.now)
    pair.close()
    spec = parse_spec(text)
    expected = debiased_value(spec, homes)
    scale = np.abs(debiased_kernel_of(spec).tables).max()
    for home in homes:
        seen = read_snapshot(home)
        (found,) = seen.status().estimate or (np.nan,)
        assert abs(found - expected) < 0.015 * scale
        errors = errors_of(seen.context, seen.state, None, seen.members.names())
        assert errors.sampling_interval is None, "six such reports are too few"
        with monkeypatch.context() as patch:
            patch.setattr(moments, "MOST_NOISE", 1.0)
            errors = errors_of(seen.context, seen.state, None, seen.members.names())
        total = population_error(seen.context, seen.state, readout_of(seen.context, seen.state))
        assert total is not None
        # Reports are redrawn each time, and two thousand exchanges show their spread roughly.
        assert total == pytest.approx(spread_of_reports(spec, homes), rel=0.25)
        assert errors.privacy_error is not None and errors.sampling_interval is not None
        rest = total**2 - errors.privacy_error**2
        known = pytest.approx(rest**0.5) if rest > 0 else None
        assert errors.sampling_error == known
        low, high = errors.sampling_interval
        assert low < found < high and high - low > 3.9 * total, "it allows for both"
    assert abs(naive_value(spec, homes) - expected) > 0.02 * scale
    sent = b"".join(frames)
    assert len(frames) > 2000
    for file in [file for home in homes for file in home.folder.rglob("*") if file.is_file()]:
        sent += file.read_bytes()
    for value in RAW:
        assert not any(trace in sent for trace in traces(value))


def private_plan(text: str, table: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Plan:
    rows = tuple(tuple(map(float, row)) for row in table)
    return make_plan("algorithm.rate = 200.0\n" + text, rows, pg.graphs.cycle(3), 3, seed=1)


def test_three_real_peers_find_the_auc_of_the_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_brisk_peers(monkeypatch)
    chance = np.random.default_rng(5)
    label = np.arange(12) % 2.0
    score = np.clip(0.35 * label + 0.6 * chance.random(12), 0.0, 1.0).round(6)
    plan = private_plan(PRIVATE_AUC, np.column_stack([score, label]))
    folder = tmp_path / "swarm"
    options = SwarmOptions(seconds=60.0, exchanges=1000, power_safe=False)
    report = run_swarm(plan, folder, options, lambda *_: None)
    assert report.is_sound, (report.books.violations, report.failures)
    assert report.refused == 0
    homes = [Home(folder / f"peer-0{k}") for k in (1, 2, 3)]
    expected = debiased_value(parse_spec(plan.text), homes)
    for finding in report.books.findings:
        assert finding.estimate is not None
        assert finding.estimate[0] == pytest.approx(expected, abs=0.06)
    seen = read_snapshot(homes[0])
    assert seen.status().privacy is not None
    errors = errors_of(seen.context, seen.state, None, ())
    assert errors.privacy_error is not None and errors.privacy_error > 0
    for file in folder.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert not any(traces(one)[1] in content for one in score.tolist()), file
            assert not any(repr(one).encode() in content for one in score.tolist()), file


# The noise of reports


def spread_of(spec: Spec, cells: np.ndarray[tuple[int], np.dtype[np.int64]], n: int) -> float:
    """Return the standard error of the debiased statistic of given cells, by simulation."""
    kernel = debiased_kernel_of(spec)
    mechanism, chance = kernel.mechanism, np.random.default_rng(11)
    counts = draw_counts(mechanism, mechanism.representatives[cells], chance)
    pairs = np.einsum("ti,cij,tj->tc", counts, kernel.tables, counts)
    pairs -= counts @ np.diagonal(kernel.tables, axis1=1, axis2=2).T
    if spec.target == "v":
        pairs += counts @ kernel.own_values.T
    pairs /= n * n if spec.target == "v" else n * (n - 1)
    return float(np.std([spec.value(row) for row in pairs]))


def draw_counts(
    mechanism: RandomizedResponse, values: FloatArray, chance: np.random.Generator
) -> FloatArray:
    """Draw the reports of rows many times, and count those of each cell."""
    reports = mechanism.randomize(np.concatenate([values] * DRAWS), chance)
    flat = mechanism.flat(reports).reshape(DRAWS, len(values))
    return (flat[:, :, None] == np.arange(mechanism.cells)).sum(axis=1).astype(float)


def test_two_peers_learn_a_model_from_reports(tmp_path: Path) -> None:
    """A plain loop over all pairs of reports gives the same, with the same regularization."""
    text = """
algorithm.name = "exchange"
loss = "auc-logistic"
columns = ["income"]
label = "class"
[ranges]
income = [0, 1]
class = [0, 1]
[learning]
step = 2.0
l2 = 0.5
[privacy]
epsilon = 6
bins = 3
classes = [0, 1]
"""
    homes = []
    for name, first in (("ann", 0), ("bob", 4)):
        (tmp_path / f"{name}.toml").write_text(text)
        rows = [((k + 0.5) / 8, (k // 2) % 2) for k in range(first, first + 4)]
        lines = [f"{income},{label}" for income, label in rows]
        (tmp_path / f"{name}.csv").write_text("\n".join(["income,class", *lines, ""]))
        spec_file, data = tmp_path / f"{name}.toml", tmp_path / f"{name}.csv"
        homes.append(create_home(tmp_path / name, name, spec_file, data, power_safe=False))
    for home in homes:
        home.peer.write_text(home.peer.read_text().replace("0.0.0.0", "127.0.0.1"))
    introduce_each_other(homes)
    pair = Pair(homes, saves_at_end=True)
    for k in range(3000):
        pair.ask(k % 2)
        pair.deliver()
    pair.close()
    expected = minimizer(parse_spec(text), homes)
    for home in homes:
        (found,) = read_snapshot(home).status().estimate or (np.nan,)
        assert found == pytest.approx(expected, abs=0.006)
    result = tmp_path / "model.json"
    assert main(["peer", "result", "--home", str(homes[0].folder), "--out", str(result)]) == 0
    assert json.loads(result.read_text())["classes"] == [0.0, 1.0]


def minimizer(spec: Spec, homes: list[Home]) -> float:
    """Return where the mean debiased gradient and that of the penalty cancel, by bisection."""
    loss, learning = spec.debiased, spec.learning
    assert isinstance(loss, DebiasedLoss) and learning is not None
    l2 = learning.l2 or 0.0
    reports = np.array([row for home in homes for row in home.read_rows()])
    n = len(reports)
    first, second = np.repeat(reports, n, axis=0), np.tile(reports, (n, 1))
    others = ~np.eye(n, dtype=bool).ravel()

    def slope(theta: float) -> float:
        model = np.array([theta])
        total = loss.gradient(model, first[others], second[others]).sum()
        return float(total + loss.own(model, reports).sum()) / n**2 + 2 * l2 * theta

    low, high = -10.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return (low + high) / 2


@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize("rounding", ["bins", "stochastic"])
def test_the_bound_holds_and_is_reached(target: str, rounding: str) -> None:
    said = f'target = "{target}"\nmembers = 40\n[ranges]'
    spec = parse_spec(PRIVATE.replace("[ranges]", said) + f'rounding = "{rounding}"\n')
    kernel = debiased_kernel_of(spec)
    bound = bound_noise(kernel, 40, target, np.ones(1))
    assert bound is not None
    cases = [np.zeros(40, int), np.arange(40) % 4, np.arange(40) % 2 * 3, np.full(40, 2)]
    found = [spread_of(spec, cells, 40) for cells in cases]
    assert max(found) < bound * (1 + 4 / np.sqrt(2 * DRAWS))
    if rounding == "bins":
        assert max(found) > 0.9 * bound  # where all rows are alike
    else:
        halfway = 100 / 6  # between two points, so that rounding adds all it can
        mechanism, chance = kernel.mechanism, np.random.default_rng(2)
        counts = draw_counts(mechanism, np.full(40, halfway), chance)
        table = kernel.tables[0]
        pairs = np.einsum("ti,ij,tj->t", counts, table, counts) - counts @ np.diagonal(table)
        told = pairs / (40 * 39)
        assert np.std(told) < bound * (1 + 4 / np.sqrt(2 * DRAWS))


def test_the_noise_of_a_quotient_is_bounded_where_it_is_known() -> None:
    spec = parse_spec(PRIVATE_AUC)
    kernel = debiased_kernel_of(spec)
    cells = np.arange(600) % 6
    counts = np.bincount(cells).astype(float) / 600
    averages = np.einsum("i,cij,j->c", counts, kernel.cell_tables, counts)
    bound = bound_noise(kernel, 600, "v", averages)
    assert bound is not None
    assert 0.2 * bound < spread_of(spec, cells, 600) < bound
    assert bound_noise(kernel, 600, "v", np.full(2, np.nan)) is None
    assert bound_noise(kernel, 600, "v", np.zeros(2)) is None
    assert bound_noise(kernel, 1, "v", averages) is None


def test_slopes_are_rounded_where_it_does_not_matter() -> None:
    kernel = debiased_kernel_of(parse_spec(PRIVATE_AUC))
    for ratio in (0.505, 0.949, 0.1049):
        averages = np.array([ratio, 1.0])
        slopes = kernel.kernel.slopes(averages)
        alone, paired, own = _largest_variances(kernel, tuple(slopes.tolist()))
        exact = np.sqrt(4 * alone / 600 + 2 * paired / (600 * 599)) * 599 / 600
        exact += np.sqrt(own / 600) / 600
        assert bound_noise(kernel, 600, "v", averages) == pytest.approx(exact, rel=3e-3)

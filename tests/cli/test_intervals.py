"""Sampling errors and intervals on the command line, and the name of each error."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import root_mean_square
from pairgossip.tables import read_columns

from .running import CommandLine

RUN = ("--column", "income", "--kernel", "gini", "--iterations", 4000, "--trials", 2, "--jobs", 1)
SAMPLING = (
    r"sampling error [\d.]+ \(90 %: ([\d.]+) to ([\d.]+)\): how far these rows may be from the "
    "population; falls with rows only\n"
)
GOSSIP = (
    r"gossip error ([\d.]+): how far nodes still are from the value of these rows; falls with "
    "messages\n"
)


def income(file: Path) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return read_columns(file, ["income"]).numbers("income")


def test_estimate_tells_both_errors_apart(cli: CommandLine, incomes: Path, tmp_path: Path) -> None:
    saved, table = tmp_path / "run.npz", tmp_path / "run.csv"
    outputs = ("--save", saved, "--csv", table)
    answer = cli("estimate", incomes, *RUN, "--interval", 0.9, *outputs)
    assert answer.code == 0
    found = re.search(SAMPLING + GOSSIP, answer.out)
    assert found is not None
    run = pg.load(saved)
    assert isinstance(run, pg.Run) and run.answer is not None and run.gossip_error is not None
    low, high, gossip = map(float, found.groups())
    assert (low, high) == pytest.approx((run.answer.low, run.answer.high), rel=0.02)
    assert gossip == pytest.approx(root_mean_square(run.gossip_error), rel=0.01)
    assert {"sampling_error", "gossip_error"} <= set(read_columns(table, ()).header)


def test_what_is_added_for_rows_not_seen_is_told(cli: CommandLine, incomes: Path) -> None:
    how = ("--graph", "cycle", "--interval", 0.9)
    answer = cli("estimate", incomes, *RUN[:4], *how, "--iterations", 200)
    assert re.search(r"\nwidened by \d+ %: allows for rows that have not come around", answer.out)
    assert "widen it by " in answer.err
    assert "widened" not in cli("estimate", incomes, *RUN, "--interval", 0.9).out
    assert cli("estimate", incomes, *RUN, *how, "--json").json()["widening"] >= 1


def test_a_run_ends_when_it_is_enough(cli: CommandLine, incomes: Path) -> None:
    how = ("--method", "tracking", "--clock", "async", "--until", "Enough", "--iterations", "1e5")
    answer = cli("estimate", incomes, *RUN[:4], "--trials", 1, *how)
    assert re.search(r"enough after [\d,]+ iterations", answer.out) and not answer.err.strip()
    short = cli("estimate", incomes, *RUN[:4], "--trials", 1, *how[:-1], 100)
    assert "of its sampling error: use --iterations 400 or more.\n" in short.err


def test_sites_and_private_reports_have_errors_of_their_own(
    cli: CommandLine, incomes: Path
) -> None:
    grouped = cli("estimate", incomes, *RUN, "--group-by", "class", "--interval", 0.9)
    assert "\nsampling error by site " in grouped.out
    private = cli("estimate", incomes, *RUN, "--epsilon", 4, "--range", "0,9", "--interval", 0.9)
    lines = [line.partition(" ")[0] for line in private.out.splitlines() if " error " in line]
    assert "noise of private reports " in private.out and lines.count("gossip") == 1
    assert re.search(r"\nsampling error [\d.]+: how far", private.out)  # without an interval
    assert re.search(
        r"\nsampling error and noise together, 90 %: -?[\d.]+ to [\d.]+\n", private.out
    )


SCORES = "first,second,ill,ward\n" + "".join(
    f"{k * k % 17},{k * 5 % 11},{'yes' if k % 17 > 7 else 'no'},{k % 4}\n" for k in range(40)
)


ILL = ("--label", "ill", "--positive", "yes")


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    file = tmp_path / "scores.csv"
    file.write_text(SCORES)
    return file


def test_exact_adds_lines_for_the_sampling_error(cli: CommandLine, scores: Path) -> None:
    asked = ("exact", scores, "--kernel", "auc", "--column", "first", *ILL)
    lines = cli(*asked, "--interval", 0.9, "--group-by", "ward").out.splitlines()
    table = read_columns(scores, ())
    data, labels = table.numbers("first"), [one == "yes" for one in table.text("ill")]
    by_row = pg.exact(data, "auc", labels=labels, interval=0.9)
    by_site = pg.exact(data, "auc", labels=labels, interval=0.9, groups=table.numbers("ward"))
    assert float(lines[0]) == by_row.value and len(lines) == 3
    assert lines[1].startswith(f"sampling error {by_row.error:.3g} ({str(by_row)[7:-17]}): how far")
    assert lines[2].startswith(f"sampling error by site {by_site.error:.3g} (")
    message = "Groups change the error of a statistic, not its value: give --interval 0.95 too."
    assert cli(*asked, "--group-by", "ward").err.endswith(f"Error: {message}\n")


def test_two_scores_are_compared(cli: CommandLine, scores: Path) -> None:
    columns = ("--column", "first,second", "--label", "ill", "--classes", "no,yes")
    asked = ("test", scores, "--kernel", "auc-difference", *columns, "--group-by", "ward")
    found = cli(*asked, "--alternative", "Greater", "--json").json()
    table = read_columns(scores, ["first", "second"])
    labels, data = [one == "yes" for one in table.text("ill")], table.matrix()
    expected = pg.test(data, "auc-difference", labels=labels, alternative="greater")
    names = ("value", "error", "z", "p", "null")
    assert [found[name] for name in names] == pytest.approx([*expected, 0.0])
    assert found["alternative"] == "greater"
    wards = table.numbers("ward")
    by_site = pg.exact(data, "auc-difference", labels=labels, groups=wards, interval=0.95)
    assert found["by_site"]["interval"] == pytest.approx([by_site.low, by_site.high], rel=1e-9)
    shown = cli(*asked).out
    assert "rows drawn" in shown and f"{expected.z:.4g}" in shown


def test_tests_by_ranks_have_no_interval(cli: CommandLine, scores: Path) -> None:
    asked = ("test", scores, "--kernel", "Mann_Whitney", "--column", "first", *ILL)
    found = cli(*asked, "--json").json()
    table = read_columns(scores, ())
    labels = [one == "yes" for one in table.text("ill")]
    expected = pg.test(table.numbers("first"), "mann-whitney", labels=labels)
    assert (found["z"], found["p"]) == (expected.z, expected.p)
    assert found["interval"] is None and "interval" not in cli(*asked).out
    assert cli.error(*asked, "--interval", 95).startswith("The level of an interval")


def test_a_test_of_order_names_its_law(cli: CommandLine, tmp_path: Path) -> None:
    file, separated = tmp_path / "few.csv", tmp_path / "separated.csv"
    file.write_text("x,ill\n1,0\n2,0\n4,1\n3,0\n5,1\n2.5,1\n")
    separated.write_text("x,ill\n1,0\n2,0\n4,1\n5,1\n")
    asked = ("--column", "x", "--label", "ill", "--kernel", "auc")
    found, expected = (
        cli("test", file, *asked, "--json").json(),
        pg.test([1, 2, 4, 3, 5, 2.5], "auc", labels=[0, 0, 1, 0, 1, 1]),
    )
    names = ("value", "error", "z", "p", "law", "null_error", "level", "reason")
    assert [found[name] for name in names] == [getattr(expected, name) for name in names]
    assert found["interval"] == list(expected.interval) and found["law"] == "exact"
    assert "p comes from" in cli("test", file, *asked).out
    found = cli("test", separated, *asked, "--json").json()
    assert found["p"] == pytest.approx(1 / 3) and found["error"] is found["interval"] is None
    shown = " ".join(cli("test", separated, *asked).out.split())
    assert "no interval" in shown and "standard error" not in shown.split("no interval")[0]


def test_a_null_may_be_below_zero(cli: CommandLine, scores: Path) -> None:
    asked = ("test", scores, "--kernel", "kendall", "--column", "first,second")
    found = cli(*asked, "--null", "-0.25", "--json").json()
    assert found["null"] == -0.25 and found["z"] > cli(*asked, "--json").json()["z"]
    message = "The value of 'gini' without an effect is not known: give it with --null."
    assert cli.error("test", scores, "--kernel", "gini", "--column", "first") == message
    assert cli.error(*asked, "--alternative", "above").startswith("Unknown alternative 'above'")


def test_files_are_one_sample_for_tests_by_ranks(
    cli: CommandLine, scores: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.csv"
    other.write_text(SCORES.replace("yes", "?").replace("no", "yes").replace("?", "no"))
    asked = ("--column", "first", *ILL, "--json")
    for kernel in ("mann-whitney", "energy-distance"):
        found = cli("test", scores, other, "--kernel", kernel, *asked).json()
        assert found["by_site"] is None and 0 < found["p"] <= 1
    assert cli("test", scores, other, "--kernel", "auc", *asked).json()["by_site"] is not None
    twice = cli.error("exact", scores, other, *asked[:2], "--kernel", "gini", "--group-by", "ward")
    assert twice.startswith("Each of the 2 files is a site: leave --group-by out")


def test_weights_that_are_not_counts_allow_for_groups_only(
    cli: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "survey.csv"
    header, *rows = SCORES.splitlines()
    weighed = [f"{row},{0.5 + k % 3}" for k, row in enumerate(rows)]
    file.write_text("\n".join([f"{header},weight", *weighed]))
    asked = (file, "--column", "first", *ILL, "--kernel", "auc", "--weight", "weight")
    lines = cli("exact", *asked, "--interval", 0.9, "--group-by", "ward").out.splitlines()
    assert len(lines) == 2 and lines[1].startswith("sampling error by site ")
    shown = cli("test", *asked, "--group-by", "ward").out
    assert "sites drawn whole" in shown and "rows drawn" not in shown
    alone = cli("exact", *asked, "--interval", 0.9).err
    assert "Error: Weights that are not whole numbers" in alone

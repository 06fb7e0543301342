"""The report of a time to an event: keys, counts against rows, pages, and recomputed figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.peer.reports.figures import list_figures
from pairgossip.peer.result_page import write_page
from pairgossip.peer.signed_report import add_report, recompute
from pairgossip.peer.signed_result import SignedResult, check_signatures, read_signed, write_signed
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.sums.statistics import cells_of
from tests.cli.running import CommandLine
from tests.peer.signing import SignedTable
from tests.peer.test_reports import study

SURVIVAL = """
report = "survival"
columns = ["days"]
label = "status"
classes = ["alive", "died"]
by = "arm"
groups = ["drug", "placebo"]
thresholds = [365, 90]
[ranges]
days = [0, 1000]
"""
EVENTS = SURVIVAL.replace('classes = ["alive", "died"]\n', "").replace(
    "days = [0, 1000]", "days = [0, 1000]\nstatus = [0, 1]"
)
ALONE = SURVIVAL.replace('by = "arm"\ngroups = ["drug", "placebo"]\n', "")


def draw(members: int = 4, rows: int = 600, seed: int = 3) -> list[np.ndarray]:
    """Draw whole days, events and arms of patients who are followed for up to 1,000 days."""
    random, parts = np.random.default_rng(seed), []
    for _ in range(members):
        arm = random.integers(0, 2, rows)
        days, end = random.exponential(500 - 150 * arm), random.uniform(50, 1000, rows)
        parts.append(np.column_stack([np.ceil(np.minimum(days, end)), days <= end, arm]))
    return parts


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> SignedTable:
    return study(tmp_path_factory.mktemp("followed"), SURVIVAL, draw())


def test_it_implies_its_counts_and_cells_end_at_its_times() -> None:
    spec = parse_spec(SURVIVAL)
    assert (spec.kernel, spec.report, spec.thresholds) == ("auc", "survival", (90.0, 365.0))
    places = cells_of(spec).axes[0].places.tolist()
    assert {90.0, 365.0} <= set(places) and (places[0], places[-1]) == (0.0, 1000.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            SURVIVAL.replace("[0, 1000]", "[-1, 1000]"),
            "Times are from 0 on, but ranges.days is [-1, 1000]: begin it at 0 or later.",
        ),
        (
            EVENTS.replace("status = [0, 1]", "status = [1, 2]"),
            "Events are 1 (observed) or 0 (censored), but ranges.status is [1, 2]: recode status, "
            "or list its two classes, the event last.",
        ),
        (
            SURVIVAL.replace("365,", "1200,"),
            "thresholds holds 1200, but ranges.days is [0, 1000]: give numbers between its ends.",
        ),
        (
            'kernel = "shift"\n' + SURVIVAL,
            "report 'survival' is read from the counts of kernel 'auc', not of 'shift': leave "
            "kernel out, or report.",
        ),
    ],
)
def test_bad_keys_get_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as problem:
        parse_spec(text)
    assert str(problem.value) == sentence


def test_counts_hold_what_rows_say(followed: SignedTable) -> None:
    signed = add_report(*followed)
    days, died, arm = np.concatenate(draw()).T
    assert signed.report is not None
    for at, name in enumerate(("drug", "placebo")):
        told, rows = signed.report["curves"][name], arm == at
        (own,) = pg.survival.kaplan_meier(days[rows], died[rows]).curves
        assert (told["rows"], told["events"]) == (rows.sum(), died[rows].sum())
        low, high = told["median"]["bracket"]
        assert low <= own.median.value <= high
        assert [one["time"] for one in told["at"]] == [90, 365]
        for one in told["at"]:
            share = own.at(one["time"], before=True)
            low, high = one["bracket"]
            assert low <= share.survival <= high and high - low < 0.03
            assert one["interval"][0] <= share.interval[0] <= share.interval[1]
            assert one["interval"][1] >= share.interval[1]
    test, own_test = signed.report["test"], pg.survival.log_rank(days, died, by=arm)
    low, high = test["bracket"]
    assert low <= own_test.statistic <= high and test["p_bracket"][0] <= own_test.p


def test_whole_days_that_are_counted_as_they_are_tell_what_rows_do(tmp_path: Path) -> None:
    text = EVENTS.replace("[ranges]", 'whole = ["days"]\nalgorithm.least_cell = 1\n[ranges]')
    signed = add_report(*study(tmp_path, text, draw(rows=60)))
    days, died, arm = np.concatenate(draw(rows=60)).T
    assert signed.report is not None
    own = pg.survival.kaplan_meier(days, died, by=arm).to_dict([90, 365])
    for name, told in zip(("0", "1"), signed.report["curves"].values(), strict=True):
        for one, other in zip(told["at"], own["curves"][name]["at"], strict=True):
            assert one["survival"] == pytest.approx(other["survival"], rel=1e-11)
            assert one["interval"] == pytest.approx(other["interval"], rel=1e-9)
            assert one["bracket"] == pytest.approx([other["survival"]] * 2, rel=1e-9)
    test = pg.survival.log_rank(days, died, by=arm)
    assert signed.report["test"]["statistic"] == pytest.approx(test.statistic, rel=1e-11)


def _read(signed: SignedResult, path: Path) -> SignedResult:
    write_signed(signed, path)
    return read_signed(path)


def test_members_sign_counts_and_no_statistic(followed: SignedTable, tmp_path: Path) -> None:
    signed = _read(add_report(*followed), tmp_path / "r.json")
    check_signatures(signed, "It").require_all()
    result = signed.result
    assert result.value is None and result.bracket is None and result.interval is None
    assert result.question == "survival of days by status, over the rows of all members"
    found = recompute(signed, "It")
    assert found is not None and found.report is not None
    assert found.figures == len([*list_figures(signed.report)]) > 50


def test_any_altered_figure_is_named(followed: SignedTable) -> None:
    signed = add_report(*followed)
    report = json.loads(msgspec.json.encode(signed.report))
    for path in (("curves", "drug", "at", 1, "survival"), ("test", "statistic"), ("level",)):
        altered: Any = json.loads(json.dumps(report))
        part = altered
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] += 1e-6
        with pytest.raises(InputError, match="says otherwise than the counts in it"):
            recompute(replace(signed, report=altered), "It")


def test_the_page_has_curves_and_the_test(followed: SignedTable, tmp_path: Path) -> None:
    write_page(add_report(*followed), tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "<h1>Survival over days, by arm</h1>" in page and "status is died" in page
    assert page.index("Number at risk") < page.index("Share that reaches a time")
    assert page.index("Do the groups fail alike?") < page.index("What left each site")
    assert 'class="value"' not in page and "positive class" not in page
    assert "read the two ends" not in page


def test_strata_and_curves_without_groups(tmp_path: Path) -> None:
    rows = draw(rows=200)
    (tmp_path / "alone").mkdir()
    alone = add_report(*study(tmp_path / "alone", ALONE, [one[:, :2] for one in rows]))
    assert alone.report is not None and alone.report["test"] is None
    assert list(alone.report["curves"]) == ["all rows"] and alone.report["no_test"] == ""
    write_page(alone, tmp_path / "r.html")
    assert "Do the groups fail alike?" not in (tmp_path / "r.html").read_text()
    strata = 'within = "ward"\nstrata = ["n", "s"]\n'
    exact = 'whole = ["days"]\nalgorithm.least_cell = 1\n'
    text = EVENTS.replace("[ranges]", f"{strata}{exact}[ranges]")
    wards = [np.column_stack([one, np.arange(len(one)) % 2]) for one in rows]
    signed = add_report(*study(tmp_path, text, wards))
    days, died, arm, ward = np.concatenate(wards).T
    own = pg.survival.log_rank(days, died, by=arm, within=ward)
    assert signed.report is not None
    assert signed.report["test"]["statistic"] == pytest.approx(own.statistic, rel=1e-11)


def test_few_rows_have_curves_and_the_reason_why_there_is_no_test(tmp_path: Path) -> None:
    signed = add_report(*study(tmp_path, SURVIVAL, draw(rows=40)))
    assert signed.report is not None and signed.report["test"] is None
    assert "does not tell whether groups differ" in signed.report["no_test"]
    assert signed.report["curves"]["drug"]["rows"] > 50
    write_page(signed, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "There is no test: These counts leave" in page and "read the two ends" in page


def test_curves_end_where_few_of_all_members_are_at_risk(tmp_path: Path) -> None:
    rows, ends = np.concatenate(draw(rows=300)), []
    for members in (4, 8):
        folder = tmp_path / str(members)
        folder.mkdir()
        text = ALONE.replace("[ranges]", "algorithm.least_cell = 10\n[ranges]")
        given = [one[:, :2] for one in np.array_split(rows, members)]
        signed = add_report(*study(folder, text, given))
        assert signed.report is not None
        end = signed.report["curves"]["all rows"]["end"]
        assert (rows[:, 0] >= end).sum() >= 10 * members
        ends.append(end)
    assert ends[1] < ends[0]


def test_commands_rehearse_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cli, files = CommandLine(capsys), []
    for number, rows in enumerate(draw(5)):
        lines = [f"{a:g},{('alive', 'died')[int(b)]},{('drug', 'placebo')[int(c)]}"
                 for a, b, c in rows]  # fmt: skip
        files.append(tmp_path / f"{number}.csv")
        files[-1].write_text("\n".join(["days,status,arm", *lines]))
    spec, page = tmp_path / "s.toml", tmp_path / "s.html"
    spec.write_text(SURVIVAL)
    shown = cli("estimate", *files, "--spec", spec, "--html", page).out
    for text in ("survival of days by status", "Share that reaches a time", "Log-rank test"):
        assert text in shown
    assert "auc" not in shown and "What it costs to hide rows" not in shown
    assert "Rehearsal: Survival over days, by arm" in page.read_text()
    told = json.loads(cli("estimate", *files, "--spec", spec, "--json").out)
    assert told["value"] is None and told["report"]["curves"]["drug"]["rows"] > 1000

"""Reports: keys of a specification, pages of signed results, and recomputed figures."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.pages.parts import Paragraph, Part
from pairgossip.peer.reports.catalog import REPORTS
from pairgossip.peer.reports.figures import find_difference, list_figures, plain_figures
from pairgossip.peer.reports.report import Report
from pairgossip.peer.result_page import write_page
from pairgossip.peer.signed_report import add_report, recompute
from pairgossip.peer.signed_result import check_signatures, read_signed, write_signed
from pairgossip.peer.specification.canonical_text import restore_spec
from pairgossip.peer.specification.spec import Spec, parse_spec
from pairgossip.peer.sums.site_sums import SiteSums
from pairgossip.peer.sums.statistics import cells_of, summary_of
from pairgossip.peer.sums.tables import Table, pack_table, read_table
from pairgossip.summaries.summary import Summary
from tests.peer.signing import SignedTable, sign_table_of

VALIDATION = """
report = "validation"
columns = ["risk"]
label = "died"
thresholds = [0.2, 0.1]
by = "sex"
groups = ["f", "m"]
[ranges]
risk = [0, 1]
died = [0, 1]
"""
PLAIN = VALIDATION.replace('report = "validation"', 'kernel = "auc"').replace(
    "thresholds = [0.2, 0.1]\n", ""
)


def draw(members: int = 4, rows: int = 200) -> list[np.ndarray]:
    """Draw risks (some at thresholds), deaths and groups."""
    rng, parts = np.random.default_rng(7), []
    for _ in range(members):
        logit = rng.normal(-1.0, 1.3, rows)
        risk = np.round(1 / (1 + np.exp(-logit)), 2)
        died = rng.random(rows) < 1 / (1 + np.exp(-(1.2 * logit + 0.2)))
        parts.append(np.column_stack([risk, died, rng.integers(0, 2, rows)]))
    return parts


def study(folder: Path, text: str, rows: list[np.ndarray] | None = None) -> SignedTable:
    return sign_table_of(folder, text, rows or draw())


@pytest.fixture(scope="module")
def validated(tmp_path_factory: pytest.TempPathFactory) -> SignedTable:
    return study(tmp_path_factory.mktemp("validated"), VALIDATION)


# Keys.


def test_a_report_implies_its_kernel_and_thresholds_are_put_in_order() -> None:
    spec = parse_spec(VALIDATION)
    assert (spec.kernel, spec.report, spec.thresholds) == ("auc", "validation", (0.1, 0.2))
    written = VALIDATION.replace("[0.2, 0.1]", "[0.1, 2e-1, 0.1]")
    assert parse_spec('kernel = "AUC"\n' + written).hash == spec.hash
    assert restore_spec(spec.text) == spec
    assert '"report":"validation"' in spec.text and "missing" not in spec.text


def test_texts_without_the_new_keys_stay_as_they_were() -> None:
    spec = parse_spec(PLAIN)
    assert not any(key in json.loads(spec.text) for key in ("report", "thresholds", "missing"))
    assert parse_spec('missing = "refuse"\n' + PLAIN).hash == spec.hash
    assert parse_spec('missing = "drop"\n' + PLAIN).hash != spec.hash


NO_GROUPS = VALIDATION.replace('by = "sex"\ngroups = ["f", "m"]\n', "")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (VALIDATION.replace('"validation"', '"validaton"'), "did you mean 'validation'?"),
        (VALIDATION.replace('"validation"', "3"), "report must be a name in quotes, as in"),
        (VALIDATION.replace("0.2,", "1.2,"), "thresholds holds 1.2, but ranges.risk is [0, 1]"),
        (VALIDATION.replace("0.2,", "0,"), "thresholds holds 0, but ranges.risk is [0, 1]"),
        (VALIDATION.replace("0.2,", "nan,"), "thresholds holds nan, but ranges.risk is"),
        (VALIDATION.replace("0.2,", '"a",'), "thresholds must be a number, but it is text"),
        (VALIDATION.replace("[0.2, 0.1]", "0.2"), "thresholds must be a list in brackets"),
        (
            VALIDATION.replace("[0.2, 0.1]", str([k / 20 for k in range(1, 18)])),
            "thresholds: There are at most 15 thresholds, not 17: give fewer.",
        ),
        (
            VALIDATION.replace("0.2,", "0.1000000001,"),
            "thresholds: No threshold, or end of the range, may be as close to the next as 0.1 to",
        ),
        (
            VALIDATION.replace("[ranges]", "[algorithm]\nbins = 2\n[ranges]"),
            "thresholds: 2 thresholds take 4 cells, and here are 2",
        ),
        (
            VALIDATION.replace('report = "validation"', 'kernel = "auc"'),
            'thresholds is for report = "validation": remove it, or ask for that report.',
        ),
        (
            'kernel = "mann-whitney"\n' + VALIDATION,
            "report 'validation' is read from the counts of kernel 'auc', not of 'mann-whitney'",
        ),
        (
            'loss = "auc-logistic"\n' + NO_GROUPS,
            "report is for a kernel, whose columns have cells: remove it.",
        ),
        (
            NO_GROUPS.replace("[ranges]", "[privacy]\nepsilon = 1\n[ranges]"),
            "report and [privacy] do not go together",
        ),
        (
            NO_GROUPS.replace("[ranges]", '[algorithm]\nname = "exchange"\n[ranges]'),
            'report is for algorithm.name = "sums": remove it.',
        ),
        ('missing = "dorp"\n' + PLAIN, "Unknown missing 'dorp': did you mean 'drop'?"),
        (
            'missing = "drop"\nkernel = "auc"\ncolumns = ["risk"]\nlabel = "died"\n[algorithm]\n'
            'name = "exchange"\n[ranges]\nrisk = [0, 1]\ndied = [0, 1]\n',
            'missing is for algorithm.name = "sums": remove it.',
        ),
    ],
)
def test_bad_keys_get_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as problem:
        parse_spec(text)
    assert sentence in str(problem.value) and "\n" not in str(problem.value)


def test_operators_are_told_what_is_left_out_and_handed_on() -> None:
    told = parse_spec('missing = "drop"\n' + VALIDATION).leaves()
    assert any("left out at home, and nobody is told how many" in one for one in told)
    assert any("report, 'validation', whose file holds the counts" in one for one in told)
    assert not any("report" in one or "left out" in one for one in parse_spec(PLAIN).leaves())


# Cells.


@pytest.mark.parametrize(
    ("ends", "thresholds"),
    [
        ("[0, 1]", "[0.05, 0.5]"),
        ("[0.001, 0.3]", "[0.1]"),
        ("[-9, 9]", "[0, 2.5]"),
        ("[1, 1e6]", "[7]"),
    ],
)
def test_what_happens_at_thresholds_is_exact(ends: str, thresholds: str) -> None:
    text = VALIDATION.replace("[0, 1]\ndied", f"{ends}\ndied").replace("[0.2, 0.1]", thresholds)
    spec = parse_spec(text.replace("\n[ranges]", "\nalgorithm.least_cell = 1\n[ranges]"))
    places = cells_of(spec).axes[0].places
    low, high = spec.ranges["risk"]
    assert (places[0], places[-1]) == (low, high)
    assert set(spec.thresholds or ()) <= set(places.tolist())


def test_cells_of_probabilities_are_even_on_the_logit_scale() -> None:
    text = VALIDATION.replace("thresholds = [0.2, 0.1]\n", "")
    for ends, most in (("[0, 1]", 512), ("[0.002, 0.6]", 512), ("[0, 0.05]", 512)):
        places = cells_of(parse_spec(text.replace("[0, 1]\nd", f"{ends}\nd"))).axes[0].places
        steps = np.diff(np.log(places[1:-1] / (1 - places[1:-1])))
        np.testing.assert_allclose(steps, steps.mean(), rtol=1e-3)
        assert most / 2 <= len(places) - 1 <= most
    few = VALIDATION.replace("[0, 1]\nd", "[0.5, 0.500001]\nd").replace("[0.2, 0.1]", "[0.5000005]")
    assert len(cells_of(parse_spec(few)).axes[0].places) == 513


# Results.


def test_every_figure_follows_from_the_signed_counts(
    validated: SignedTable, tmp_path: Path
) -> None:
    signed = add_report(*validated)
    write_signed(signed, tmp_path / "r.json")
    read = read_signed(tmp_path / "r.json")
    check_signatures(read, "It").require_all()
    found = recompute(read, "It")
    assert found is not None and found.report is not None and read.report is not None
    own = ["value", "sampling_error", "interval", "interval", "bracket", "bracket"]
    assert found.figures == len(own) + len([*list_figures(read.report)])
    summary = summary_of(parse_spec(VALIDATION), read_table(validated.table).numbers[1:])
    told = plain_figures(found.report.to_dict())
    assert find_difference(read.report, told) is None
    assert read.result.value == pytest.approx(summary.answer(0.95).value, rel=1e-11)


def _alter(report: Any, place: tuple[str, ...]) -> None:
    *path, last = place
    part = report
    for name in path:
        part = part[int(name) - 1] if isinstance(part, list) else part[name]
    at = int(last) - 1 if isinstance(part, list) else last
    part[at] += 1e-6 * max(abs(part[at]), 1.0)


def test_any_altered_figure_is_named(validated: SignedTable) -> None:
    signed = add_report(*validated)
    assert signed.report is not None
    numbers = [place for place, one in list_figures(signed.report) if isinstance(one, float)]
    assert len(numbers) > 20
    for k, place in enumerate(numbers):
        report = json.loads(msgspec.json.encode(signed.report))
        _alter(report, place)
        found = find_difference(report, signed.report)
        assert found is not None and found[0] == ".".join(place)
        if k % (len(numbers) // 2) == 0:  # which recomputes all of them
            with pytest.raises(InputError, match="says otherwise than the counts") as problem:
                recompute(replace(signed, report=report), "It")
            assert f"({found[0]} is " in str(problem.value)


def test_an_altered_count_threshold_or_result_is_found_out(validated: SignedTable) -> None:
    signed = add_report(*validated)
    table = read_table(validated.table)
    numbers = table.numbers
    numbers[np.flatnonzero(numbers[1:])[0] + 1] += 1
    other = pack_table(validated.table[:32], Table(table.batches, numbers.astype("<i8").tobytes()))
    text = base64.b64encode(other).decode()
    with pytest.raises(InputError, match="table is not the one that members have signed"):
        check_signatures(replace(signed, table=text), "It")
    told = json.loads(signed.result.specification)
    told["thresholds"][0] = 0.15
    changed = replace(signed.result, specification=json.dumps(told))
    with pytest.raises(InputError, match="specification is not that of its hash"):
        check_signatures(replace(signed, result=changed), "It")
    assert signed.result.value is not None
    changed = replace(signed.result, value=signed.result.value + 1e-6)
    with pytest.raises(InputError, match=r"\(value is 0\.[0-9]+ here and 0\.[0-9]+ there\)"):
        recompute(replace(signed, result=changed), "It")
    with pytest.raises(InputError, match="without its counts"):
        recompute(replace(signed, table=None), "It")
    with pytest.raises(InputError, match="lacks the figures of its report, 'validation'"):
        recompute(replace(signed, report=None), "It")
    assert recompute(validated.signed, "It") is None


def _fill(numbers: np.ndarray) -> np.ndarray:
    numbers[1:] = 0
    return numbers


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda numbers: numbers[:-1], "The table is of another form"),
        (lambda numbers: np.append(numbers, 0), "The table is of another form"),
        (lambda numbers: numbers[:0], "The table is of another form"),
        (lambda numbers: -numbers, r"its table is of -[0-9]+ rows"),
        (lambda numbers: numbers * 2**53, "its table is of [0-9,]+ rows"),
        (lambda numbers: np.append(numbers[0], -numbers[1:]), "a negative number of rows"),
        (lambda numbers: np.append(numbers[:1], numbers[1:] * 2**62), "no rows have its table"),
        (_fill, "the cells hold 0 rows, and members have"),
    ],
)
def test_tables_that_no_rows_have_are_refused_whoever_signs_them(
    validated: SignedTable, change: Any, sentence: str
) -> None:
    signed, table = add_report(*validated), read_table(validated.table)
    counts = change(table.numbers.copy()).astype("<i8").tobytes()
    kept = pack_table(validated.table[:32], Table(table.batches, counts))
    with pytest.raises(InputError, match=sentence):
        recompute(replace(signed, table=base64.b64encode(kept).decode()), "It")


def test_a_specification_that_nobody_can_agree_to_has_no_figures(validated: SignedTable) -> None:
    signed = add_report(*validated)
    for key, other in (("label", "age"), ("groups", ["f"]), ("columns", []), ("report", "none")):
        told = json.loads(signed.result.specification) | {key: other}
        changed = replace(signed.result, specification=json.dumps(told))
        with pytest.raises(InputError):
            recompute(replace(signed, result=changed), "It")


def test_sums_over_sites_are_those_of_the_table(validated: SignedTable) -> None:
    signed = add_report(*validated)
    changed = replace(signed.result, heterogeneity=SiteSums(sites=3, without="few"))
    with pytest.raises(InputError, match="sums over sites are not those of its table"):
        recompute(replace(signed, result=changed), "It")


def test_figures_of_a_table_without_a_report_are_computed_too(tmp_path: Path) -> None:
    plain = study(tmp_path, PLAIN)
    signed = add_report(*plain)
    assert signed.report is None
    found = recompute(signed, "It")
    assert found is not None and (found.figures, found.report) == (6, None)
    with pytest.raises(InputError, match="a report that nobody has asked for"):
        recompute(replace(signed, report={"auc": 1.0}), "It")


def test_the_page_shows_the_report_where_the_file_holds_counts(
    validated: SignedTable, tmp_path: Path
) -> None:
    write_page(add_report(*validated), tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "<h1>Validation of risk, by died</h1>" in page and page.count("<svg") >= 1
    assert page.index("<svg") < page.index("What left each site")
    write_page(validated.signed, tmp_path / "plain.html")
    assert "<svg" not in (tmp_path / "plain.html").read_text()


def test_one_class_gives_a_report_that_says_so(tmp_path: Path) -> None:
    rows = draw()
    for one in rows:
        one[:, 1] = 0
    text = VALIDATION.replace("\n[ranges]", "\nalgorithm.least_cell = 1\n[ranges]")
    signed = add_report(*study(tmp_path, text, rows))
    assert signed.result.value is None and signed.report is not None
    assert recompute(signed, "It") is not None
    write_page(signed, tmp_path / "r.html")


# A user's own report.


class Deaths(NamedTuple):
    """The number of rows with each label."""

    counts: dict[str, Any]

    def parts(self) -> Iterable[Part]:
        return [Paragraph(f"{self.counts['died']} of {self.counts['rows']} died.")]

    def to_dict(self) -> dict[str, Any]:
        return self.counts


class DeathsReport(Report):
    name = "deaths"
    kernels = ("shift", "auc")

    def title(self, spec: Spec) -> str:
        return "Deaths"

    def check(self, spec: Spec) -> None:
        if spec.by is not None:
            raise InputError("report 'deaths' is of all rows: remove by.")

    def read(self, summary: Summary, spec: Spec, sites: int) -> Deaths:
        died = int(summary.blocks_of(0).by_class[1].sum())
        return Deaths({"died": died, "rows": np.int64(summary.rows), "odds": math.inf})


def test_a_report_is_one_entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(REPORTS, "deaths", DeathsReport())
    text = NO_GROUPS.replace("validation", "deaths").replace("thresholds = [0.2, 0.1]\n", "")
    with pytest.raises(InputError, match='thresholds is for report = "validation"'):
        parse_spec(NO_GROUPS.replace("validation", "deaths"))
    with pytest.raises(InputError, match="report 'deaths' is of all rows: remove by"):
        parse_spec(text.replace("[ranges]", 'by = "sex"\ngroups = ["f", "m"]\n[ranges]'))
    assert parse_spec(text).kernel == "shift"
    rows = [one[:, :2] for one in draw()]
    signed = add_report(*study(tmp_path, text, rows))
    died = int(sum(one[:, 1].sum() for one in rows))
    assert signed.report == {"died": died, "rows": 800, "odds": "infinite"}
    found = recompute(signed, "It")
    assert found is not None and found.report == Deaths(found.report.to_dict())  # type: ignore[union-attr]
    write_page(signed, tmp_path / "r.html")
    assert f"<p>{died} of 800 died.</p>" in (tmp_path / "r.html").read_text()


def test_figures_are_written_alike_and_compared_one_by_one() -> None:
    given = {"a": np.float64(1 / 3), "b": (math.nan, -math.inf), 3: {"c": True, "d": None}}
    plain = plain_figures(given)
    assert plain == {"a": 0.333333333333, "b": [None, "-infinite"], "3": {"c": True, "d": None}}
    assert find_difference(plain, plain) is None
    assert find_difference(plain | {"a": 0.333333333334}, plain) is None
    assert find_difference(plain | {"a": 0.33334}, plain) == ("a", 0.33334, 0.333333333333)
    assert find_difference(plain | {"b": [0.0, "-infinite"]}, plain) == ("b.1", 0.0, None)
    assert find_difference(plain | {"e": 1}, plain) == ("e", 1, None)
    assert find_difference({"a": 1.0}, {"a": True}) is not None
    assert find_difference({"a": 10**9 + 1}, {"a": 10**9}) == ("a", 10**9 + 1, 10**9)
    assert find_difference({"a": 1}, {"a": 1.0}) is None
    assert find_difference({"a": 10**400}, {"a": 0.5}) == ("a", 10**400, 0.5)


def test_what_a_threshold_does_is_what_rows_do(tmp_path: Path) -> None:
    """Plain cells leave nothing open at a threshold, even if rows have exactly that score."""
    text = VALIDATION.replace("\n[ranges]", "\nalgorithm.least_cell = 1\n[ranges]")
    rows = draw()
    risk, died, sex = np.concatenate(rows).T
    signed = add_report(*study(tmp_path, text, rows))
    assert signed.report is not None
    for told, threshold in zip(signed.report["thresholds"], (0.1, 0.2), strict=True):
        assert (risk == threshold).sum() > 5
        above = risk >= threshold
        expected = {
            "sensitivity": above[died == 1].mean(),
            "specificity": 1 - above[died == 0].mean(),
            "ppv": died[above].mean(),
            "flagged": above.mean(),
            "net_benefit": (above & (died == 1)).mean()
            - (above & (died == 0)).mean() * threshold / (1 - threshold),
        }
        for name, value in expected.items():
            assert told[name]["value"] == pytest.approx(value, rel=1e-9)
            assert told[name]["bracket"] == pytest.approx([value, value], rel=1e-9)
    women = signed.report["groups"]["groups"]["f"]["thresholds"][0]["sensitivity"]["value"]
    assert women == pytest.approx((risk >= 0.1)[(died == 1) & (sex == 0)].mean(), rel=1e-9)

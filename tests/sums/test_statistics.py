from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

import pairgossip as pg
from pairgossip.counts.axes import Grid
from pairgossip.counts.intervals import interval_about
from pairgossip.errors import InputError
from pairgossip.inference.answer import Answer, Law
from pairgossip.kernels import CATALOG, Combination, as_kernel
from pairgossip.kernels.kernel import Scale
from pairgossip.order_statistics.comparisons import OF_CLASSES
from pairgossip.peer.protocol.program import Disagreement
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.storage.rows import read_rows
from pairgossip.peer.sums.results import decode_figures, rounded_bracket
from pairgossip.peer.sums.statistics import cells_of
from tests.sums.running import deal, run_programs, start_and_take, start_programs
from tests.sums.specs import kernel_spec, sums_text

RNG = np.random.default_rng(3)
N = 600
LABELS = (RNG.random(N) < 0.4).astype(float)
SCORES = 1 / (1 + np.exp(-RNG.normal(size=N) - LABELS))
OTHERS = 1 / (1 + np.exp(-RNG.normal(size=N) - 0.5 * LABELS - 0.5 * SCORES))
SCORED = np.column_stack([SCORES, LABELS])
BOTH = np.column_stack([SCORES, OTHERS, LABELS])
TWO = np.column_stack([SCORES, OTHERS])
KERNELS = [
    ("auc", SCORED, ["a"], "l", 2e-3),
    ("auc-difference", BOTH, ["a", "b"], "l", 2e-3),
    ("gini", SCORES, ["a"], None, 1e-3),
    ("gini-coefficient", SCORES, ["a"], None, 1e-3),
    ("variance", SCORES, ["a"], None, 2e-4),
    ("kendall", TWO, ["a", "b"], None, 5e-3),
    ("kendall-b", TWO, ["a", "b"], None, 5e-3),
    ("somers-d", TWO, ["a", "b"], None, 5e-3),
    ("ranking-risk", SCORED, ["a"], "l", 2e-3),
    ("distance", TWO, ["a", "b"], None, 1e-2),
    ("within-cluster-scatter", BOTH, ["a", "b"], "l", 3e-4),
    ("concordance", TWO, ["a", "b"], None, 5e-3),
    ("concordance", BOTH, ["a", "b", "e"], None, 5e-3),
]


@pytest.mark.parametrize(("kernel", "rows", "columns", "label", "off"), KERNELS)
def test_members_find_the_statistic_of_all_rows(
    kernel: str, rows: np.ndarray, columns: list[str], label: str | None, off: float
) -> None:
    noise = "[privacy]\nepsilon = 100" if kernel == "distance" else ""
    spec = kernel_spec(kernel, columns, label, tables=noise)
    result = run_programs(start_programs(spec, deal(rows, 5)))
    exact = pg.exact(rows, kernel)
    assert result.value == pytest.approx(exact, abs=off)
    assert (result.rows, len(result.members), result.rounds) == (N, 5, 1)
    if result.bracket is not None:
        assert result.bracket[0] <= exact <= result.bracket[1]
    answer = pg.exact(rows, kernel, interval=0.95)
    assert result.interval is not None and result.sampling_error is not None
    if kernel in ("distance", "within-cluster-scatter", "auc-difference"):
        # Tables of single columns do not show their correlation.
        assert answer.error < result.sampling_error < 3 * answer.error
        assert result.interval[0] < answer.low < answer.high < result.interval[1]
        return
    assert result.sampling_error == pytest.approx(answer.error, rel=0.03)
    low, high = result.interval
    opened = 0.0 if result.bracket is None else result.bracket[1] - result.bracket[0]
    near = 2 * off + 0.05 * answer.error
    assert answer.low - near - opened <= low <= answer.low + near
    assert answer.high - near <= high <= answer.high + near + opened


ORDER: dict[str, Callable[[], Answer]] = {
    "median": lambda: pg.quantile(SCORES, 0.5, interval=0.95),
    "quantile-0.9": lambda: pg.quantile(SCORES, 0.9, interval=0.95),
    "trimmed-mean-0.1": lambda: pg.trimmed_mean(SCORES, 0.1, interval=0.95),
    "winsorized-mean-0.1": lambda: pg.winsorized_mean(SCORES, 0.1, interval=0.95),
    "hodges-lehmann": lambda: pg.hodges_lehmann(SCORES, interval=0.95),
    "shift": lambda: pg.hodges_lehmann(SCORES, labels=LABELS, interval=0.95),
}


@pytest.mark.parametrize("name", ORDER)
def test_members_find_statistics_of_order(name: str) -> None:
    exact, (rows, label) = ORDER[name](), (SCORED, "l") if name == "shift" else (SCORES, None)
    result = run_programs(start_programs(kernel_spec(name, ["a"], label), deal(rows, 3)))
    assert result.value == pytest.approx(float(exact), abs=5e-3)
    assert result.sampling_error == pytest.approx(exact.error, rel=0.15)
    assert result.interval is not None and result.bracket is not None
    assert result.bracket[0] <= float(exact) <= result.bracket[1]
    assert exact.low - 0.02 <= result.interval[0] <= exact.low
    assert exact.high <= result.interval[1] <= exact.high + 0.02


@pytest.mark.parametrize("name", OF_CLASSES)
def test_members_test_two_classes(name: str) -> None:
    result = run_programs(start_programs(kernel_spec(name, ["a"], "l"), deal(SCORED, 3)))
    exact = pg.test(SCORES, name, labels=LABELS)
    off = 0.03 if name == "kolmogorov-smirnov" else 5e-3  # the largest gap is between two rows
    assert result.value == pytest.approx(exact.value, rel=off)
    assert result.sampling_error == pytest.approx(exact.error, rel=0.03)
    assert np.log(result.p or 1) == pytest.approx(np.log(exact.p), rel=max(0.05, 2 * off))
    assert result.bracket is not None and result.p_bracket is not None
    assert result.bracket[0] <= exact.value <= result.bracket[1]
    assert result.p_bracket[0] <= exact.p <= result.p_bracket[1] < 1e-6
    assert result.p is not None and result.p_bracket[0] <= result.p <= result.p_bracket[1]
    assert result.advise_bins() is None


IN_CELLS = [
    *(case[:4] for case in KERNELS if case[0] != "distance"),
    ("median", SCORES, ["a"], None),
    ("mann-whitney", SCORED, ["a"], "l"),
    ("spearman", TWO, ["a", "b"], None),
]


@pytest.mark.parametrize("case", IN_CELLS, ids=lambda case: case[0])
def test_a_value_that_moves_within_a_cell_of_equal_ratio_changes_no_count(
    case: tuple[str, np.ndarray, list[str], str | None],
) -> None:
    """The words are equal byte for byte: nothing depends on where in its cell a row is."""
    kernel, rows, columns, label = case
    rows = rows.reshape(N, -1)
    spec = kernel_spec(kernel, columns, label, ranges=(1e-4, 1))  # type: ignore[arg-type]
    cells = cells_of(spec)
    kept = [at for at in range(rows.shape[1]) if at >= len(columns) or columns[at] == "e"]
    rows = np.clip(rows, 1e-3, 1 - 1e-3)
    rows[:, kept] = np.rint(rows[:, kept])
    moved = rows.copy()
    for at, axis in enumerate(cells.column_axes):
        place = axis.find_bins(rows[:, at])
        assert isinstance(axis, Grid)
        shares = np.random.default_rng(at).uniform(0.05, 0.95, N)
        moved[:, at] = axis.edges[place] + shares * axis.widths[place]
    assert (moved != rows).any()
    assert cells.add_up(rows).tobytes() == cells.add_up(moved).tobytes()


def test_counts_are_those_of_the_rows() -> None:
    spec = kernel_spec("auc", ["a"], "l")
    (block,) = cells_of(spec).tables
    edges = np.linspace(0, 1, 257)
    table, *_ = np.histogram2d(SCORES, LABELS, (edges, [-0.5, 0.5, 1.5]))
    assert (block.count(SCORED) == table.T).all()
    ends = block.count(np.array([[0.0, 0.0], [1.0, 1.0]]))
    assert ends.ravel().tolist() == [1, *[0] * 510, 1]


def test_wide_positive_ranges_have_cells_of_equal_ratio() -> None:
    wide, narrow, zero = (
        cells_of(kernel_spec("gini", ["a"], ranges=one)).axes[0]  # type: ignore[arg-type]
        for one in ((1e-2, 1e4), (1, 100), (0, 1e4))
    )
    assert isinstance(wide, Grid) and isinstance(narrow, Grid) and isinstance(zero, Grid)
    assert np.allclose(np.diff(np.log(wide.edges)), np.log(1e6) / 256, rtol=1e-6)
    assert np.allclose(narrow.widths, 99 / 256) and np.allclose(zero.widths, 1e4 / 256)


def test_labels_that_are_not_agreed_on_are_refused(tmp_path: Path) -> None:
    spec = kernel_spec("auc", ["a"], "l")
    with pytest.raises(InputError, match="Column 'l' holds other values than 0 or 1"):
        start_programs(spec, [np.array([[0.5, 0.5]])])
    (tmp_path / "rows.csv").write_text("a,l\n0.1,0\n0.2,0.5\n")
    with pytest.raises(InputError, match="Column 'l' holds other values than 0 or 1"):
        read_rows(tmp_path / "rows.csv", spec)


def test_cells_elsewhere_are_not_followed() -> None:
    spec = kernel_spec("gini", ["a"], tables="[privacy]\nepsilon = 1")
    (program,) = start_programs(spec, [SCORES])
    ask = program.ask()
    assert ask is not None
    assert (program.contribute(ask) == program.contribute(ask)).all(), "noise is drawn once"
    edges = msgspec.msgpack.decode(ask.public)
    moved = [[edges[0][0], edges[0][1] + 1e-3, *edges[0][2:]]]
    for public in (b"", ask.public, msgspec.msgpack.encode(moved)):
        with pytest.raises(Disagreement, match="elsewhere"):
            program.follow(public)
    # Rounded, so that machines with other last digits get the same.
    assert edges[0][1:-1] == [round(one * 2**25) / 2**25 for one in edges[0][1:-1]]


def test_small_numbers_of_a_result_are_not_exchanged_for_others() -> None:
    small = kernel_spec("variance", ["a"], ranges=(0, 1e-6))  # type: ignore[arg-type]
    program = start_and_take(small, SCORES * 1e-6)
    mine = program.result
    assert mine is not None and mine.value is not None and mine.value < 1e-12
    with pytest.raises(Disagreement, match="value is"):
        program.follow(msgspec.structs.replace(mine, value=2 * mine.value).state())


def test_brackets_are_rounded_outward() -> None:
    assert rounded_bracket(0.1234567, 0.1234571, digits=6) == (0.123456, 0.123458)
    assert rounded_bracket(-0.1234561, 1.0, digits=6) == (-0.123457, 1.0)
    low, high = 0.12345678901234, 0.98765432109871
    known = rounded_bracket(low, high)
    assert known is not None and known[0] < low and high < known[1]
    assert rounded_bracket(float("nan"), 1.0) is None


def test_one_row_has_no_pairs_of_different_rows() -> None:
    spec = kernel_spec("gini", ["a"], top='target = "u"')
    assert run_programs(start_programs(spec, [SCORES[:1]])).value is None


def test_a_variance_lies_in_its_bracket_however_wide_the_range() -> None:
    rows = 3.3 + np.arange(40) % 2 / 10
    for high in (10, 1e3, 1e6):
        spec = kernel_spec("variance", ["a"], ranges=(0, high))  # type: ignore[arg-type]
        result = run_programs(start_programs(spec, deal(rows, 3)))
        assert result.bracket is not None and result.value is not None
        assert result.bracket[0] <= rows.var() <= result.bracket[1]
        assert result.bracket[0] <= result.value <= result.bracket[1]


def test_a_result_is_followed_if_it_is_the_same_but_for_rounding_and_version() -> None:
    program = start_and_take(kernel_spec("gini", ["a"]), SCORES)
    mine = program.result
    assert mine is not None and mine.value is not None
    assert mine.take_over(decode_figures(mine.state())) == mine
    near = msgspec.structs.replace(mine, value=mine.value + 1e-13, versions={"pairgossip": "9"})
    assert program.follow(near.state()).public == near.state()
    far = msgspec.structs.replace(mine, value=mine.value + 1e-6)
    other = msgspec.structs.replace(mine, members={f"{k:064d}": 1 for k in range(mine.rows)})
    assert len(other.state()) == len(mine.state())  # a list of many members is not sent along
    for public, sentence in (
        (far.state(), "value is"),
        (other.state(), "other members or rows"),
        (b" " + near.state(), "canonical"),
        (b"{}", "cannot be read"),
    ):
        with pytest.raises(Disagreement, match=sentence):
            program.follow(public)


def test_what_rows_do_not_tell_is_left_out() -> None:
    apart = [np.array([[0.1, 0.0], [0.2, 0.0]]), np.array([[0.8, 1.0], [0.9, 1.0]])]
    separated = run_programs(start_programs(kernel_spec("auc", ["a"], "l"), apart))
    assert (separated.value, separated.sampling_error, separated.interval) == (1.0, None, None)
    assert separated.bracket is not None and separated.bracket[1] == 1.0
    alone = run_programs(start_programs(kernel_spec("auc", ["a"], "l"), apart[:1]))
    assert (alone.value, alone.bracket) == (None, None)
    few = run_programs(start_programs(kernel_spec("spearman", ["a", "b"]), apart[:1]))
    assert few.value is None


@pytest.mark.parametrize(
    ("kernel", "columns"), [("auc", 1), ("auc-difference", 2), ("brunner-munzel", 1)]
)
def test_a_class_of_one_row_tells_no_error(kernel: str, columns: int) -> None:
    """This holds however its share of the rows is rounded: 1/n times n may exceed 1."""
    spec = kernel_spec(kernel, ["a", "b"][:columns], "l")
    for rows in range(4, 30):
        one = np.column_stack([OTHERS, SCORES])[:rows, :columns]
        result = run_programs(start_programs(spec, [np.column_stack([one, np.arange(rows) == 2])]))
        assert result.value is not None and result.sampling_error is None and result.p is None


def test_rows_without_comparable_pairs_and_in_perfect_order_are_no_problem() -> None:
    events = np.array([[0.1, 0.5, 0.0], [0.7, 0.6, 0.0]])
    nothing = run_programs(start_programs(kernel_spec("concordance", ["a", "b", "e"]), [events]))
    assert (nothing.value, nothing.interval, nothing.bracket) == (None, None, None)
    order = np.column_stack([np.arange(20) / 20, 0.5 + 1e-3 * np.arange(20)])
    ordered = run_programs(start_programs(kernel_spec("concordance", ["a", "b"]), [order]))
    assert ordered.bracket is not None and 0 <= ordered.bracket[0] <= ordered.bracket[1] <= 1


def test_a_value_lies_in_its_bracket_where_rows_are_few() -> None:
    rows = np.array([[0.0, 0.0], [1 / 3, 1.0], [2 / 3, 1.0]])
    spec = kernel_spec("shift", ["a"], "l", algorithm="bins = 4")
    result = run_programs(start_programs(spec, [rows]))
    assert result.bracket is not None and result.value is not None
    assert result.bracket[0] <= 0.5 <= result.bracket[1]
    assert result.bracket[0] <= result.value <= result.bracket[1]


@pytest.mark.parametrize(
    ("value", "scale"),
    [(0.0, "log"), (-1.0, "log"), (1.0, "logit"), (1.2, "logit"), (1.0, "fisher")],
)
def test_an_interval_is_known_about_what_noise_has_moved_out_of_its_scale(
    value: float, scale: Scale
) -> None:
    low, high = interval_about((0.1, 0.9), value, 0.2, scale, Law(100.0))
    assert low <= min(value, 0.1) and high >= max(value, 0.9)
    assert np.isnan(interval_about((0.9, 0.1), value, 0.2, scale, Law(100.0))).all()


@pytest.mark.parametrize("kernel", ["variance", "gini"])
def test_a_function_of_a_statistic_has_no_bounds_of_the_statistic(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Combination((as_kernel(kernel),), lambda averages: 9 * averages[..., 0], name="own")
    monkeypatch.setitem(CATALOG, "own", lambda: own)
    spec = parse_spec(sums_text('kernel = "own"', ["a"]))
    result = run_programs(start_programs(spec, deal(SCORES[:, None], 4)))
    assert result.value == pytest.approx(pg.exact(SCORES, own), rel=2e-2)
    assert result.bracket is None


@pytest.mark.parametrize("kernel", ["somers-d", "kendall-b", "kendall", "concordance"])
@pytest.mark.parametrize("whole", ['whole = ["b"]', 'whole = ["a", "b"]', ""])
def test_rows_that_are_tied_within_their_cells_lie_in_the_bracket(kernel: str, whole: str) -> None:
    """Ties leave fewer pairs to compare, so a quotient may be larger than without them."""
    rows = np.repeat(np.arange(4.0), 5)[:, None] * np.ones(2)
    more = {"ranges": (0, 4), "top": whole, "algorithm": "bins = 4"}
    spec = kernel_spec(kernel, ["a", "b"], **more)  # type: ignore[arg-type]
    low, high = run_programs(start_programs(spec, deal(rows, 3))).bracket or (1.0, 0.0)
    assert low <= pg.exact(rows, kernel) <= high


@pytest.mark.parametrize(
    ("kernel", "label"), [("gini", None), ("gini-coefficient", None), ("auc", "l")]
)
def test_ten_million_rows_have_the_same_interval_on_every_machine(
    kernel: str, label: str | None
) -> None:
    cells = cells_of(kernel_spec(kernel, ["a"], label))
    rng, rows = np.random.default_rng(8), 10_000_000
    counts = rng.multinomial(rows, rng.dirichlet(np.ones(cells.counts)))
    found = [
        cells.find(cells.read_sums(np.append(rows, counts * (1 + rounding))))[:4]
        for rounding in (0.0, *(2e-16 * rng.integers(-1, 2, (5, cells.counts))))
    ]
    for other in found[1:]:
        assert other == pytest.approx(found[0], rel=1e-10)

"""Ranks: GoRank and GoTrim of the follow-up papers, beside averaged bins.

The settings are those of "Asynchronous Gossip Algorithms for Rank-Based Statistical Methods"
(Van Elst, Colin and Clemencon 2025) and of the authors' published code. The claims and their
tolerances were written before the first run, except for that on theory, which was found later.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.results import Run
from pairgossip.results.curves import COLORS, EXACT
from pairgossip_paper import framework as fw
from pairgossip_paper.experiments.ranks.runs import NETWORKS, SHARE, TASKS, WAYS, cases
from pairgossip_paper.framework.figures import Panel, Sheet

_LARGEST_TEST_ERROR = 0.1
"""Largest error at which a test is still useful, in standard deviations of the rank sum."""
_SLOPE_TOLERANCE = 0.12
"""Largest distance of the exponent of exchanges from -1/2."""
_SLOWDOWN = 1.2
"""Ratio of errors without and with shuffling above which the former counts as larger."""
_THEORY_TOLERANCE = 0.2
"""Largest relative distance of an error from theory."""
_PERCENT = 100.0
_ROUNDING = 1e-9
"""Smallest error that is not rounding, in the units of a task."""
_LOOKS = {
    "sync": (COLORS[1], "--"),
    "async": (COLORS[1], "-"),
    "async-in-order": (COLORS[4], "-."),
    "bins": (COLORS[5], "--"),
    "bins-ordered": (COLORS[0], "-"),
}
_UNITS = {
    "ranks": "error of a rank (% of `n`)",
    "rank-sum": "error of the rank sum (its sd)",
    "trimmed": "error of the trimmed mean (%)",
}
_TITLES = {"ranks": "every node's rank", "rank-sum": "rank sum", "trimmed": "trimmed mean"}

_Errors = Mapping[str, Mapping[str, Mapping[str, FloatArray]]]
"""Errors by network, task and way, in the units of the task."""


def _report(results: fw.Results) -> fw.Section:
    facts = results["facts"]
    errors = {
        name: {
            task: {
                way: run.error * _unit(task, way, facts)
                for way, run in fw.pick_ways(results, f"{name}-{task}", WAYS[task]).items()
            }
            for task in TASKS
        }
        for name in NETWORKS
    }
    return fw.Section(
        _headline(errors),
        [_about(results, facts), _about_test(facts), _about_code()],
        [_picture(results, errors, facts)],
        [_table(results, errors)],
        [
            _rate_claim(results, errors),
            _theory_claim(errors, facts),
            _bins_claim("ranks", "GoRank", errors),
            _bins_claim("trimmed", "GoTrim", errors),
            _test_claim(errors),
            _tree_claim(errors),
            _layout_claim(errors),
        ],
    )


def _headline(errors: _Errors) -> str:
    ranks, trimmed = (
        " to ".join(f"{float(f'{gain:.3g}'):,g}" for gain in (min(gains), max(gains)))
        for gains in (_gains(task, errors).values() for task in ("ranks", "trimmed"))
    )
    return (
        f"After equally many exchanges, the error of a node's rank is {ranks} times as large with "
        f"GoRank as with averaged bins, and that of a trimmed mean {trimmed} times as large with "
        "GoTrim."
    )


def _gains(task: str, errors: _Errors) -> dict[str, float]:
    """Return the ratio of asynchronous GoRank's or GoTrim's error to that of bins, by network."""
    return {name: _final(by[task], "async") / _best_bins(by[task]) for name, by in errors.items()}


def _unit(task: str, way: str, facts: fw.Facts) -> float:
    """Return the factor from errors of a run to the units of its task."""
    if task == "ranks":
        return _PERCENT / facts["nodes"]
    if task == "trimmed":
        return _PERCENT / facts["trimmed"]
    of_auc = facts["pairs"] if way.startswith("bins") else 1  # bins give the AUC
    return float(of_auc / facts["spread"])


def _about(results: fw.Results, facts: fw.Facts) -> str:
    run = results[f"{NETWORKS[0]}-ranks-async"]
    return (
        f"{facts['nodes']} nodes with one number each, {run.iterations[-1]:,} exchanges, "
        f"{run.trials} trials, as in the papers on ranks by gossip; asynchronous nodes have clocks "
        "of their own. Ranks and rank sum are those of two groups of Cauchy numbers, one moved by "
        f"0.8. The trimmed mean cuts {SHARE:g} at either end of 1, 2, ..., {facts['nodes']}, of "
        f"which 30 % are ten times as large: it is {facts['trimmed']:.6g}, the mean "
        f"{facts['mean']:.6g}. Averaged bins are 64 counts and sums, the range not known "
        "beforehand. Rows are dealt to the nodes at random unless stated. Errors are root mean "
        "squares over nodes and trials."
    )


def _about_test(facts: fw.Facts) -> str:
    return (
        f"The exact test of the two groups has `z = {facts['z']:.3g}`, `p` = {facts['p']:.2g}. "
        "The error that it can afford is measured in standard deviations of the rank sum, "
        f"{facts['spread']:.4g}: relative to the sum itself, {facts['rank_sum']:.6g}, as in the "
        f"published figures, any error looks {facts['rank_sum'] / facts['spread']:.3g} times "
        "smaller."
    )


def _about_code() -> str:
    return (
        "Differences from the authors' published code, read in 2026: rows are shuffled "
        "for all tasks (there, tasks of trimmed means and rank sums leave the shuffling out that "
        "their settings ask for, so rows lie in order along the ring; that layout is run as well); "
        "a geometric graph that is not connected is drawn anew (there, with the same seed); "
        "a node's own number counts half in its mid-rank (there, the asynchronous form starts with "
        "a count of zero); errors are recorded when they are measured (there, one "
        "curve is altered by a step); and the adaptive form, which divides by no less than one and "
        "so leans toward zero, is not run. None of this changes the authors' algorithms."
    )


def _exchanges(run: Run) -> FloatArray:
    return np.asarray(run.exchanges, dtype=np.float64)


def _picture(results: fw.Results, errors: _Errors, facts: fw.Facts) -> fw.Picture:
    """Draw a row of panels per task and a column per network."""
    sheet = Sheet(len(NETWORKS), len(TASKS), sharex=True, sharey="row")
    for panel, task, name in sheet.over(TASKS, NETWORKS):
        _draw(panel, results, errors, name, task)
        x, title = "exchanges" if task == TASKS[-1] else "", f"{_TITLES[task]}, {name}"
        panel.finish(x, _UNITS[task], title, y_once=True)
        if task == "ranks":
            expected = np.array(facts["theory"][name]) * _unit(task, "sync", facts)
            t = _exchanges(results[f"{name}-ranks-sync"])
            panel.plot(t, expected, "GoRank, by theory", EXACT, ":", legend=False)
        if task == "rank-sum":
            panel.level(_LARGEST_TEST_ERROR, "a tenth of the sd", EXACT, ":", legend=False)
    fullest = sheet.rows[-1][1]
    fullest.legend_entry("bins along a tree, in the end", "#882255", "*", markersize=10)
    sheet.add_legend(columns=4, panel=fullest)
    return fw.Picture(
        "ranks",
        "Root mean square errors over nodes and trials against exchanges: of every node's own rank "
        "(above; dotted: theory for synchronous GoRank), of the rank sum of one group in units of "
        "its standard deviation (middle; dotted: the error that a test can afford), and of a "
        "trimmed mean of contaminated numbers (below). Stars: bins added up along a tree, which is "
        "done after `4n - 4` messages. Bins need longer messages; see the table.",
        sheet,
    )


def _draw(panel: Panel, results: fw.Results, errors: _Errors, name: str, task: str) -> None:
    for way, curve in errors[name][task].items():
        run, label = results[f"{name}-{task}-{way}"], WAYS[task][way].label
        if way == "bins-tree":
            x, y = run.messages[-1:] / 2, curve[-1:]
            panel.plot(x, y, label, "#882255", "*", markersize=11, legend=False)
            continue
        color, style = _LOOKS[way]
        complete = ~np.isnan(run.trial_error).any(axis=0)  # all nodes of all trials have their bins
        x = _exchanges(run)[complete]
        panel.plot(x, curve[complete], _family(label), color, style, linewidth=1.7)


def _family(label: str) -> str:
    """Return one label for the same method in all tasks."""
    for method in ("tracked ranks (GoRank)", "GoRank", "GoTrim"):
        label = label.replace(method, "GoRank, GoTrim")
    return label


def _table(results: fw.Results, errors: _Errors) -> fw.Table:
    records = []
    for name in NETWORKS:
        for task in TASKS:
            for way, curve in errors[name][task].items():
                run = results[f"{name}-{task}-{way}"]
                records.append(
                    {
                        "network": name,
                        "task": _TITLES[task],
                        "way": WAYS[task][way].label,
                        "messages": int(run.messages[-1]),
                        "bytes per message": float(run.bytes[-1] / run.messages[-1]),
                        "MB": float(run.bytes[-1]) / 1e6,
                        "error": float(curve[-1]),
                        "in": _UNITS[task].partition("(")[2].rstrip(")"),
                    }
                )
    return fw.Table.from_records(
        "Messages, bytes and final errors",
        records,
        "Payload only. The messages of GoRank and GoTrim carry one to three numbers, those of bins "
        "128 (256 of two groups), fewer while the range becomes known: at equal bytes bins make "
        "far fewer exchanges.",
    )


def _final(errors: Mapping[str, FloatArray], way: str) -> float:
    return float(errors[way][-1])


def _best_bins(errors: Mapping[str, FloatArray]) -> float:
    """Return the error of bins on the best schedule for the network."""
    smallest = min(_final(errors, way) for way in ("bins", "bins-ordered") if way in errors)
    return max(smallest, _ROUNDING)


def _rate_claim(results: fw.Results, errors: _Errors) -> fw.Claim:
    slopes = {}
    for name in NETWORKS:
        for way in ("sync", "async"):
            run, curve = results[f"{name}-ranks-{way}"], errors[name]["ranks"][way]
            late = _exchanges(run) >= run.exchanges[-1] / 10
            slopes[f"{name}, {way}"] = fw.fit_power_law(_exchanges(run)[late], curve[late]).slope
    return fw.check(
        "ranks-rate",
        "The error of a rank by GoRank falls as the inverse square root of the exchanges, on both "
        "clocks.",
        "Van Elst, Colin and Clemencon (2025): `O(1/sqrt(t))` for expected absolute errors",
        slopes,
        fw.within(_SLOPE_TOLERANCE, of=-0.5),
        "Over the last tenfold of exchanges the exponents are {values:.2f} (rule: within "
        "{tolerance:g} of {of:g}).",
    )


def _theory_claim(errors: _Errors, facts: fw.Facts) -> fw.Claim:
    ratios = {}
    for name, by in errors.items():
        expected = facts["theory"][name][-1] * _unit("ranks", "sync", facts)
        ratios[name] = _final(by["ranks"], "sync") / expected
    return fw.check(
        "ranks-theory",
        "The final error of synchronous GoRank is the one that theory computes from the network "
        "and the rows, with nothing fitted.",
        "theory: bias, and how soon a visitor comes back to a node",
        ratios,
        fw.within(_THEORY_TOLERANCE, of=1),
        "It is {values} times as large (rule: at most {tolerance:g} from 1).",
    )


def _bins_claim(task: str, method: str, errors: _Errors) -> fw.Claim:
    return fw.check(
        f"ranks-{task}",
        f"After the same number of exchanges the error of averaged bins is at most a fifth of that "
        f"of asynchronous {method}.",
        "theory: means are averaged at a geometric rate",
        _gains(task, errors),
        fw.at_least(5.0),
        "It is {values} times smaller.",
    )


def _test_claim(errors: _Errors) -> fw.Claim:
    tracked = {name: _final(by["rank-sum"], "async") for name, by in errors.items()}
    binned = {name: _best_bins(by["rank-sum"]) for name, by in errors.items()}
    return fw.Claim(
        "ranks-test",
        "A test can be made of a rank sum from averaged bins, whose error is below a tenth of its "
        "standard deviation, but not of one from ranks by GoRank after as many exchanges.",
        "ours",
        fw.grade(
            [
                *(error < _LARGEST_TEST_ERROR for error in binned.values()),
                *(error > _LARGEST_TEST_ERROR for error in tracked.values()),
            ]
        ),
        f"In standard deviations, errors are {fw.list_values(binned)} from bins and "
        f"{fw.list_values(tracked)} from ranks by GoRank.",
    )


def _tree_claim(errors: _Errors) -> fw.Claim:
    listed, passed = {}, []
    for name, by in errors.items():
        for task in TASKS:
            end = listed[f"{name}, {_TITLES[task]}"] = _final(by[task], "bins-tree")
            passed.append(end <= 1.01 * _best_bins(by[task]))
    return fw.Claim(
        "ranks-tree",
        "Along a tree, bins are as good after `4n - 4` messages as after all exchanges of gossip.",
        "theory: sums up the tree and the total down, twice because the range is not known",
        fw.grade(passed),
        f"In the units of the tasks, errors are {fw.list_values(listed)}.",
    )


def _layout_claim(errors: _Errors) -> fw.Claim:
    return fw.check(
        "ranks-layout",
        "If rows are not shuffled, as in the published runs, GoTrim's error is larger on the "
        "Watts-Strogatz graph, and as large as before on the complete one.",
        "ours: neighbors on the ring have similar numbers",
        {
            name: _final(by["trimmed"], "async-in-order") / _final(by["trimmed"], "async")
            for name, by in errors.items()
        },
        {"watts-strogatz": fw.more_than(_SLOWDOWN), "complete": fw.less_than(_SLOWDOWN)},
        "It is {values} times as large (rule: more than {slower:g} times on the former).",
        slower=_SLOWDOWN,
    )


RANKS = fw.Experiment(
    "ranks",
    "Ranks by gossip",
    "How well do nodes learn their ranks, a rank test and a trimmed mean: by GoRank and GoTrim, "
    "in the settings of their papers, and by averaging bins?",
    cases,
    _report,
    place=14,
)

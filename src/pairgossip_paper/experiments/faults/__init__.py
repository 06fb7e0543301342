"""Faults: what lost exchanges, nodes that come and go, and lying nodes do to gossip.

The claims and their tolerances were written before the first run. It changed three things: errors
of honest nodes are medians, as single nodes beside a liar are lost, which is a claim now; lies
inside the clip are compared with no lies; skewed rows are lognormal, as incomes hardly harm a clip.
"""

from __future__ import annotations

from collections.abc import Mapping

from pairgossip_paper import framework as fw
from pairgossip_paper.experiments.faults.curves import (
    PERCENT,
    Curves,
    fit_rate,
    lost_share,
    read_curve,
    run_attacks,
)
from pairgossip_paper.experiments.faults.pictures import LOSS_LOOKS, draw_liars, draw_losses
from pairgossip_paper.experiments.faults.runs import (
    DELAY,
    DOWN,
    LOST,
    NETWORKS,
    NUMBERS,
    UP,
    WAYS,
    cases,
)
from pairgossip_paper.framework.paper import cite

_RATE_TOLERANCE, _CHURN_TOLERANCE = 0.05, 0.15
"""How far rates of averaging may be from what is left of all exchanges."""
_NOISE = 0.35
"""How far ratios of two errors of few trials may be from 1."""
_RUINED = 5.0
"""Least ratio of errors with and without half-lost exchanges that counts as ruin."""
_MOVED = 100.0
"""Error in percent from which on a liar has its way."""
_PROTECTED = 10.0
"""Least ratio of errors without and with protection that counts as such."""
_HARMED = 3.0
"""Least ratio of errors with and without liars that counts as harm."""
_LOST_NODE = 10.0
"""Least ratio of the worst node's error to the median that counts as a lost node."""
_LIGHT = 1.25
"""Largest ratio of errors with and without a clip, where nobody lies."""
_STOPPED = ("constant", "sign", "dissensus")
"""The attacks that a clip is to stop."""


def _report(results: fw.Results) -> fw.Section:
    curves = {
        name: {
            key: read_curve(results[f"{name}-{key}"], key)
            for key in WAYS
            if f"{name}-{key}" in results
        }
        for name in NETWORKS
    }
    return fw.Section(
        _headline(curves),
        [_about(curves), _about_faults(), _about_liars(), _about_clip(curves)],
        [draw_losses(curves), draw_liars(curves)],
        [_loss_table(curves), _liar_table(curves)],
        [
            _rate_claim(curves),
            _churn_claim(curves),
            _delay_claim(curves),
            _loss_claim(curves),
            _half_claim(curves),
            _growth_claim(curves),
            _averaging_claim(curves),
            _liar_claim(curves),
            _unharmed_claim(curves),
            _attacks_claim(curves),
            _inside_claim(curves),
            _worst_claim(curves),
            _light_claim(curves),
            _skewed_claim(curves),
        ],
    )


def _ratios(curves: Curves, above: str, below: str) -> dict[str, float]:
    """Return by network the ratio of two errors in the end."""
    return {name: by[above].final / by[below].final for name, by in curves.items()}


def _span(values: Mapping[str, float]) -> str:
    return " to ".join(f"{end:.3g}" for end in (min(values.values()), max(values.values())))


def _headline(curves: Curves) -> str:
    half = _ratios(curves, "gosta-half-1", "gosta-none")
    once = _ratios(curves, "gosta-loss-1", "gosta-none")
    alone = {name: by["gosta-constant-one"].final for name, by in curves.items()}
    clipped = {name: by["clipped-gosta-constant-one"].final for name, by in curves.items()}
    return (
        "If one exchange in a hundred reaches one of its two nodes only, the error of GoSta is "
        f"{_span(half)} times as large in the end; if it reaches neither, {_span(once)} times. One "
        f"lying node moves the others by {_span(alone)} %; with clipped moves their error is "
        f"{_span(clipped)} %."
    )


def _about(curves: Curves) -> str:
    run = curves[NETWORKS[0]]["gosta-none"].run
    some = curves[NETWORKS[0]]["gosta-constant-some"].run
    liars = run.graph.n - (0 if some.honest is None else len(some.honest))
    return (
        f"Gini mean difference of {run.graph.n} normal rows, asynchronous GoSta, "
        f"{run.iterations[-1]:,} exchanges. Errors are root mean squares over nodes and "
        f"{run.trials} trials; where nodes lie, medians over honest nodes and {some.trials} "
        f"trials, since single nodes beside a liar can be lost. Where some lie, these are {liars} "
        "nodes, drawn once."
    )


def _about_faults() -> str:
    return (
        "An exchange that is *lost* leaves both nodes as they were; ours, between real machines, "
        "are carried out exactly once or not at all. One that is *half lost* is carried out by one "
        "of the two nodes: a row is then held twice and another by nobody, and sums are no longer "
        f"kept. Nodes that come and go are there for {UP:g} units of time and away for {DOWN:g} on "
        "average, and keep what they know; in a unit the network makes as many exchanges as there "
        f"are nodes. Where exchanges take time, {DELAY:g} units each, a node that is in one cannot "
        "begin another."
    )


def _about_liars() -> str:
    return (
        "Liars compute honestly and send lies: always the same number, ten times the statistic "
        "(constant), their estimate with the other sign (sign), what drives a neighbor away from "
        "its honest neighbors (dissensus), or as much as a clip lets pass (inside the clip)."
    )


def _about_clip(curves: Curves) -> str:
    skewed = _ratios(curves, "skewed-clipped-gosta", "skewed-gosta")
    return (
        "Clipped GoSta moves toward a neighbor's estimate by less the farther away it is, beyond a "
        "limit that falls with the number of its own exchanges. It does not know who lies: on "
        "lognormal rows, where nobody does, it doubts extreme rows, and its error is "
        f"{_span(skewed)} times that of GoSta. And it helps no node most of whose neighbors lie: "
        "see the worst nodes in the table."
    )


def _loss_table(curves: Curves) -> fw.Table:
    records = [
        {
            "network": name,
            "method": WAYS[key].method,
            "what goes wrong": WAYS[key].label,
            "not carried out (%)": PERCENT * lost_share(curve.run),
            "after a tenth": curve.at(0.1),
            "in the end": curve.final,
            "in": "sd of the rows" if key.startswith("averaging") else "%",
        }
        for name, by in curves.items()
        for key, curve in by.items()
        if key.split("-", 1)[-1] in LOSS_LOOKS
    ]
    return fw.Table.from_records(
        "Errors where exchanges fail",
        records,
        "Not carried out: the exchanges that both nodes missed.",
    )


def _liar_table(curves: Curves) -> fw.Table:
    records = [
        {
            "network": name,
            "attack": attack,
            "liars": number,
            "unprotected (%)": by[f"gosta-{attack}-{number}"].final,
            "clipped (%)": by[f"clipped-gosta-{attack}-{number}"].final,
            "clipped, worst node (%)": by[f"clipped-gosta-{attack}-{number}"].worst,
            "nobody lies (%)": by["gosta-nobody"].final,
            "clipped, nobody lies (%)": by["clipped-gosta-nobody"].final,
        }
        for name, by in curves.items()
        for attack in run_attacks(curves)
        for number in NUMBERS
    ]
    return fw.Table.from_records(
        "Median errors of honest nodes in the end, where nodes lie",
        records,
        "The worst node: the largest error of an honest one, in root mean square over trials.",
    )


# Claims.


def _rate_ratios(curves: Curves, fault: str) -> dict[str, float]:
    return {
        name: fit_rate(by[f"averaging-{fault}"]) / fit_rate(by["averaging-none"])
        for name, by in curves.items()
    }


def _rate_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "loss-slows-averaging",
        f"Averaging of which {LOST:.0%} of the exchanges are lost is as fast as one that makes the "
        "others only.",
        "theory: the expected averaging matrix, whose gap shrinks by the share that is lost",
        _rate_ratios(curves, "loss-30"),
        fw.within(_RATE_TOLERANCE, of=1 - LOST),
        "Its error falls {values:.3f} times as fast as without losses; {of:g} within {tolerance:g} "
        "was asked for.",
    )


def _churn_claim(curves: Curves) -> fw.Claim:
    both = (UP / (UP + DOWN)) ** 2
    return fw.check(
        "churn-slows-averaging",
        "Nodes that come and go, and keep what they know, slow averaging down by the share of "
        "exchanges that do not find both there.",
        "theory, where nodes come and go faster than averages spread",
        _rate_ratios(curves, "churn"),
        fw.within(_CHURN_TOLERANCE, of=both),
        "Its error falls {values:.3f} times as fast as without faults; {of:.3f} within "
        "{tolerance:g} was asked for.",
    )


def _delay_claim(curves: Curves) -> fw.Claim:
    left = {name: 1 - lost_share(by["averaging-delay"].run) for name, by in curves.items()}
    rates = _rate_ratios(curves, "delay")
    return fw.check(
        "delay-slows-averaging",
        "Exchanges that take time slow averaging down by the share that find a node busy.",
        cite("67"),
        {name: rates[name] / left[name] for name in rates},
        fw.within(_CHURN_TOLERANCE, of=1),
        "Its error falls {values:.3f} times as fast as the exchanges that take place, "
        "{left} of all, would let expect; {tolerance:g} off was allowed.",
        left=fw.list_values(left, ".0%"),
    )


def _loss_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "loss-slows-gosta",
        f"If {LOST:.0%} of its exchanges are lost, GoSta's error is that of as many exchanges as "
        "took place.",
        f"{cite('67')}: gossip tolerates temporary failures",
        {
            name: by["gosta-loss-30"].final / by["gosta-none"].at(1 - LOST)
            for name, by in curves.items()
        },
        fw.within(_NOISE, of=1),
        "It is {values:.2f} times that; {tolerance:g} off was allowed.",
    )


def _half_claim(curves: Curves) -> fw.Claim:
    ratios = {
        f"{name}, {words}": ratio
        for key, words in (("loss-1", "lost"), ("half-1", "half lost"))
        for name, ratio in _ratios(curves, f"gosta-{key}", "gosta-none").items()
    }
    rules = {
        key: fw.at_least(_RUINED) if "half" in key else fw.at_most(1 + _NOISE) for key in ratios
    }
    return fw.check(
        "half-loss-ruins-gosta",
        "One half-lost exchange in a hundred ruins GoSta; as many that are lost as a whole, which "
        "is what exactly-once exchange makes of them, do not.",
        "ours: rows are doubled and lost for good",
        ratios,
        rules,
        "In the end errors are {values:.2f} times those without faults; at least {ruined:g} and at "
        "most {light:g} times was asked for.",
        ruined=_RUINED,
        light=1 + _NOISE,
    )


def _growth_claim(curves: Curves) -> fw.Claim:
    values = {}
    for name, by in curves.items():
        for key in ("gosta-half-1", "gosta-half-10"):
            values[f"{name}, {WAYS[key].label}"] = by[key].final / by[key].at(0.1)
    return fw.check(
        "half-loss-grows",
        "Where exchanges are half lost, waiting makes it worse.",
        "ours: fewer and fewer different rows are left",
        values,
        fw.more_than(1),
        "From a tenth of the exchanges on to all of them, errors grow {values:.2f} times.",
    )


def _averaging_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "half-loss-stays-in-averaging",
        "Averaging never recovers from half-lost exchanges: what they do to the mean stays.",
        "theory: the sum is no longer kept",
        {name: by["averaging-half-1"].final / by["averaging-half-1"].at(0.5)
         for name, by in curves.items()},
        fw.at_least(0.9),
        "Its error in the end is {values:.2f} times that after half of the exchanges.",
    )  # fmt: skip


def _liar_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "one-liar",
        "One node that always sends ten times the statistic moves the others by more than the "
        "statistic itself.",
        "ours: whoever never changes its mind wins",
        {name: by["gosta-constant-one"].final for name, by in curves.items()},
        fw.at_least(_MOVED),
        "Honest nodes are off by {values:.0f} percent in the end.",
    )


def _unharmed_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "clipped-one-liar",
        "One such node does not harm clipped GoSta.",
        "ours: its pull on a neighbor falls with the number of exchanges",
        _ratios(curves, "clipped-gosta-constant-one", "clipped-gosta-nobody"),
        fw.at_most(1 + _NOISE),
        "Its error is {values:.2f} times that without liars; {most:g} times was allowed.",
    )


def _gains(curves: Curves) -> dict[str, float]:
    """Return how many times smaller errors are with a clip, which is to stop these attacks."""
    return {
        f"{name}, {attack}, {number}": by[f"gosta-{attack}-{number}"].final
        / by[f"clipped-gosta-{attack}-{number}"].final
        for name, by in curves.items()
        for attack in run_attacks(curves)
        if attack in _STOPPED
        for number in NUMBERS
    }


def _attacks_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "clipped-attacks",
        "Against constant lies, changed signs and dissensus, clipped GoSta's error is at most a "
        "tenth of the unprotected one, with one liar and with one in a hundred.",
        "ours",
        _gains(curves),
        fw.at_least(_PROTECTED),
        "It is {values} times smaller.",
    )


def _inside_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "inside-the-clip",
        "A liar who stays inside the clip is not stopped: it is to others as a node with an "
        "extreme row.",
        "ours",
        {
            f"{name}, {number}": by[f"clipped-gosta-inside-the-clip-{number}"].final
            / by["clipped-gosta-nobody"].final
            for name, by in curves.items()
            for number in NUMBERS
        },
        fw.more_than(_HARMED),
        "With a clip errors are {values} times those without liars; more than {limit:g} times was "
        "asked for.",
    )


def _worst_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "clipped-worst-node",
        "Not every honest node is protected: on a small world, where some have few neighbors, one "
        "beside liars may follow them.",
        "ours, found in a first run",
        {
            name: by["clipped-gosta-constant-some"].worst / by["clipped-gosta-constant-some"].final
            for name, by in curves.items()
        },
        {"watts-strogatz": fw.more_than(_LOST_NODE)},
        "With some liars that always send the same, the error of the worst honest node is "
        "{values:.3g} times the median; more than {lost:g} times was asked for on the former.",
        lost=_LOST_NODE,
    )


def _light_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "clip-without-liars",
        "On normal rows the clip costs next to nothing where nobody lies.",
        "ours",
        _ratios(curves, "clipped-gosta-nobody", "gosta-nobody"),
        fw.at_most(_LIGHT),
        "The error is {values:.2f} times that of GoSta; {most:g} times was allowed.",
    )


def _skewed_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "clip-on-skewed-rows",
        "On lognormal rows it costs accuracy even where nobody lies: extreme rows are doubted too.",
        "ours",
        _ratios(curves, "skewed-clipped-gosta", "skewed-gosta"),
        fw.more_than(_LIGHT),
        "The error is {values:.2f} times that of GoSta.",
    )


FAULTS = fw.Experiment(
    "faults",
    "When things go wrong",
    "What do lost and half-lost exchanges, nodes that come and go, and lying nodes do to gossip, "
    "and what does protection achieve?",
    cases,
    _report,
    place=16.3,
)

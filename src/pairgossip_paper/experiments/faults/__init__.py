"""Faults: the effects of lost exchanges, of nodes that come and go, and of lying nodes.

The claims and their tolerances were written before the first run, which changed three things.
Errors of honest nodes are medians, because single nodes beside a liar are lost, which is a claim
now. Lies inside the clip are compared with no lies. Skewed rows are lognormal, because the skew of
incomes hardly affects a clip.
"""

from __future__ import annotations

from itertools import product

from pairgossip_paper import framework as fw
from pairgossip_paper.experiments.faults.pictures import draw_failures, draw_liars
from pairgossip_paper.experiments.faults.runs import (
    ATTACKS,
    DELAY,
    DOWN,
    FAILURES,
    LIARS,
    LOST,
    NETWORKS,
    UP,
    WAYS,
    Curves,
    FaultCurve,
    cases,
)
from pairgossip_paper.framework.paper import cite
from pairgossip_paper.paper_setup import typical_error

_PACES = {"loss-30": 0.05, "churn": 0.15, "delay": 0.15}
"""Largest relative distance of a rate of averaging from what the share of exchanges predicts."""
_NOISE = 0.35
"""Largest distance from 1, put down to chance, of a ratio of two errors of few trials."""
_CLIP_COST = 1.25
"""Largest ratio of errors with and without a clip, if nobody lies, that counts as no cost."""
_STOPPABLE_ATTACKS = ("constant", "sign", "dissensus")
"""The attacks that a clip has to stop, for its claim to hold."""


def _report(results: fw.Results) -> fw.Section:
    curves = {
        name: {way: FaultCurve.read(run) for way, run in fw.pick_ways(results, name, WAYS).items()}
        for name in NETWORKS
    }
    attacks = [attack for attack in ATTACKS if f"gosta-{attack}-one" in curves[NETWORKS[0]]]
    return fw.Section(
        _headline(curves),
        _notes(curves),
        [draw_failures(curves), draw_liars(curves, attacks)],
        [_failure_table(curves), _liar_table(curves, attacks)],
        [*_failure_claims(curves), *_liar_claims(curves, attacks), *_clip_claims(curves)],
    )


def _finals(curves: Curves, way: str) -> dict[str, float]:
    """Return the final error of a way, by network."""
    return {name: by[way].final for name, by in curves.items()}


def _ratios(curves: Curves, above: str, below: str, words: str = "") -> dict[str, float]:
    """Return the ratio of two final errors, by network and these words."""
    return {f"{name}{words}": by[above].final / by[below].final for name, by in curves.items()}


def _headline(curves: Curves) -> str:
    half, once = (_ratios(curves, f"gosta-{key}", "gosta-none") for key in ("half-1", "loss-1"))
    alone, clipped = (
        _finals(curves, f"{method}-constant-one") for method in ("gosta", "clipped-gosta")
    )
    return (
        "If one exchange in a hundred reaches one of its two nodes only, the error of GoSta is "
        f"{fw.span(half)} times as large in the end; if it reaches neither, {fw.span(once)} times. "
        f"One lying node moves the others by {fw.span(alone)} %; with clipped moves their error is "
        f"{fw.span(clipped)} %."
    )


def _notes(curves: Curves) -> list[str]:
    by = curves[NETWORKS[0]]
    run, lied = by["gosta-none"].run, by["gosta-constant-some"].run
    assert lied.honest is not None
    skewed = _ratios(curves, "clipped-gosta-skewed", "gosta-skewed")
    return [
        f"Gini mean difference of {run.graph.n} normal rows, asynchronous GoSta, "
        f"{run.iterations[-1]:,} exchanges. Errors are root mean squares over nodes and "
        f"{run.trials} trials; where nodes lie, medians over honest nodes and {lied.trials} "
        "trials, since single nodes beside a liar can be lost. Where some lie, these are "
        f"{run.graph.n - len(lied.honest)} nodes, drawn once.",
        "An exchange that is lost leaves both nodes as they were; ours, between real machines, "
        "are carried out exactly once or not at all. One that is half lost is carried out by one "
        "of the two nodes: one row is then held twice, another is lost, and sums are no longer "
        f"kept. Nodes that come and go are there for {UP:g} units of time and away for {DOWN:g} on "
        "average, and keep what they know; in a unit the network makes as many exchanges as there "
        f"are nodes. Where exchanges take time, {DELAY:g} units each, a node that is in one cannot "
        "begin another.",
        "Liars compute honestly and send lies: always the same number, ten times the statistic "
        "(constant), their estimate with the other sign (sign), what drives a neighbor away from "
        "its honest neighbors (dissensus), or as much as a clip lets pass (inside the clip).",
        "Clipped GoSta moves toward a neighbor's estimate by less the farther away it is, beyond a "
        "limit that falls with the number of its own exchanges. It does not know who lies: on "
        "lognormal rows, where nobody does, it doubts extreme rows, and its error is "
        f"{fw.span(skewed)} times that of GoSta. And not every node beside a liar is "
        "protected: see the worst nodes in the table.",
    ]


def _failure_table(curves: Curves) -> fw.Table:
    return fw.Table.from_records(
        "Errors where exchanges fail",
        [
            {
                "network": name,
                "method": method,
                "what goes wrong": failure.label,
                "not carried out (%)": 100 * (1 - curve.share_left),
                "after a tenth": curve.after(0.1),
                "in the end": curve.final,
                "in": "%" if method == "gosta" else "sd of the rows",
            }
            for name, by in curves.items()
            for method, (key, failure) in product(("gosta", "averaging"), FAILURES.items())
            for curve in [by[f"{method}-{key}"]]
        ],
        "Not carried out: the exchanges that both nodes missed.",
    )


def _liar_table(curves: Curves, attacks: list[str]) -> fw.Table:
    return fw.Table.from_records(
        "Median errors of honest nodes in the end, where nodes lie",
        [
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
            for attack, number in product(attacks, LIARS)
        ],
        "The worst node: the largest error of an honest one, in root mean square over trials.",
    )


def _failure_claims(curves: Curves) -> list[fw.Claim]:
    lost = _ratios(curves, "gosta-loss-1", "gosta-none", ", lost")
    half = _ratios(curves, "gosta-half-1", "gosta-none", ", half lost")
    grown = {
        f"{name}, GoSta, {FAILURES[key].label}": by[f"gosta-{key}"].final
        / by[f"gosta-{key}"].after(0.1)
        for name, by in curves.items()
        for key in ("half-1", "half-10")
    }
    stayed = {
        f"{name}, averaging": by["averaging-half-1"].final / by["averaging-half-1"].after(0.5)
        for name, by in curves.items()
    }
    return [
        _pace_claim(curves),
        fw.check(
            "loss-slows-gosta",
            f"If {LOST:.0%} of its exchanges are lost, GoSta's error is that of the exchanges that "
            "took place.",
            f"{cite('67')}: gossip tolerates temporary failures",
            {
                name: by["gosta-loss-30"].final / by["gosta-none"].after(1 - LOST)
                for name, by in curves.items()
            },
            fw.within(_NOISE, of=1),
            "It is {values:.2f} times that (rule: at most {tolerance:g} from 1).",
        ),
        fw.check(
            "half-loss-ruins-gosta",
            "One half-lost exchange in a hundred ruins GoSta. If as many are lost as a whole, as "
            "with exactly-once exchange, it is not ruined.",
            "ours: rows are doubled and lost for good",
            lost | half,
            dict.fromkeys(lost, fw.at_most(1 + _NOISE)) | dict.fromkeys(half, fw.at_least(5.0)),
            "In the end errors are {values:.2f} times those without faults (rule: at most {most:g} "
            "times if lost as a whole, at least 5 times if half lost).",
            most=1 + _NOISE,
        ),
        fw.check(
            "half-loss-never-heals",
            "If exchanges are half lost, waiting makes GoSta worse and averaging no better.",
            "ours: fewer and fewer different rows are left; and sums are no longer kept",
            grown | stayed,
            dict.fromkeys(grown, fw.more_than(1)) | dict.fromkeys(stayed, fw.at_least(0.9)),
            "From a tenth of the exchanges on (averaging: from half) to all of them, errors grow "
            "{values:.2f} times.",
        ),
    ]


def _pace_claim(curves: Curves) -> fw.Claim:
    """Compare rates of averaging with the share of exchanges that take place."""
    paces, rules = {}, {}
    for name, by in curves.items():
        rates = {
            key: fw.fit_decay(run.iterations, typical_error(run)).slope
            for key in ("none", *_PACES)
            for run in [by[f"averaging-{key}"].run]
        }
        for key, tolerance in _PACES.items():
            words = f"{name}, {FAILURES[key].label}"
            paces[words] = rates[key] / rates["none"] / by[f"averaging-{key}"].share_left
            rules[words] = fw.within(tolerance, of=1)
    return fw.check(
        "failures-slow-averaging",
        "If exchanges are lost, or nodes are absent or busy, averaging slows to the share of "
        "exchanges that take place.",
        f"{cite('67')}; theory: expected averaging matrices",
        paces,
        rules,
        "Its error falls {values:.3f} times as fast as the exchanges that take place predict "
        "(rule: at most {tight:g} from 1 if they are lost at random, else {loose:g}).",
        tight=_PACES["loss-30"],
        loose=_PACES["churn"],
    )


def _liar_claims(curves: Curves, attacks: list[str]) -> list[fw.Claim]:
    stopped = [attack for attack in attacks if attack in _STOPPABLE_ATTACKS]
    return [
        fw.check(
            "one-liar",
            "One node that always sends ten times the statistic moves the others by more than the "
            "statistic itself.",
            "ours: a node that never changes its value wins",
            _finals(curves, "gosta-constant-one"),
            fw.at_least(100),
            "Honest nodes are off by {values:.0f} percent in the end.",
        ),
        fw.check(
            "clipped-one-liar",
            "One such node does not harm clipped GoSta.",
            "ours: its pull on a neighbor falls with the number of exchanges",
            _ratios(curves, "clipped-gosta-constant-one", "clipped-gosta-nobody"),
            fw.at_most(1 + _NOISE),
            "Its error is {values:.2f} times that without liars (rule: at most {most:g} times).",
        ),
        fw.check(
            "clipped-attacks",
            "Against constant lies, changed signs and dissensus, clipped GoSta's error is at most "
            "a tenth of the unprotected one, with one liar and with one in a hundred.",
            "ours",
            {
                f"{name}, {attack}, {number}": by[f"gosta-{attack}-{number}"].final
                / by[f"clipped-gosta-{attack}-{number}"].final
                for name, by in curves.items()
                for attack, number in product(stopped, LIARS)
            },
            fw.at_least(10),
            "It is {values} times smaller.",
        ),
        fw.check(
            "inside-the-clip",
            "A liar who stays inside the clip is not stopped: to others it looks like a node with "
            "an extreme row.",
            "ours",
            {
                f"{name}, {number}": by[f"clipped-gosta-inside-the-clip-{number}"].final
                / by["clipped-gosta-nobody"].final
                for name, by in curves.items()
                for number in LIARS
            },
            fw.more_than(3),
            "With a clip, errors are {values} times those without liars (rule: more than {limit:g} "
            "times).",
        ),
    ]


def _clip_claims(curves: Curves) -> list[fw.Claim]:
    return [
        fw.check(
            "clipped-worst-node",
            "Not every honest node is protected: on a small world, where some have few neighbors, "
            "one beside liars may follow them.",
            "ours, found in a first run",
            {
                name: some.worst / some.final
                for name, by in curves.items()
                for some in [by["clipped-gosta-constant-some"]]
            },
            {"watts-strogatz": fw.more_than(10)},
            "With some liars that always send the same, the error of the worst honest node is "
            "{values:.3g} times the median (rule: more than 10 times on the small world).",
        ),
        fw.check(
            "clip-without-liars",
            "On normal rows the clip costs almost nothing if nobody lies.",
            "ours",
            _ratios(curves, "clipped-gosta-nobody", "gosta-nobody"),
            fw.at_most(_CLIP_COST),
            "The error is {values:.2f} times that of GoSta (rule: at most {most:g} times).",
        ),
        fw.check(
            "clip-on-skewed-rows",
            "On lognormal rows the clip costs accuracy even if nobody lies: extreme rows are "
            "doubted, too.",
            "ours",
            _ratios(curves, "clipped-gosta-skewed", "gosta-skewed"),
            fw.more_than(_CLIP_COST),
            "The error is {values:.2f} times that of GoSta.",
        ),
    ]


FAULTS = fw.Experiment(
    "faults",
    "When things go wrong",
    "What do lost and half-lost exchanges, nodes that come and go, and lying nodes do to gossip, "
    "and what does protection achieve?",
    cases,
    _report,
    place=16.3,
)

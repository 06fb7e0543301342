"""Several points per node: three ways for sites to exchange, by messages and bytes.

All tolerances were set before the first run, except for one: on complete graphs, where the
constructions differ by a tenth, "no worse" is judged by the scatter over trials.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pairgossip.checks import CONSTRUCTIONS
from pairgossip_paper import framework as fw
from pairgossip_paper.experiments.several_points.pictures import (
    LEVEL,
    ByConstruction,
    Curves,
    largest,
    price_picture,
    sent_picture,
    unequal_picture,
)
from pairgossip_paper.experiments.several_points.places import (
    SITES,
    UNWEIGHTED,
    SiteCurve,
    cases,
    ratio_at_end,
)
from pairgossip_paper.paper_setup import price, read_curves

_AGREEMENT = 0.25
"""Largest relative excess of one error over another at which they agree."""
_NO_WORSE = 0.1
"""Largest relative excess of an error that counts as no worse."""
_STANDARD_ERRORS = 3.0
"""Largest disadvantage on a complete graph that is put down to chance, in standard errors.

Set after a look at quick runs, whose ratios scatter by more than the tenth first intended.
"""
_FINAL_ERROR, _FINAL_SLOPE = 0.1, -0.35
"""Largest final relative error, and largest exponent of its fall, of a run that converges."""
_GAP_ROUNDING = 1e-10
"""Largest relative difference, put down to rounding, of numbers computed in two ways."""
_MESSAGE_SHARE = 1.25
"""Largest share of messages that whole sets may need, in units of 1/k."""


def _report(results: fw.Results) -> fw.Section:
    facts, curves = results["facts"], read_curves(SiteCurve, results, (*CONSTRUCTIONS, UNWEIGHTED))
    equal = {name: by for name, by in curves.items() if len(by) == len(CONSTRUCTIONS)}
    unequal = {name: by for name, by in curves.items() if UNWEIGHTED in by}
    return fw.Section(
        _headline(equal),
        [
            _about(curves),
            _describe_modes(equal, unequal),
            _about_prices(equal),
            _describe_unequal(unequal),
        ],
        [sent_picture(equal), price_picture(curves, facts), unequal_picture(unequal, facts)],
        [_graph_table(facts), _error_table(curves)],
        [
            _agreement_claim(equal, facts),
            _complete_claim(equal, facts),
            _messages_claim(equal, facts),
            _bytes_claim(equal, facts),
            _unequal_claim(unequal),
            _unweighted_claim(unequal, facts),
            _gap_claim(facts),
        ],
    )


def _blow_up_ratio(by: ByConstruction) -> float:
    return ratio_at_end(by["blow-up"], by["lexicographic"], "messages")


def _noise(by: ByConstruction) -> float:
    """Return the relative standard error of the ratio of blow-up to lexicographic errors."""
    return float(np.hypot(by["blow-up"].noise[-1], by["lexicographic"].noise[-1]))


def _per_message(fact: fw.Facts, construction: str) -> float:
    """Return the gap per exchange between sites; local exchanges are free."""
    graph = fact["graphs"][construction]
    return float(graph["gaps"]["uniform-edges"][0] / graph["share"])


def _headline(equal: Curves) -> str:
    shares = [_share_needed(by) for by in equal.values()]
    reached = [100 * share for share in shares if np.isfinite(share)]
    after = f", after {min(reached):.2g} to {max(reached):.2g} % of the messages" if reached else ""
    return (
        f"On {len(reached)} of {len(shares)} networks, sites that swap all their rows at once "
        f"become as precise as sites that swap row by row{after}."
    )


def _about(curves: Curves) -> str:
    run = next(iter(curves.values()))["lexicographic"].run
    sites = ", ".join(f"{name} of {n}" for name, n in SITES.items())
    return (
        "Gini mean difference of incomes by GoSta (synchronous): `n` sites hold `k` rows each, "
        "which are `nk` quantiles of the same distribution, dealt at random. With unequal sizes "
        "incomes are sorted over the sites, and the richer a site the fewer rows it has. Networks: "
        f"{sites} sites. Every run makes about {int(run.messages[-1]) // 2:,} exchanges between "
        f"sites, in {run.trials} trials; exchanges within a site are free and come on top. An "
        "error is the root mean square over nodes and trials relative to the statistic; nodes are "
        "the rows, or the sites where these swap whole sets."
    )


def _describe_modes(equal: Curves, unequal: Curves) -> str:
    """Describe where the two constructions of rows differ, and where the slowest mode decides."""
    dealt, ordered = (
        [_blow_up_ratio(by) for name, by in places.items() if not name.startswith("complete")]
        for places in (equal, unequal)
    )
    return (
        "On the cycle and the torus, the slowest mode of both constructions of rows decays equally "
        "fast per message, but the modes within sites, of which there are more the more rows, "
        "decay faster where rows of one site exchange for free. Where rows are dealt at random all "
        "modes weigh alike: at equal messages the error of the blow-up is "
        f"{min(dealt):.3g} to {max(dealt):.3g} times that of the lexicographic construction. Where "
        "incomes are sorted over the sites, the slow modes between sites outweigh them: "
        f"{min(ordered):.3g} to {max(ordered):.3g} times."
    )


def _describe_unequal(unequal: Curves) -> str:
    """Compare whole sets with rows at sites of unequal sizes, by messages and by bytes."""
    ratios = {
        against: [ratio_at_end(by["whole-sets"], by["lexicographic"], against) for by in places]
        for against, places in (("messages", unequal.values()), ("bytes", unequal.values()))
    }
    listed = {key: ", ".join(f"{ratio:.3g}" for ratio in each) for key, each in ratios.items()}
    worse = [name for name, ratio in zip(unequal, ratios["bytes"], strict=True) if ratio > 1]
    return (
        "With unequal sites, pairs of sites weigh as much as they have pairs of rows, so the "
        "values that whole sets average vary more, and a site learns most from few others. At the "
        f"end their error is {listed['messages']} times that of the lexicographic construction at "
        f"equal messages and {listed['bytes']} times at equal bytes ({', '.join(unequal)}). At "
        f"equal bytes they are worse on {', '.join(worse) or 'no network'}."
    )


def _about_prices(equal: Curves) -> str:
    listed = []
    for graph in SITES:
        name = largest(equal, graph)
        prices = [
            f"{construction} {_format_price(curve.needed(LEVEL, 'messages'))} messages and "
            f"{_format_price(curve.needed(LEVEL, 'bytes'))} bytes"
            for construction, curve in equal[name].items()
        ]
        listed.append(f"on {name}, {'; '.join(prices)}")
    return (
        f"To stay below a relative error of {LEVEL:g}: {'. '.join(listed)}. Whole sets pay in "
        "work instead: every update of a site sums over `k x k` pairs of rows."
    )


def _format_price(amount: float | None) -> str:
    return "more than all" if amount is None else f"{round(amount):,}"


def _graph_table(facts: fw.Facts) -> fw.Table:
    return fw.Table.from_records(
        "Virtual graphs, and how fast they mix",
        [
            {
                "place": name,
                "construction": construction,
                "rows": sum(fact["sizes"]),
                "edges": graph["edges"],
                "share between sites": graph["share"],
                "gap, from the sites": graph["gaps"]["uniform-edges"][0],
                "gap, from all edges": graph["gaps"]["uniform-edges"][1],
                "gap per exchange between sites": _per_message(fact, construction),
                "gap `x` of whole sets": graph["sites_gap"],
            }
            for name, fact in facts.items()
            for construction, graph in fact["graphs"].items()
        ],
        "Gaps are normalized, under uniform edges: per exchange, local ones included, unless it "
        "says otherwise.",
    )


def _error_table(curves: Curves) -> fw.Table:
    return fw.Table.from_records(
        "Errors and their price",
        [
            {"place": name, "construction": construction, **_error_record(curve, construction)}
            for name, by in curves.items()
            for construction, curve in by.items()
        ],
        "The exponent is that of the fall over the last decade. A site may average the estimates "
        "of its rows for free. With one row per site all constructions are the same.",
    )


def _error_record(curve: SiteCurve, construction: str) -> dict[str, fw.Cell]:
    is_model = construction == UNWEIGHTED  # its nodes carry numbers of sites, not rows
    return {
        "final relative error": curve.final,
        "exponent": curve.slope,
        "final, mean of a site's rows": curve.site_error,
        "bytes per message": None if is_model else curve.bytes_per_message,
        f"messages to {LEVEL:g}": price(curve.needed(LEVEL)),
        f"bytes to {LEVEL:g}": None if is_model else price(curve.needed(LEVEL, "bytes")),
    }


def _agreement_claim(equal: Curves, facts: fw.Facts) -> fw.Claim:
    places = {name: by for name, by in equal.items() if not name.startswith("complete")}
    ratios = {name: _blow_up_ratio(by) for name, by in places.items()}
    exact = [_per_message(facts[name], "blow-up") for name in places]
    ours = [_per_message(facts[name], "lexicographic") for name in places]
    apart = float(np.abs(np.array(exact) / np.array(ours) - 1).max())
    return fw.Claim(
        "several-points-agree",
        "On graphs that are not complete, the lexicographic and the blow-up construction are "
        "equally good at equal numbers of messages: local exchanges are free, but do not help the "
        "slowest mode.",
        "theory: gap per exchange between sites, `x/k` for both",
        fw.grade(
            [
                apart < _GAP_ROUNDING,
                *(abs(np.log(r)) <= np.log1p(_AGREEMENT) for r in ratios.values()),
            ]
        ),
        f"Gaps per exchange between sites differ by {apart:.1g} relatively. At equal messages at "
        f"the end, the error of the blow-up is {fw.list_values(ratios)} times that of the "
        "lexicographic construction, with standard errors of up to "
        f"{max(map(_noise, places.values())):.2g} (rule: within {100 * _AGREEMENT:g} %).",
    )


def _complete_claim(equal: Curves, facts: fw.Facts) -> fw.Claim:
    places = {name: by for name, by in equal.items() if name.startswith("complete")}
    ratios = {name: _blow_up_ratio(by) for name, by in places.items()}
    gaps = {
        name: _per_message(facts[name], "lexicographic") / _per_message(facts[name], "blow-up")
        for name in places
    }
    noise = {name: _noise(by) for name, by in places.items()}
    mean = float(np.exp(np.mean(np.log(list(ratios.values())))))
    scatter = float(np.linalg.norm(list(noise.values()))) / len(noise)
    return fw.Claim(
        "several-points-complete",
        "On a complete graph the lexicographic construction is ahead of the blow-up: its gap per "
        "message is larger, and its error at equal numbers of messages no larger.",
        "theory: gap per exchange between sites",
        fw.grade(
            [
                min(gaps.values()) > 1 + _GAP_ROUNDING,
                *(ratios[name] >= 1 - _STANDARD_ERRORS * noise[name] for name in places),
            ]
        ),
        f"Its gap per exchange between sites is {fw.list_values(gaps)} times that of the blow-up. "
        f"At equal messages at the end, the error of the blow-up is {fw.list_values(ratios)} times "
        f"its own, {mean:.3g} times on average with a standard error of {scatter:.2g} (rule: not "
        f"below 1 by more than {_STANDARD_ERRORS:g} standard errors).",
    )


def _share_needed(by: Mapping[str, SiteCurve]) -> float:
    """Return the share of messages after which whole sets reach the final error of rows."""
    rows = by["lexicographic"]
    needed = by["whole-sets"].needed(rows.final, "messages")
    return np.inf if needed is None else needed / float(rows.messages[-1])


def _messages_claim(equal: Curves, facts: fw.Facts) -> fw.Claim:
    return fw.check(
        "several-points-messages",
        "Sites that swap whole sets of `k` rows need `1/k` of the messages.",
        "theory: gap per exchange, `x` for whole sets and `x/k` for rows",
        {name: _share_needed(by) for name, by in equal.items()},
        {name: fw.at_most(_MESSAGE_SHARE / facts[name]["sizes"][0]) for name in equal},
        "To reach the final error of the lexicographic construction, whole sets need {values} of "
        "its messages (rule: at most `{times:g}/k`).",
        times=_MESSAGE_SHARE,
    )


def _bytes_claim(equal: Curves, facts: fw.Facts) -> fw.Claim:
    """Compare whole sets with rows at equal bytes, though their messages are longer."""
    longer, ratios, passed = {}, {}, []
    for name, by in equal.items():
        rows, sets, k = by["lexicographic"], by["whole-sets"], facts[name]["sizes"][0]
        longer[name] = sets.bytes_per_message / rows.bytes_per_message
        # k observations and an estimate, instead of one observation and an estimate.
        passed.append(abs(longer[name] / ((k + 1) / 2) - 1) < _GAP_ROUNDING)
        ratios[name] = ratio_at_end(sets, rows, "bytes")
        passed.append(ratios[name] <= 1 + _NO_WORSE)
    return fw.Claim(
        "several-points-bytes",
        "A message of whole sets carries `k` times the observations, and they are no worse than "
        "rows at equal numbers of bytes.",
        "theory: `(k + 1)/2` times the bytes in `1/k` of the messages, for one column",
        fw.grade(passed),
        f"Messages are {fw.list_values(longer)} times as long. At equal bytes at the end, the "
        f"error of whole sets is {fw.list_values(ratios)} times that of the lexicographic "
        f"construction (rule: at most {1 + _NO_WORSE:g}).",
    )


def _unequal_claim(unequal: Curves) -> fw.Claim:
    passed, listed = [], []
    for name, by in unequal.items():
        weighted = {key: curve for key, curve in by.items() if key != UNWEIGHTED}
        passed += [c.final < _FINAL_ERROR and c.slope <= _FINAL_SLOPE for c in weighted.values()]
        each = ", ".join(f"{key} {c.final:.3g} ({c.slope:.2f})" for key, c in weighted.items())
        listed.append(f"{name}: {each}")
    return fw.Claim(
        "several-points-unequal",
        "With unequal sites, all three constructions converge to the statistic of all rows.",
        "theory: rows are nodes, and whole sets weigh pairs by the numbers of rows",
        fw.grade(passed),
        f"Final relative errors, and exponents of their fall: {'; '.join(listed)} (rule: below "
        f"{_FINAL_ERROR:g} and {_FINAL_SLOPE:g}).",
    )


def _unweighted_claim(unequal: Curves, facts: fw.Facts) -> fw.Claim:
    """Show that whole sets without weights end at another value, which theory gives exactly."""
    passed, listed = [], []
    for name, by in unequal.items():
        fact = facts[name]
        away = abs(fact["unweighted"] / fact["value"] - 1)
        final = by[UNWEIGHTED].final
        passed.append(away > _FINAL_ERROR and abs(final / away - 1) < _AGREEMENT)
        listed.append(f"{final:.3g} where {away:.3g} was predicted ({name})")
    return fw.Claim(
        "several-points-unweighted",
        "Sites of unequal sizes that swap whole sets and forget the sizes estimate another "
        "statistic.",
        "theory: the mean over pairs of sites, not of rows",
        fw.grade(passed),
        f"Final relative errors are {', '.join(listed)}.",
    )


def _gap_claim(facts: fw.Facts) -> fw.Claim:
    pairs = np.array(
        [
            gaps
            for fact in facts.values()
            for graph in fact["graphs"].values()
            for gaps in graph["gaps"].values()
        ]
    )
    apart = float(np.abs(pairs[:, 0] / pairs[:, 1] - 1).max())
    return fw.Claim(
        "several-points-gap",
        "The gap of the virtual graph comes exactly from a matrix of sites by sites.",
        "theory: the spectrum of the virtual graph",
        fw.grade([apart < _GAP_ROUNDING]),
        f"Over {len(pairs)} virtual graphs and laws, equal and unequal sizes, the gap differs from "
        f"that of the listed edges by {apart:.1g} relatively (rule: less than {_GAP_ROUNDING:g}).",
    )


SEVERAL_POINTS = fw.Experiment(
    "several-points",
    "Several points per node",
    "If sites hold many rows, which way to exchange them needs the fewest messages or bytes: one "
    "row at a time with the rows of one site joined (lexicographic) or not (blow-up), or all rows "
    "of a site at once (whole sets)?",
    cases,
    _report,
    place=15,
)

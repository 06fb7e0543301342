"""The section of a result's page on the agreement of sites, with its forest plot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from pairgossip.agreement.forest import Forest, ForestLine
from pairgossip.agreement.scales import go_back, place
from pairgossip.order_statistics.laws import normal_quantile
from pairgossip.pages.page import Facts, Figure, Heading, Part
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.site_sums import Line, find_agreement
from pairgossip.text import clean_text

_LEVEL = 0.95
_READING = "auc"


def show_sites(result: Result, names: Mapping[str, str]) -> Iterator[Part]:
    """Yield the section on the sites of a result; ``names`` are those of members, by their ids."""
    sums = result.heterogeneity
    if sums is None:
        return
    yield Heading("Do the sites agree?")
    agreement = find_agreement(sums)
    if agreement is not None:
        shown = sorted((names.get(one, one), line) for one, line in (sums.shown or {}).items())
        lines = [_place(clean_text(name), line, 1 / sums.sites) for name, line in shown]
        ends = agreement.interval, agreement.prediction_interval
        picture = Forest(_READING, _LEVEL, lines, agreement.mean, *ends).draw()
        text = f"The diamond is the mean over {sums.sites} sites, each of which counts alike, with "
        text += "its interval; the line below is where a new site may be."
        if lines:
            hidden = sums.sites - len(lines)
            others = f"; the other {hidden} do not" if hidden else ""
            text += f" Above are the sites that show their own{others}."
        yield Figure(picture, text)
    yield Facts(tuple(result.describe_sites()))


def _place(name: str, line: Line, weight: float) -> ForestLine:
    """Return the line of a site, with an interval on the logit if it has an error."""
    y, v = place(line.value, line.error, "logit")
    if math.isnan(y):
        return ForestLine(name, line.value, (math.nan, math.nan), weight)
    half = normal_quantile(_LEVEL) * math.sqrt(v)
    low, high = go_back("logit", np.array([y - half, y + half])).tolist()
    return ForestLine(name, line.value, (low, high), weight)

"""Times to events, which may be censored: survival curves, tests of groups, ranking of risks.

>>> import pairgossip as pg
>>> weeks = [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
>>> relapse = [1] * 9 + [0] * 12
>>> print(pg.survival.kaplan_meier(weeks, relapse))
rows  events  median         95 %
  21       9      23  13 or later
"""

from pairgossip.survival.concordance import concordance
from pairgossip.survival.curve import Curve, Median, Survival
from pairgossip.survival.kaplan_meier import KaplanMeier, kaplan_meier
from pairgossip.survival.log_rank import LogRank, log_rank

__all__ = [
    "Curve",
    "KaplanMeier",
    "LogRank",
    "Median",
    "Survival",
    "concordance",
    "kaplan_meier",
    "log_rank",
]

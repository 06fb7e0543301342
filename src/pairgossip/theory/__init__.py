"""One function per theorem, named as in the paper, in corrected form."""

from pairgossip.theory.bounds import (
    averaging_bound,
    gosta_deviation_bound,
    gosta_expectation_bound,
    gosta_sharper_deviation_bound,
    u1_gossip_bound,
    u2_gossip_bound,
)
from pairgossip.theory.constants import Constants, constants
from pairgossip.theory.curves import TheoryCurves, theory_curves
from pairgossip.theory.expectation import expected_estimates
from pairgossip.theory.gossip_spectrum import GossipSpectrum, gossip_spectrum

__all__ = [
    "Constants",
    "GossipSpectrum",
    "TheoryCurves",
    "averaging_bound",
    "constants",
    "expected_estimates",
    "gossip_spectrum",
    "gosta_deviation_bound",
    "gosta_expectation_bound",
    "gosta_sharper_deviation_bound",
    "theory_curves",
    "u1_gossip_bound",
    "u2_gossip_bound",
]

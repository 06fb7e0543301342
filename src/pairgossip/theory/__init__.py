"""One function per theorem, named as in the paper, in corrected form."""

from pairgossip.theory.bounds import (
    averaging_bound,
    averaging_expectation_bound,
    claimed_pairwise_lower_bound,
    gosta_deviation_bound,
    gosta_expectation_bound,
    gosta_sharper_deviation_bound,
    separable_lower_bound,
    u1_gossip_bound,
    u2_gossip_bound,
)
from pairgossip.theory.constants import Constants, GossipSpectrum, constants, gossip_spectrum
from pairgossip.theory.curves import TheoryCurves, theory_curves
from pairgossip.theory.ergodic import (
    ergodic_bound,
    ergodic_corollary,
    leading_constant,
    mixing_horizon,
    optimal_step_constant,
)
from pairgossip.theory.expectation import expected_estimates
from pairgossip.theory.optimization import (
    DescentConstants,
    Rate,
    descent_constants,
    disagreement_constant,
    dispersion_bound,
    general_rate,
    readout,
)

__all__ = [
    "Constants",
    "DescentConstants",
    "GossipSpectrum",
    "Rate",
    "TheoryCurves",
    "averaging_bound",
    "averaging_expectation_bound",
    "claimed_pairwise_lower_bound",
    "constants",
    "descent_constants",
    "disagreement_constant",
    "dispersion_bound",
    "ergodic_bound",
    "ergodic_corollary",
    "expected_estimates",
    "general_rate",
    "gossip_spectrum",
    "gosta_deviation_bound",
    "gosta_expectation_bound",
    "gosta_sharper_deviation_bound",
    "leading_constant",
    "mixing_horizon",
    "optimal_step_constant",
    "readout",
    "separable_lower_bound",
    "theory_curves",
    "u1_gossip_bound",
    "u2_gossip_bound",
]

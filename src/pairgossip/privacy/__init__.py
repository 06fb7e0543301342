"""Local differential privacy: randomized reports, and statistics that allow for them."""

from pairgossip.privacy.advice import BinAdvice, advise_bins
from pairgossip.privacy.binning import binning_bias, binning_bound
from pairgossip.privacy.debiased import DebiasedKernel
from pairgossip.privacy.gradients import DebiasedLoss
from pairgossip.privacy.learning import PrivateLearning, ReportedLearning
from pairgossip.privacy.means import PrivateMeans
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.privacy.moments import conditional_variance, standard_error
from pairgossip.privacy.noise import PrivacyError
from pairgossip.privacy.pairs import PrivatePairs, ReportedPairs
from pairgossip.privacy.response import Probabilities, Response
from pairgossip.privacy.whole_sets import PrivateSets

__all__ = [
    "BinAdvice",
    "DebiasedKernel",
    "DebiasedLoss",
    "PrivacyError",
    "PrivateLearning",
    "PrivateMeans",
    "PrivatePairs",
    "PrivateSets",
    "Probabilities",
    "RandomizedResponse",
    "ReportedLearning",
    "ReportedPairs",
    "Response",
    "advise_bins",
    "binning_bias",
    "binning_bound",
    "conditional_variance",
    "standard_error",
]

"""Local differential privacy: randomized reports, and statistics that allow for them."""

from pairgossip.privacy.advice import BinAdvice, advise_bins
from pairgossip.privacy.debiased import DebiasedKernel
from pairgossip.privacy.estimation import PrivateMeans, PrivatePairs, PrivateSets, ReportedPairs
from pairgossip.privacy.learning import DebiasedLoss, PrivateLearning, ReportedLearning
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.privacy.moments import (
    PrivacyError,
    binning_bias,
    binning_bound,
    conditional_variance,
    standard_error,
)
from pairgossip.privacy.response import Probabilities, Response

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

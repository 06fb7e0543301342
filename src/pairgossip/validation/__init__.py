"""Validation of scores: discrimination, calibration, thresholds and groups, from rows or counts."""

from pairgossip.validation.reading import validate
from pairgossip.validation.validation import Validation

__all__ = ["Validation", "validate"]

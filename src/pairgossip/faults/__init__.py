"""Faults of a network: exchanges that are lost, nodes that come and go, and liars."""

from pairgossip.faults.settings import Churn, Faults

__all__ = ["Churn", "Faults"]

"""The paper's experiments, one file each, and the command that reproduces them."""

from pairgossip.experiments.catalog import CATALOG
from pairgossip.experiments.reproduction import Reproduction, reproduce

__all__ = ["CATALOG", "Reproduction", "reproduce"]

"""The paper's experiments, one file each, and the command that reproduces them."""

from pairgossip.experiments.framework.section import Claim, Picture, Section, Table
from pairgossip.experiments.reproduction import CATALOG, Reproduction, reproduce

__all__ = ["CATALOG", "Claim", "Picture", "Reproduction", "Section", "Table", "reproduce"]

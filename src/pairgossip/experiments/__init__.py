"""The paper's experiments, a module or a folder each, and what runs and reports them."""

from pairgossip.experiments.framework import Claim, Picture, Section, Table
from pairgossip.experiments.reproduction import CATALOG, Reproduction, reproduce

__all__ = ["CATALOG", "Claim", "Picture", "Reproduction", "Section", "Table", "reproduce"]

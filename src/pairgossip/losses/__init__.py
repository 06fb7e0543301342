"""Losses f(theta; x, y) of pairs, their risks, proximal maps and step sizes."""

from pairgossip.losses import steps
from pairgossip.losses.builtin import (
    CATALOG,
    as_loss,
    auc_loss,
    metric_loss,
    ranking_loss,
    register,
    register_margin,
)
from pairgossip.losses.general import GeneralLoss
from pairgossip.losses.learning import auc_of_scores, risk, risks
from pairgossip.losses.loss import Loss
from pairgossip.losses.margins import MARGINS, Margin, Phi, margin
from pairgossip.losses.proximal import (
    L1,
    PSD,
    Ball,
    Box,
    Combined,
    Proximal,
    SquaredL2,
    Unconstrained,
    as_proximal,
)
from pairgossip.losses.steps import (
    AdaptiveStep,
    PowerStep,
    adaptive,
    check_steps,
    constant,
    inverse_sqrt,
    power,
    step_sum,
    step_values,
)

__all__ = [
    "CATALOG",
    "L1",
    "MARGINS",
    "PSD",
    "AdaptiveStep",
    "Ball",
    "Box",
    "Combined",
    "GeneralLoss",
    "Loss",
    "Margin",
    "Phi",
    "PowerStep",
    "Proximal",
    "SquaredL2",
    "Unconstrained",
    "adaptive",
    "as_loss",
    "as_proximal",
    "auc_loss",
    "auc_of_scores",
    "check_steps",
    "constant",
    "inverse_sqrt",
    "margin",
    "metric_loss",
    "power",
    "ranking_loss",
    "register",
    "register_margin",
    "risk",
    "risks",
    "step_sum",
    "step_values",
    "steps",
]

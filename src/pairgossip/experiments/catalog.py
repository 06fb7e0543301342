"""All experiments, in the order of the report."""

from __future__ import annotations

from pairgossip.experiments.auc_maximization import AUC_ASYNC, AUC_SYNC
from pairgossip.experiments.errata_evidence import ERRATA_EVIDENCE
from pairgossip.experiments.estimation_comparison import AUC, SCATTER
from pairgossip.experiments.framework.experiment import Experiment
from pairgossip.experiments.graph_gaps import GAPS
from pairgossip.experiments.metric_learning import DIGITS, MIXTURE
from pairgossip.experiments.mixing_times import MIXING
from pairgossip.experiments.private_estimation import PRIVATE
from pairgossip.experiments.scaling import SCALING
from pairgossip.experiments.separable_and_pairwise import SEPARABLE
from pairgossip.experiments.several_points import SEVERAL_POINTS
from pairgossip.experiments.theory_and_measurement import THEORY

CATALOG: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        *(GAPS, AUC_SYNC, AUC_ASYNC, SCATTER, AUC, MIXTURE, DIGITS),
        *(THEORY, MIXING, SCALING, SEPARABLE, SEVERAL_POINTS, PRIVATE, ERRATA_EVIDENCE),
    )
}
"""By their names, what `reproduce` can run."""

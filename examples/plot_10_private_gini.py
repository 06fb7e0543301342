"""
A private statistic, and what it costs
======================================

Every household replaces its income by one randomized report, and the network estimates the Gini
mean difference from the reports. The cost is known beforehand: noise, which epsilon sets, and the
bias of the bins.
"""

import matplotlib.pyplot as plt
import numpy as np

import pairgossip as pg

incomes = pg.datasets.engel()["income"]
epsilons = [1, 2, 4, 8]


def private(epsilon):
    """Report one of five bins; the range is declared, not computed from the data."""
    return pg.privacy.RandomizedResponse(epsilon, bins=5, range=(0, 5000))


# %%
# Each trial draws reports of its own. Its nodes converge to the debiased statistic of these
# reports; errors are measured to the exact value of the true incomes.
runs = {
    epsilon: pg.estimate(
        incomes, "gini", privacy=private(epsilon), iterations=60_000, trials=50, seed=1, n_jobs=1
    )
    for epsilon in epsilons
}

# %%
# The errors end near the error that was predicted from the data before any report was drawn; 50
# trials still scatter about it.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for color, (epsilon, run) in zip(("C0", "C1", "C2", "C3"), runs.items(), strict=True):
    left.plot(run.iterations, run.error, color=color, label=f"epsilon {epsilon}")
    left.axhline(run.privacy_error.size, color=color, linestyle=":", linewidth=1)
left.set_xscale("log")
left.set_yscale("log")
left.set_xlim(left=100)
left.set_xlabel("exchanges")
left.set_ylabel("RMS error over nodes and trials")
left.set_title("dotted: predicted error of the reports", fontsize="medium")
left.legend()

# %%
# More people make it cheaper: the noise falls like 1/sqrt(n).
sizes = np.geomspace(235, 1e6, 8).astype(int)
people = [np.quantile(incomes, (np.arange(size) + 0.5) / size) for size in sizes]
for color, epsilon in zip(("C0", "C1", "C2", "C3"), epsilons, strict=True):
    errors = [pg.privacy.standard_error(private(epsilon), rows, "gini") for rows in people]
    right.plot(sizes, errors, color=color, label=f"epsilon {epsilon}")
right.axhline(float(runs[1].target), color="gray", linewidth=1)
right.annotate("the value itself", (sizes[-1], runs[1].target), ha="right", va="bottom")
right.set_xscale("log")
right.set_yscale("log")
right.set_xlabel("people with the same distribution of incomes")
right.set_ylabel("standard error of the reports")

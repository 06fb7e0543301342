"""
Expectation and bounds beside a measurement
===========================================

For synchronous gossip the expected estimate of every node is known exactly, at any time, from one
eigendecomposition. So a measurement can be checked against the expectation itself, not only
against bounds.
"""

import matplotlib.pyplot as plt
import numpy as np

import pairgossip as pg
from pairgossip.kernels import Pairs
from pairgossip.theory import constants, expected_estimates, gosta_expectation_bound

n, trials = 30, 500
values = np.linspace(0.0, 1.0, n) ** 3
network = pg.graphs.path(n)
times = np.unique(np.geomspace(1, 20_000, 40).astype(int))
run = pg.estimate(
    values, "gini", network, checkpoints=times, iterations=20_000, trials=trials, seed=0, n_jobs=1
)

# %%
# Single runs scatter, their mean does not: it follows the exact expectation of each node. Node 0,
# at the end of the path, learns last.
pairs = Pairs(values, "gini").matrix()
expected = expected_estimates(pairs, network, times)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for color, node in zip(("C0", "C1", "C2"), (0, 14, 29), strict=True):
    measured = run.history[:, :, node].mean(axis=0)
    ax.plot(times, expected[:, node], color=color, label=f"node {node}: exact expectation")
    ax.plot(times, measured, "o", color=color, markersize=3)
ax.axhline(float(run.target), color="0.3", linewidth=1)
ax.set_xscale("log")
ax.set_xlabel("exchanges")
ax.set_ylabel("estimate")
ax.set_title(f"Dots: mean over {trials:,} trials")
ax.legend(fontsize="small")

# %%
# The size of the bias over all nodes, and its bound in corrected form, which falls like one over
# the number of exchanges. In the gray region the noise of finitely many trials would hide a bias.
bias = np.linalg.norm(expected - run.target, axis=1)
bound = gosta_expectation_bound(constants(pairs, network), times)
noise = run.error * np.sqrt(n / trials)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.loglog(times, run.bias * np.sqrt(n), "o", markersize=3, label="measured")
ax.loglog(times, bias, color="C1", label="exact")
ax.loglog(times, bound, ":", color="C2", label="bound")
ax.fill_between(times, 1e-4, noise, color="0.9", label="noise of the mean over trials")
ax.set_ylim(1e-3, 1e4)
ax.set_xlabel("exchanges")
ax.set_ylabel("norm of the bias over all nodes")
ax.set_title(f"Path of {n} nodes, {trials:,} trials")
ax.legend(fontsize="small")

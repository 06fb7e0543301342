"""
A kernel of your own
====================

A kernel is any NumPy function of two blocks of observations. Here it measures energy distance
between two samples, a statistic that shows whether they come from the same distribution. Each
node holds one value and the name of its sample, 0 or 1.
"""

import matplotlib.pyplot as plt
import numpy as np

import pairgossip as pg

rng = np.random.default_rng(0)
sample = np.repeat([0.0, 1.0], 100)
shifts = [0.0, 0.5, 1.0]
noise = rng.normal(size=200)


# %%
# With samples of equal size, the energy distance is an average over all ordered pairs: pairs from
# different samples count positively, pairs from the same sample negatively. Rows of ``x`` and
# ``y`` are observations, columns are value and sample.
def energy(x, y):
    sign = np.where(x[:, 1] != y[:, 1], 1.0, -1.0)
    return 4 * sign * np.abs(x[:, 0] - y[:, 0])


kernel = pg.Kernel(energy, name="energy distance", symmetric=True, zero_diagonal=True)

# %%
# The kernel needs no declaration and is not compiled. Each node should find the exact value over
# all pairs.
network = pg.graphs.random_regular(200, degree=6, seed=0)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for color, shift in zip(("C0", "C1", "C2"), shifts, strict=True):
    data = np.column_stack([noise + shift * sample, sample])
    run = pg.estimate(data, kernel, network, iterations=60_000, trials=10, seed=1, n_jobs=1)
    low, high = run.mean - run.spread, run.mean + run.spread
    ax.fill_between(run.iterations, low, high, color=color, alpha=0.2, linewidth=0)
    ax.plot(run.iterations, run.mean, color=color, label=f"shift {shift}")
    ax.axhline(float(run.target), color=color, linestyle=":", linewidth=1)
ax.set_xscale("log")
ax.set_xlim(left=100)
ax.set_ylim(-1, 2)
ax.set_xlabel("exchanges")
ax.set_ylabel("energy distance")
ax.set_title("Estimates: mean ± standard deviation over nodes; dotted: exact")
ax.legend(title="second sample moved by")

"""
Many rows per site
==================

Sixteen shops know the incomes of 235 customers, some of a few, some of dozens. There are several
ways to exchange rows, one by one or all rows of a shop at once. In each of them all shops learn the
Gini mean difference of all customers, but they send different amounts.
"""

import matplotlib.pyplot as plt
import numpy as np

import pairgossip as pg

income = pg.datasets.engel()["income"]
share = np.geomspace(1, 30, 16)
shop = np.random.default_rng(0).choice(16, len(income), p=share / share.sum())
shop[:16] = range(16)  # no shop without a customer
network = pg.graphs.torus(4, 4)

# %%
# Rows of one shop exchange for free (lexicographic) or never (blow-up); with whole sets a node is
# a shop, and two that meet swap all they hold.
iterations = {"lexicographic": 60_000, "blow-up": 50_000, "whole-sets": 20_000}
runs = {
    construction: pg.estimate(
        income,
        "gini",
        network,
        groups=shop,
        construction=construction,
        iterations=count,
        trials=20,
        seed=0,
        n_jobs=1,
    )
    for construction, count in iterations.items()
}

# %%
# Whole sets need far fewer messages for a rough answer. But messages are long, and two shops that
# meet count with their pairs of customers, so the few large shops decide. At equal bytes, rows one
# by one end ahead. With shops of equal sizes whole sets would win both ways.
figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained", sharey=True)
for ax, against in zip(axes, ("messages", "bytes"), strict=True):
    pg.compare(runs, against=against, ax=ax)
    ax.set_ylabel("RMS error over nodes (francs)" if against == "messages" else "")
figure.suptitle("Gini's mean difference of 235 customers of 16 shops on a torus")

# %%
# How fast rows spread comes from a matrix of shops by shops, however many rows there are.
virtual = runs["lexicographic"].graph
print(f"{virtual.n} rows, {virtual.edge_count:,} virtual edges, gap {virtual.normalized_gap():.2e}")
print(f"{virtual.network_fraction():.0%} of the exchanges are between shops")

"""
Metric learning
===============

A distance in which wines of one cultivar are near and others far, learned from pairs. Each wine
sits at a node of a network; the nodes gossip until they agree on a matrix.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import pairgossip as pg
from pairgossip.learn import GossipMetricLearner

X, y = pg.datasets.wine()
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
learner = GossipMetricLearner(
    graph="watts_strogatz", kind="full", iterations=10_000, random_state=0
).fit(X_train, y_train)

# %%
# ``transform`` maps wines so that Euclidean distances become the learned ones: nearest neighbors
# need no change.
near_raw = KNeighborsClassifier(5).fit(X_train, y_train).score(X_test, y_test)
near = KNeighborsClassifier(5).fit(learner.transform(X_train), y_train)
near_learned = near.score(learner.transform(X_test), y_test)
print(f"5 nearest neighbors, accuracy: raw {near_raw:.2f}, learned {near_learned:.2f}")


# %%
# Distances between all pairs of held-out wines, before and after: they overlap in the raw units,
# where one large feature hides the others, and separate in the learned metric.
def distances(points, same):
    gaps = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    alike = y_test[:, None] == y_test[None, :]
    return gaps[(alike == same) & ~np.eye(len(points), dtype=bool)]


figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, title, points in zip(
    axes, ("raw features", "learned metric"), (X_test, learner.transform(X_test)), strict=True
):
    both = [distances(points, same) for same in (True, False)]
    bins = np.linspace(0, np.quantile(np.concatenate(both), 0.99), 40)
    for values, label in zip(both, ("same cultivar", "different cultivars"), strict=True):
        ax.hist(values, bins, density=True, alpha=0.6, label=label)
    ax.set_xlabel("distance between two held-out wines")
    ax.set_ylabel("density")
    ax.set_title(title)
axes[0].legend()

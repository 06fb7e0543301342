"""
The AUC of a scoring model
==========================

Hospitals share a diagnostic score and want to know how good it is on all their patients, without
pooling them. The AUC is a quotient of two pairwise averages; both travel on the same walk.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import pairgossip as pg

# %%
# A deliberately poor model, trained on two features of the Wisconsin breast cancer cases, scores
# the cases held out. Each of them sits at a node of a random geometric network, such as sensors
# that reach their neighbors only.
X, y = pg.datasets.breast_cancer_wisconsin()
X_train, X_test, y_train, y_test = train_test_split(
    X[:, [4, 8]], y, test_size=300, stratify=y, random_state=0
)
scores = LogisticRegression().fit(X_train, y_train).decision_function(X_test)
network = pg.graphs.random_geometric(len(scores), radius=0.15, seed=3)

run = pg.estimate(
    scores, "auc", network, labels=y_test, iterations=200_000, trials=5, seed=0, n_jobs=1
)
print(f"by gossip {run.mean[-1]:.4f}, by scikit-learn {roc_auc_score(y_test, scores):.4f}")

# %%
# Left, the estimates. Right, the nodes whose estimates are still too high or too low after 10,000
# exchanges. Neighbors have similar errors, because they have met much the same rows.
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
run.plot("estimate", ax=left)
left.set_ylabel("AUC")
left.set_ylim(0.8, 1.0)
checkpoint = int(np.searchsorted(run.iterations, 10_000))
run.plot_graph(checkpoint=checkpoint, ax=right)
right.set_title(f"after {run.iterations[checkpoint]:,} exchanges")

"""
An AUC classifier for scikit-learn
==================================

``GossipAUCClassifier`` behaves like any classifier of scikit-learn: in pipelines, in cross
validation, in grid search. Inside, each training row sits at a node of a network, and the nodes
learn a common score by exchanging with neighbors: sums, from which every node computes the optimum,
or, as in the paper, rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import RocCurveDisplay
from sklearn.model_selection import cross_val_score, train_test_split

import pairgossip as pg
from pairgossip.learn import GossipAUCClassifier

X, y = pg.datasets.breast_cancer_wisconsin()
classifier = GossipAUCClassifier(graph="watts_strogatz", random_state=0)
swapping = GossipAUCClassifier(
    graph="watts_strogatz", solver="dual-averaging", iterations=40_000, random_state=0
)

# %%
# Cross-validated AUC, beside a model that sees all the data in one place.
models = {"sums": classifier, "swaps": swapping, "centralized": LogisticRegression()}
for name, model in models.items():
    aucs = cross_val_score(model, X, y, cv=3, scoring="roc_auc")
    print(f"{name}: AUC {aucs.mean():.4f} ± {aucs.std():.4f}")

# %%
# With sums averaged along a tree all nodes end with the same model. By swapping rows every node has
# a model of its own. After training they are close, and so are their ROC curves on held-out cases;
# more iterations bring them closer.
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
swapping.fit(X_train, y_train)
figure, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
for node in range(0, len(swapping.models_), 40):
    scores = X_test @ swapping.models_[node]
    RocCurveDisplay.from_predictions(
        y_test, scores, ax=ax, plot_chance_level=False, curve_kwargs={"color": "C0", "alpha": 0.2}
    )
ax.set(xlim=(-0.005, 0.2), ylim=(0.8, 1.005), title="ROC curves of 14 nodes, held-out cases")
ax.get_legend().remove()

# %%
# The weights that the nodes agree on, with their spread over nodes.
names = [name.replace("_", " ") for name in pg.datasets.breast_cancer_table().columns[:-1]]
order = np.argsort(swapping.coef_[0])
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.barh(
    np.array(names)[order],
    swapping.coef_[0][order],
    xerr=swapping.models_.std(axis=0)[order],
    color="C0",
)
ax.set_xlabel("weight ± standard deviation over nodes")
ax.set_title("The learned score")

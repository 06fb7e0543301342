"""
Two models, five hospitals
==========================

Five hospitals have a new model and an old one, and want to know which of the two ranks patients
better, and how sure that is. Nobody collects the patients of all. Hospitals gossip, and each of
them learns the difference of the two AUCs and its error.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import pairgossip as pg

# %%
# Both models score the same patients. The old one knows two features, the new one a third.
X, y = pg.datasets.breast_cancer_wisconsin()
X_train, X_test, y_train, ill = train_test_split(X, y, test_size=300, stratify=y, random_state=0)
old, new = [4, 8], [4, 7, 8]
scores = np.column_stack(
    [
        LogisticRegression().fit(X_train[:, used], y_train).decision_function(X_test[:, used])
        for used in (new, old)
    ]
)
hospital = np.random.default_rng(0).choice(["Cork", "Derry", "Kerry", "Mayo", "Sligo"], len(ill))

# %%
# First, from all rows in one place. The two AUCs have wide intervals that overlap, and yet the
# difference is clear: patients that are hard for one model are hard for the other too, and DeLong's
# paired test allows for that.
for name, score in zip(("new", "old"), scores.T, strict=True):
    print(f"AUC of the {name} model:", pg.exact(score, "auc", labels=ill, interval=0.95))
print("difference:", pg.exact(scores, "auc-difference", labels=ill, interval=0.95))
print("test:", pg.test(scores, "auc-difference", labels=ill, alternative="greater"))

# %%
# The same by gossip among the hospitals. Patients of a hospital may be alike, so there are two
# sampling errors: that of drawing patients, and that of drawing hospitals, of which there are five.
run = pg.estimate(
    scores,
    "auc-difference",
    "cycle",
    labels=ill,
    groups=hospital,
    clock="async",
    interval=0.95,
    iterations=60_000,
    seed=0,
)
print("by gossip:", run.answer)
print(f"sampling error {run.answer.error:.4f}, by hospital {run.site_error.mean():.4f}")
print(f"gossip error {run.gossip_error.mean():.4f}")

# %%
# Left, the estimates of the hospitals enter the band of the sampling error, and go on to a
# precision that these patients do not have. Right, each hospital's own interval at the end.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
run.plot("estimate", ax=left)
left.set_ylabel("difference of the AUCs")
left.set_ylim(-0.02, 0.12)
estimates = run.site_estimates[0]
ends = [run.by_site(end)[0] for end in run.interval]
places = np.arange(len(estimates))
right.errorbar(
    estimates, places, xerr=np.abs(np.array(ends) - estimates), fmt="o", color="#0072B2", capsize=3
)
right.axvline(0, color="#444444", linewidth=1)
right.axvline(run.target, color="#444444", linestyle=":")
right.set_yticks(places, np.unique(hospital))
right.set_xlabel("difference of the AUCs, 95 % intervals; dotted: all patients")
figure.suptitle("A new model against an old one, by gossip of five hospitals")

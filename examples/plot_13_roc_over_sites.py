"""
One ROC curve over five sites
=============================

Five hospitals validate a model. Each counts its patients by score and outcome, in cells that all
know and with no count below 3, and passes the counts on. They add up to the counts of all patients.
From these anybody reads the ROC curve and the numbers at the agreed thresholds, with their
intervals.
"""

import matplotlib.pyplot as plt
import numpy as np

import pairgossip as pg

# %%
# Scores are probabilities of the outcome, which one patient in eight has. Hospitals differ in size.
random = np.random.default_rng(0)
hospitals = np.repeat(["Cork", "Derry", "Kerry", "Mayo", "Sligo"], [2_500, 1_800, 1_200, 900, 600])
died = (random.random(len(hospitals)) < 1 / 8).astype(int)
risk = 1 / (1 + np.exp(-random.normal(np.where(died, -1.0, -2.6), np.where(died, 1.3, 1.0))))

# %%
# Each hospital passes on a table. Agreed thresholds are edges of cells, so the numbers there are
# known up to very few rows.
thresholds = [0.1, 0.2]
cells = pg.cells.Even(0, 1, 64).at(*thresholds)
summaries = {
    name: pg.summarize(
        risk[hospitals == name],
        "auc",
        labels=died[hospitals == name],
        classes=[0, 1],
        cells=cells,
        least_cell=3,
    )
    for name in np.unique(hospitals)
}
curve = pg.roc(sum(summaries.values()), thresholds=thresholds)
print(curve)
print(curve.at(0.2))

# %%
# All patients in one place give this.
pooled = pg.roc(risk, died, thresholds=thresholds)
print(pooled)
print("partial AUC, specificity 0.8 to 1:", curve.partial_auc((0.8, 1), corrected=True))
print("of all patients:", pooled.partial_auc((0.8, 1), corrected=True))

# %%
# Left, the curve of the sum. The darker region certainly holds the curve of the patients who were
# counted. The lighter one holds the whole curve of their population with 95 % confidence. The dots
# are the agreed thresholds. Right, the curve of all patients lies in the certain region, and close
# to the estimate.
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 5.4), layout="constrained")
curve.plot(left)
left.set_title("from counts of five hospitals")
curve.plot(right, name="counts", band="none")
pooled.plot(right, name="all patients", band="none")
right.set_title("beside all patients")
right.set(xlim=(0, 0.5), ylim=(0.4, 1))

# %%
# The net benefit of treating patients above a threshold (Vickers and Elkin 2006).
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
curve.plot_net_benefit(left, name="above the threshold")
curve.plot_precision(right)

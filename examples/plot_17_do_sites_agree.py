"""
Do the sites agree?
===================

An AUC over all patients of ten hospitals says nothing about the next hospital. Over many clinical
models the AUC varied from place to place by about 0.055 (van Leeuwen et al. 2025). So three numbers
belong in a paper: the mean over sites, the difference between sites, and the range for a new one.
"""

import matplotlib.pyplot as plt
import numpy as np

import pairgossip as pg

# %%
# Made-up hospitals in which a score works more or less well.
random = np.random.default_rng(6)
names = ["Aachen", "Bergen", "Calais", "Delft", "Evora", "Furth", "Graz", "Hull", "Ivry", "Jena"]
sizes = [420, 130, 260, 1_300, 150, 610, 95, 330, 240, 180]
site = np.repeat(names, sizes)
died = random.random(len(site)) < 0.2
skill = np.repeat(random.normal(1.1, 0.3, len(sizes)), sizes)
score = random.normal(size=len(site)) + skill * died

sites = pg.heterogeneity(score, "auc", labels=died, by=site)
print(sites)

# %%
# One AUC over all patients: its interval is about these hospitals, and far narrower than the range
# for a new one.
pooled = pg.exact(score, "auc", labels=died, interval=0.95)
low, high = sites.prediction_interval
print("all patients:", pooled)
print(f"a new hospital: {low:.3f} to {high:.3f}")

# %%
# The forest plot. The size of a square is its weight. The diamond is the mean with its interval,
# and the line below it is the range for a new hospital.
figure, axes = plt.subplots(figsize=(8.5, 5), layout="constrained")
sites.plot(axes)
axes.set_xlabel("AUC")

# %%
# Nobody has to bring rows together for that. Each hospital counts its own in fine cells that all
# know, and the counts are compared. If counts below 3 are hidden (``least_cell=3``), the values of
# small hospitals are uncertain, and a note names them.
cells = pg.cells.Even(-6, 8, 1024)
counted = {
    name: pg.summarize(
        score[site == name],
        "auc",
        labels=died[site == name].astype(int),
        classes=[0, 1],
        cells=cells,
    )
    for name in names
}
print("\n".join(pg.heterogeneity(counted).facts))

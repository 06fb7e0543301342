"""
Is the score as good for everyone?
==================================

One AUC over all patients can hide that a score works well for some and badly for others. This
example compares three age groups: the AUC of each, the differences between groups, and whether
chance can explain them.
"""

import matplotlib.pyplot as plt
import numpy as np

import pairgossip as pg

# %%
# Made-up patients of twelve hospitals. The score works less well for older patients, and patients
# of a hospital are alike.
random = np.random.default_rng(2)
patients = 1_500
age = random.choice(["18 to 39", "40 to 69", "70 or more"], patients, p=[0.25, 0.45, 0.3])
hospital = random.integers(0, 12, patients)
died = random.random(patients) < 0.2
skill = np.select([age == "18 to 39", age == "40 to 69"], [1.5, 1.2], 0.7)
score = random.normal(size=patients) + 0.3 * random.normal(size=12)[hospital] + skill * died

# %%
# The statistic of every group is that of its rows alone. Groups have different rows, so the square
# of a difference's error is the sum of the squares of theirs. Among many pairs one has a small p by
# chance: adjusted p allow for that, and the last line tests all groups at once.
table = pg.exact(score, "auc", labels=died, by=age, interval=0.95)
print(table)

# %%
# The group with the lowest AUC. Its interval does not allow for the search for the lowest.
print("worst:", table.worst, table[table.worst])

# %%
# A hospital has patients in all groups, and a hospital with high scores may have them at every age.
# If hospitals are drawn, not patients, the errors of groups go together.
by_hospital = pg.exact(score, "auc", labels=died, by=age, groups=hospital, interval=0.95)
for one, other in zip(table.differences, by_hospital.differences, strict=True):
    print(f"{one.first} - {one.second}: {one.value:.3f}", end=", ")
    print(f"error {one.error:.3f}, by hospital {other.error:.3f}")

# %%
# Left, the groups beside all patients. Right, their differences: an interval that does not reach
# the line is a difference that chance alone would seldom make.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")


def draw(axes, names, values, ends, color):
    """Draw intervals below each other."""
    places = -np.arange(len(names))
    ends = np.abs(np.array(ends).T - values)
    axes.errorbar(values, places, xerr=ends, fmt="o", color=color, capsize=3)
    axes.set_yticks(places, names)
    axes.margins(y=0.15)
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)


answers = table.answers.values()
draw(left, table.groups, list(answers), [(one.low, one.high) for one in answers], "#0072B2")
left.axvline(table.all, color="#444444", linestyle="--", linewidth=1)
left.set(xlabel="AUC, 95 % interval; dashed: all patients")
pairs = table.differences
names = [f"{one.first} -\n{one.second}" for one in pairs]
ends = [(one.low, one.high) for one in pairs]
draw(right, names, [one.value for one in pairs], ends, "#D55E00")
right.axvline(0, color="#444444", linewidth=1)
right.set(xlabel="difference of AUCs, 95 % interval")

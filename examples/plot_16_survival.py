"""
Survival over five hospitals
============================

Five hospitals follow 4,000 patients after a diagnosis, half of them on a new drug, and want to know
whether they live longer. Some patients are still alive when the study ends, or move away: they are
censored. Hospitals count patients per half month, and add up their tables: no patient's time leaves
a hospital.
"""

import matplotlib.pyplot as plt
import numpy as np

import pairgossip as pg

random = np.random.default_rng(3)
n = 4_000
arm = np.array(["drug", "placebo"])[random.integers(0, 2, n)]
months = random.weibull(1.3, n) * np.where(arm == "drug", 34, 26)
followed = random.uniform(6, 60, n)
died = (months <= followed).astype(int)
months = np.minimum(months, followed)

# %%
# Each hospital counts its patients by half month, arm, and whether they died, in blocks of three or
# more. Others see only the sum of these tables.
parts = [
    pg.summarize(
        months[rows],
        "auc",
        labels=died[rows],
        by=arm[rows],
        classes=[0, 1],
        groups=["drug", "placebo"],
        cells=pg.cells.Even(0, 60, 120),
        least_cell=3,
    )
    for rows in np.array_split(np.arange(n), 5)
]
together = parts[0] + parts[1] + parts[2] + parts[3] + parts[4]

# %%
# Left, the curves of the patients themselves. Right, those of the table. The darker regions
# certainly hold the curves of these patients, wherever they are in their blocks. The lighter ones
# add the error of drawing patients. At late times few patients are left, and regions are wide.
rows = pg.survival.kaplan_meier(months, died, by=arm)
counts = pg.survival.kaplan_meier(together, sites=5)
figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 5), layout="constrained", sharey=True)
rows.picture(time_label="months").draw(left)
counts.picture(time_label="months").draw(right)
left.set_title("all rows")
right.set_title("counts of five hospitals")
right.set_ylabel("")

# %%
# Half a year, one year and three, as a paper prints them.
for time in (6, 12, 36):
    for name, share in counts.at(time, before=True).items():
        print(f"{time:>2} months, {name:<8}", share)

# %%
# The log-rank test of rows and that of counts agree. The second also has a bracket that holds the
# statistic of these rows.
print(pg.survival.log_rank(months, died, by=arm))
print(pg.survival.log_rank(together))

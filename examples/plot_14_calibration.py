"""
Is one in five really one in five?
==================================

A score that ranks patients well can still be wrong about all of them. A validation asks both: does
the score separate those who die from the others (discrimination), and do as many die as it says
(calibration)? It also reports the numbers at the agreed thresholds.
"""

import matplotlib.pyplot as plt
import numpy as np

import pairgossip as pg

# %%
# A made-up model from a place with more deaths, which is too sure of itself: its probabilities are
# too high on average, and too extreme.
random = np.random.default_rng(0)
patients = 6_000
truth = random.normal(-2.2, 1.0, patients)  # log odds of dying
died = random.random(patients) < 1 / (1 + np.exp(-truth))
risk = 1 / (1 + np.exp(-(1.5 * truth + 1.3)))

# %%
# A slope of 1, and 0 in the large, would be right. Every number has an interval, from rows as here,
# or from the counts of several sites that were added up (``pg.summarize``).
validation = pg.validate(risk, died, thresholds=[0.1, 0.2])
print(validation)

# %%
# The ROC curve, the observed share beside the expected one, and the net benefit of decisions.
# ``validation.plot()`` is this figure, and ``validation.to_html("report.html")`` writes all of it
# as one page that needs nothing else.
figure, panels = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
for panel, picture in zip(panels, validation.pictures(), strict=True):
    picture.draw(panel)

# %%
# The same logit, moved by the intercept and stretched by the slope, is calibrated. The order of
# patients, and with it the AUC, stays the same.
slope = validation.calibration.slope.value
logit = np.log(risk / (1 - risk))
recalibrated = 1 / (1 + np.exp(-slope * logit))
intercept = pg.validate(recalibrated, died).calibration.in_the_large.value
recalibrated = 1 / (1 + np.exp(-slope * logit - intercept))
after = pg.validate(recalibrated, died)
for name, one in (("before", validation), ("after", after)):
    found = one.calibration
    print(f"{name}: slope {found.slope}, in the large {found.in_the_large}, Brier {found.brier}")
roc, calibration = after.pictures()
figure, axes = plt.subplots(figsize=(5.6, 5), layout="constrained")
calibration.draw(axes)

"""Reliability curves of naive Bayes that counts one column four times, before and after calibration."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.calibration import CalibratedClassifierCV
from mercer.inspection import ReliabilityDisplay
from mercer.naive_bayes import GaussianNB


def draw() -> Figure:
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 1)).repeat(4, axis=1)
    y = (random.random(3000) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 4.2))
    models = {"naive Bayes": GaussianNB(), "beta": CalibratedClassifierCV(GaussianNB(), method="beta")}
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        fitted = model.fit(X[:2000], y[:2000])
        ReliabilityDisplay.from_estimator(fitted, X[2000:], y[2000:], n_resamples=100, random_state=0, ax=ax)
        ax.set_title(name)
    return figure

"""Rings and XOR with margins and support vectors, and the slack of each row against its coefficient."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_circles

from mercer.inspection import DecisionBoundaryDisplay
from mercer.svm import SVC


def draw() -> Figure:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.0, 3.0))
    rings, ring = make_circles(120, noise=0.08, factor=0.4, random_state=0)
    random = np.random.default_rng(0)
    corners = random.uniform(-1, 1, size=(120, 2))
    differ = (corners[:, 0] * corners[:, 1] + 0.05 * random.normal(size=120) > 0).astype(int)
    for ax, X, y in ((left, rings, ring), (middle, corners, differ)):
        model = SVC(C=5.0, gamma=2.0).fit(X, y)
        DecisionBoundaryDisplay.from_estimator(model, X, y, levels=(-1.0, 0.0, 1.0), support=True, ax=ax)
        ax.set(xticks=[], yticks=[], aspect="equal")
    margins = np.where(differ > 0, 1, -1) * model.decision_function(corners)
    alpha = np.zeros(len(corners))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    right.scatter(margins, alpha, s=10)
    right.axvline(1.0, color="black", linewidth=0.6)
    right.set(xlabel="margin y f(x)", ylabel="coefficient", ylim=(-0.3, 5.3))
    return figure

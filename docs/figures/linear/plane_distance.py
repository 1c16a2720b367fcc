"""Distances of rows to the separating line, and the score of a support vector machine over the plane."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.inspection import DecisionBoundaryDisplay, PlaneDistanceDisplay
from mercer.svm import SVC


def draw() -> Figure:
    random = np.random.default_rng(1)
    X = random.normal(size=(36, 2)) + 1.0
    y = np.where(X @ [1.0, 0.5] + 0.3 * random.normal(size=36) > 1.5, 1, -1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.4))
    linear = SVC(kernel="linear", C=10.0).fit(X, y)
    PlaneDistanceDisplay.from_estimator(linear, X, y, ax=left)
    left.set(title="distances to the plane")
    curved = SVC(C=3.0).fit(X, y)
    options = {"fill": "scores", "levels": (-1.0, 0.0, 1.0), "support": True}
    DecisionBoundaryDisplay.from_estimator(curved, X, y, ax=right, **options)
    right.set(title="scores, margins, support vectors")
    return figure

"""A filter of smoothness, its bump and its fit."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.inspection import SmoothnessFilterDisplay
from mercer.kernel_ridge import RegularizationNetwork


def draw() -> Figure:
    random = np.random.default_rng(0)
    X = random.uniform(0, 6, size=(50, 1))
    y = np.sin(X[:, 0]) + 0.2 * random.normal(size=50)
    figure, axes = plt.subplots(1, 3)
    SmoothnessFilterDisplay.from_estimator(RegularizationNetwork(0.1, bandwidth=1.5).fit(X, y), X, y, ax=axes)
    return figure

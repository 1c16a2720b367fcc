"""Canonical variates of two tables that share one hidden number, and correlations by chance with few rows."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.cross_decomposition import CCA
from mercer.inspection import CanonicalVariatesDisplay


def draw() -> Figure:
    random = np.random.default_rng(0)
    hidden = random.normal(size=(300, 1))
    X = np.hstack([hidden + random.normal(size=(300, 1)), random.normal(size=(300, 4))])
    Y = np.hstack([random.normal(size=(300, 3)), hidden + 0.5 * random.normal(size=(300, 1))])
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.8))
    CanonicalVariatesDisplay.from_estimator(CCA(2).fit(X, Y), X, Y, labels=hidden[:, 0], ax=axes[:2])
    counts = np.array([8, 12, 16, 24, 40, 80, 160, 300])
    for shrinkage, style, label in ((0.0, "o-", "no shrinkage"), (0.5, "s--", "shrinkage 0.5")):
        fitted, fresh = [], []
        for count in counts:
            inside, outside = [], []
            for _ in range(15):
                rows = random.permutation(300)
                X_free, Y_free = random.normal(size=(2000, 5)), random.normal(size=(2000, 4))
                model = CCA(1, shrinkage=shrinkage).fit(X[rows[:count]], Y[rows[:count]])
                inside.append(model.correlations_[0])
                t = random.normal(size=(2000, 1))
                X_free[:, :1], Y_free[:, 3:] = t + X_free[:, :1], t + 0.5 * Y_free[:, 3:]
                outside.append(model.measure_correlations(X_free, Y_free)[0])
            fitted.append(np.mean(inside))
            fresh.append(np.mean(outside))
        axes[2].semilogx(counts, fitted, style, color="C0", label=f"{label}: rows of the fit")
        axes[2].semilogx(counts, fresh, style, color="C1", label=f"{label}: new rows")
    axes[2].set(xlabel="rows", ylabel="first correlation", ylim=(0, 1.02))
    axes[2].legend(fontsize=6)
    return figure

"""The widest street between two classes, and the duality gap of coordinate ascent, round by round."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.linear_model import GeneralizedLinearEstimator


def draw() -> Figure:
    figure, (left, right) = plt.subplots(1, 2)
    random = np.random.default_rng(4)
    X = np.concatenate([random.normal(size=(40, 2)) + 1.3, random.normal(size=(40, 2)) - 1.3])
    y = np.repeat([1, 0], 40)
    model = GeneralizedLinearEstimator("hinge", alpha=0.05, solver="dual", tol=1e-8).fit(X, y)
    margin = (2 * y - 1) * model.decision_function(X)
    for label, colour in ((0, "C0"), (1, "C3")):
        chosen = y == label
        left.scatter(*X[chosen].T, s=np.where(margin[chosen] <= 1 + 1e-4, 30, 8), facecolor="none", edgecolor=colour)
    x = np.linspace(-4, 4, 2)
    (w0, w1), b = model.coef_[0], model.intercept_[0]
    for level, style in ((-1, ":"), (0, "-"), (1, ":")):
        left.plot(x, (level - b - w0 * x) / w1, "k", linestyle=style, linewidth=1)
    left.set(title="large: rows with a dual variable", xlim=(-4, 4), ylim=(-4, 4))
    rows = random.normal(size=(2000, 20))
    labels = (rows[:, 0] + random.normal(size=2000) > 0).astype(int)
    for alpha in (1e-2, 1e-3, 1e-4):
        fit = GeneralizedLinearEstimator("hinge", alpha=alpha, solver="dual", tol=1e-6).fit(rows, labels)
        right.semilogy(fit.history_["gap"], label=f"alpha = {alpha:g}")
    right.set(title="duality gap", xlabel="round")
    right.legend()
    return figure

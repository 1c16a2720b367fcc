"""The condition number along the penalty, and coefficients of two nearly equal columns from sample to sample."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mercer.linear_model import LinearRegression, Ridge, penalised_condition_number


def draw() -> Figure:
    figure, (left, right) = plt.subplots(1, 2)
    alphas = np.logspace(-8, 6, 100)
    for n in (2, 4, 6):
        left.loglog(alphas, [penalised_condition_number(10.0**n, 10.0**-n, a) for a in alphas], label=f"n = {n}")
    left.axvline(1.0, color="0.7", linestyle=":")
    left.set(xlabel="λ", ylabel="condition number", title="eigenvalues from 10⁻ⁿ to 10ⁿ")
    left.legend()
    random, models = np.random.default_rng(0), (LinearRegression(tol=1e-12), Ridge(0.01))
    found: list[list[np.ndarray]] = [[], []]
    for _ in range(200):
        a = random.normal(size=50)
        X = np.column_stack([a, a + 1e-3 * random.normal(size=50)])
        y = X.sum(axis=1) + 0.01 * random.normal(size=50)
        for model, coefs in zip(models, found, strict=True):
            coefs.append(model.fit(X, y).coef_)
    for coefs, name, colour in zip(found, ("least squares", "ridge"), ("0.6", "tab:red"), strict=True):
        right.plot(*np.array(coefs).T, ".", markersize=3, label=name, color=colour)
    right.set(xlabel="first coefficient", ylabel="second", title="two nearly equal columns, 200 samples")
    right.legend()
    return figure

"""Leave-one-out error and training error along the penalty, and the leverage that stands between them."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes

from mercer.linear_model import RidgeCV, ridge_degrees_of_freedom, ridge_path
from mercer.preprocessing import PolynomialBasis


def draw() -> Figure:
    X, y = load_diabetes(return_X_y=True)
    X = PolynomialBasis(2, basis="orthonormal").fit_transform(X[:150])
    y, alphas = y[:150], np.logspace(-1, 4, 60)
    model = RidgeCV(alphas, store_cv_results=True).fit(X, y)
    coefs, intercepts = ridge_path(X, y, alphas)
    training = np.mean((y[:, None] - X @ coefs.T - intercepts) ** 2, axis=0)
    figure, (left, right) = plt.subplots(1, 2)
    left.semilogx(alphas, np.sqrt(model.cv_results_.mean(axis=0)), color="black", label="leave-one-out")
    left.semilogx(alphas, np.sqrt(training), color="0.6", label="training rows")
    left.axvline(model.alpha_, color="tab:red", linestyle=":")
    left.set(xlabel="alpha", ylabel="root mean squared error", title="65 columns, 150 rows")
    left.legend()
    freedom = [ridge_degrees_of_freedom(X, alpha) + 1 for alpha in alphas]
    right.semilogx(alphas, np.array(freedom) / 150, color="black")
    right.set(xlabel="alpha", ylabel="mean leverage", ylim=(0, None), title="what a row says of its own fit")
    return figure

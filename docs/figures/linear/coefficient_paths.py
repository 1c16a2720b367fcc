"""Coefficient paths of ridge and lasso on the diabetes data."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes

from mercer.linear_model import lasso_path, ridge_path


def draw() -> Figure:
    X, y = load_diabetes(return_X_y=True)
    figure, (left, right) = plt.subplots(1, 2, sharey=True)
    alphas = np.logspace(-4, 2, 100)
    left.semilogx(alphas, ridge_path(X, y, alphas)[0])
    left.set(xlabel="λ", ylabel="coefficients", title="ridge: together, smoothly")
    strengths, coefs, _ = lasso_path(X, y - y.mean(), eps=1e-4)
    right.semilogx(2 * len(y) * strengths, coefs.T)
    right.set(xlabel="λ", title="lasso: one after the other")
    return figure

"""Coefficient paths of ridge and lasso on the diabetes data."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes

from mercer.inspection import CoefficientPathDisplay


def draw() -> Figure:
    X, y = load_diabetes(return_X_y=True)
    figure, (left, right) = plt.subplots(1, 2, sharey=True)
    CoefficientPathDisplay.from_rows(X, y, penalty="l2", ax=left)
    CoefficientPathDisplay.from_rows(X, y, penalty="l1", ax=right)
    left.set(xlabel="λ", ylabel="coefficients", title="ridge: together, smoothly")
    right.set(xlabel="λ", ylabel="", title="lasso: one after the other")
    return figure

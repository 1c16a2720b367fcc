"""Rings lifted to three features, where a plane parts them, and the contours of two kernel components."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sklearn.datasets import make_circles

from mercer.decomposition import KernelPCA
from mercer.inspection import FeatureLiftDisplay, KernelComponentDisplay


def draw() -> Figure:
    X, ring = make_circles(200, factor=0.4, noise=0.06, random_state=0)
    figure = plt.figure()
    FeatureLiftDisplay.from_rows(X, ring, ax=figure.add_subplot(1, 3, 1, projection="3d"))
    axes = [figure.add_subplot(1, 3, 2), figure.add_subplot(1, 3, 3)]
    KernelComponentDisplay.from_estimator(KernelPCA(2, kernel="rbf", gamma=2.0).fit(X), X, ax=axes)
    return figure

"""Margins of AdaBoost, and of the votes that make the smallest margin, or a soft one, as large as can be."""

import warnings

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer

from mercer.ensemble import AdaBoostClassifier, LPBoostClassifier, margin_distribution, margins


def draw() -> Figure:
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::2], y[::2]
    models = {
        "AdaBoost, 200 stumps": AdaBoostClassifier(n_estimators=200),
        "LPBoost, hard": LPBoostClassifier(nu=None, n_estimators=200, tol=1e-4),
        "LPBoost, nu = 0.1": LPBoostClassifier(nu=0.1, n_estimators=200, tol=1e-4),
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in models.items():
            left.step(*margin_distribution(margins(model.fit(X, y), X, y)), where="post", label=name, linewidth=1)
    left.set(xlabel="margin", ylabel="share of rows below", title="the program lifts the smallest margins")
    left.legend(fontsize=7)
    soft = models["LPBoost, nu = 0.1"].history_
    right.plot(soft["objective"], label="objective of the vote")
    right.plot(soft["objective"] + soft["gap"], label="bound: the largest edge of a stump")
    right.set(xlabel="stumps", title="the duality gap closes", ylim=(-0.1, 0.6))
    right.legend(fontsize=7)
    return figure

"""AdaBoost on two moons: three rounds with points as large as their weights, the margins, and the errors by round."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from mercer.ensemble import AdaBoostClassifier
from mercer.inspection import BoostingErrorDisplay, BoostingRoundsDisplay, MarginDisplay


def draw() -> Figure:
    X, y = make_moons(400, noise=0.25, random_state=0)
    model = AdaBoostClassifier(n_estimators=150).fit(X[:100], y[:100])
    figure, axes = plt.subplots(1, 5, figsize=(12.0, 2.8))
    BoostingRoundsDisplay.from_estimator(model, X[:100], y[:100], rounds=(1, 2, 10), ax=axes[:3])
    MarginDisplay.from_estimator(model, X[:100], y[:100], rounds=(5, 150), ax=axes[3])
    BoostingErrorDisplay.from_estimator(model, X[:100], y[:100], X[100:], y[100:], ax=axes[4])
    return figure

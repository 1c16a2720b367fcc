"""Separable and ambiguous labellings, the weight space of a neuron, an ambiguous point, and the bound of risk."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mercer.inspection import (
    AmbiguousPointDisplay,
    RiskBoundDisplay,
    SeparableFractionDisplay,
    WeightSpaceDisplay,
)
from mercer.theory import minimise_structural_risk, simulate_uniform_gap
from mercer.tree import DecisionTreeClassifier


def draw() -> Figure:
    figure, panels = plt.subplots(2, 3, figsize=(12, 7.5))
    SeparableFractionDisplay().plot(ax=panels[0, 0])
    SeparableFractionDisplay(ambiguous=True, largest_ratio=6).plot(ax=panels[0, 1])
    points = np.array([[1.0, 0.3], [0.2, 1.0], [-1.0, 0.6]])
    WeightSpaceDisplay(points, [1, 1, -1]).plot(ax=panels[0, 2])
    rows = np.array([[0.0, 0.0], [1.0, 0.2], [0.4, 1.0], [3.0, 2.6], [3.4, 1.2], [2.4, 3.0]])
    AmbiguousPointDisplay(rows, [-1, -1, -1, 1, 1, 1], [1.9, 1.2]).plot(ax=panels[1, 0])
    random = np.random.default_rng(0)
    X = random.uniform(size=(2000, 1))
    y = ((X[:, 0] > 0.25) & (X[:, 0] < 0.75)) ^ (random.uniform(size=2000) < 0.1)
    leaves = [2, 3, 5, 20, 100]
    trees = {str(number): DecisionTreeClassifier(max_leaf_nodes=number) for number in leaves}
    RiskBoundDisplay.from_result(minimise_structural_risk(trees, X, y, leaves), ax=panels[1, 1])
    panels[1, 1].set(xlabel="leaves of the tree")
    _draw_gaps(panels[1, 2])
    return figure


def _draw_gaps(ax: Axes) -> None:
    """Draw the largest gap of risks against the rows: for thresholds, and for a table of the labels seen."""

    def toss(n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return generator.normal(size=n), generator.choice([-1, 1], size=n)

    def remember(x: np.ndarray, y: np.ndarray) -> list:
        table = dict(zip(x, y, strict=True))
        return [lambda new: np.array([table.get(value, 1) for value in new])]

    thresholds = [lambda x, t=t: np.where(x > t, 1, -1) for t in np.linspace(-2, 2, 21)]
    options = {"n_repeats": 5, "n_draws": 2_000, "random_state": 0}
    for name, choose in (("thresholds", lambda x, y: thresholds), ("table of labels", remember)):
        curve = simulate_uniform_gap(choose, toss, [10, 30, 100, 300, 1_000, 3_000], **options)
        ax.errorbar(curve.n_samples, curve.gaps, curve.standard_errors, marker="o", label=name)
    ax.set(xscale="log", xlabel="rows", ylabel="largest gap of risks", ylim=(0, None))
    ax.legend()

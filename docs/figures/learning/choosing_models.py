"""Errors against complexity and against rows, with their parts, and the folds they come from."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline

from mercer.inspection import BiasVarianceDisplay, ScoreCurveDisplay
from mercer.linear_model import LinearRegression
from mercer.model_selection import bias_variance, complexity_curve, score_by_rows
from mercer.preprocessing import PolynomialBasis

NOISE = 0.3


def _truth(x: np.ndarray) -> np.ndarray:
    return np.sin(3 * x[:, 0])


def _rows(random: np.random.Generator, n_rows: int = 40) -> tuple[np.ndarray, np.ndarray]:
    x = random.uniform(-1, 1, (n_rows, 1))
    return x, _truth(x) + random.normal(scale=NOISE, size=n_rows)


def _polynomial(degree: int) -> object:
    return make_pipeline(PolynomialBasis(degree, basis="orthonormal"), LinearRegression())


def draw() -> Figure:
    figure, (left, middle, right) = plt.subplots(1, 3)
    degrees, error = [1, 2, 3, 4, 5, 6, 7], "neg_mean_squared_error"
    X, y = _rows(np.random.default_rng(1))
    name = "polynomialbasis__degree"
    curve = complexity_curve(_polynomial(1), X, y, name=name, values=degrees, scoring=error, repeats=3, random_state=0)
    ScoreCurveDisplay.from_result(curve, negate=True, ax=left)
    left.set(title="40 rows", ylim=(0, 0.5))
    x = np.linspace(-0.9, 0.9, 37)[:, None]
    parts = [
        bias_variance(_polynomial(degree), _rows, x, _truth(x), noise=NOISE**2, n_sets=40, random_state=0)
        for degree in degrees
    ]
    BiasVarianceDisplay(parts, degrees, label="degree").plot(ax=middle)
    middle.set(title="parts of the error", ylim=(0, 0.5))
    X, y = _rows(np.random.default_rng(2), 600)
    grown = score_by_rows(_polynomial(5), X, y, sizes=[30, 60, 120, 240, 480], scoring=error, random_state=0)
    ScoreCurveDisplay.from_result(grown, negate=True, level=NOISE**2, ax=right)
    right.set(title="degree 5, more rows", ylim=(0, 0.5))
    return figure

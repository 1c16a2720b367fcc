"""Pictures of trees and of boosting."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_moons

from mercer.ensemble import AdaBoostClassifier
from mercer.errors import DataError
from mercer.inspection import (
    BoostingErrorDisplay,
    BoostingRoundsDisplay,
    LeafRegionsDisplay,
    MarginDisplay,
    StepRegressionDisplay,
    TreeDisplay,
)
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor

mpl.use("Agg")
X, Y = make_moons(80, noise=0.25, random_state=0)


@pytest.mark.catalogue("PL-26")
def test_a_drawing_is_shown_and_saved(tmp_path):
    display = TreeDisplay.from_estimator(DecisionTreeClassifier(max_depth=2).fit(X, Y))
    display.save(tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_text() == display._repr_html_() == display.svg


@pytest.mark.catalogue("PL-26")
def test_rectangles_fill_the_plane():
    display = LeafRegionsDisplay.from_estimator(DecisionTreeClassifier(max_depth=3).fit(X, Y), X, Y)
    area = (display.high - display.low).prod(axis=1).sum()
    assert area == pytest.approx((1.1 * np.ptp(X, axis=0)).prod())
    assert len(display.patches_) == len(display.value)
    with pytest.raises(DataError, match="X must have two columns"):
        LeafRegionsDisplay.regions_of(DecisionTreeClassifier().fit(X[:, :1], Y), X[:, :1])


@pytest.mark.catalogue("PL-26")
def test_steps_and_the_scan_of_thresholds():
    x, y = np.arange(8.0)[:, None], np.array([4.0, 0, 5, 0, 5, 5, 5, 5])
    display = StepRegressionDisplay.from_estimator(DecisionTreeRegressor(max_depth=1).fit(x, y), x, y)
    assert display.edges.tolist() == [3.5] == [display.thresholds_[display.losses_.argmin()]]
    assert display.losses_.min() == 20.75
    np.testing.assert_allclose(display.levels, [2.25, 5.0])


@pytest.mark.catalogue("PL-27")
def test_points_are_as_large_as_their_weights():
    model = AdaBoostClassifier(n_estimators=12).fit(X, Y)
    display = BoostingRoundsDisplay.from_estimator(model, X, Y, rounds=(1, 5, 12, 99))
    assert display.numbers == [1, 5, 12]
    for points, weight in zip(display.points_, display.weights, strict=True):
        np.testing.assert_allclose(points.get_sizes() / points.get_sizes().sum(), weight)
    wrong = model.estimators_[4].predict(X) != Y
    assert display.weights[1][wrong].sum() == pytest.approx(model.estimator_errors_[4])


@pytest.mark.catalogue("PL-27")
def test_margins_and_errors_are_drawn_by_round():
    model = AdaBoostClassifier(n_estimators=30).fit(X[:40], Y[:40])
    display = MarginDisplay.from_estimator(model, X[:40], Y[:40], rounds=(3, 500))
    assert list(display.found) == [3, 30]
    assert display.lines_[1].get_ydata()[-1] == 1.0
    errors = BoostingErrorDisplay.from_estimator(model, X[:40], Y[:40], X[40:], Y[40:])
    assert (errors.training <= errors.bound + 1e-12).all()
    assert errors.test[-1] == pytest.approx(1 - model.score(X[40:], Y[40:]))

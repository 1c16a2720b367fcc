"""Pictures of trees and of boosting."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_moons

from mercer.ensemble import AdaBoostClassifier
from mercer.errors import DataError, ParameterError
from mercer.inspection import (
    BoostingErrorDisplay,
    BoostingRoundsDisplay,
    ImpurityDisplay,
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
        LeafRegionsDisplay.compute(DecisionTreeClassifier().fit(X[:, :1], Y), X[:, :1])


@pytest.mark.catalogue("PL-26")
def test_steps_and_the_scan_of_thresholds():
    x, y = np.arange(8.0)[:, None], np.array([4.0, 0, 5, 0, 5, 5, 5, 5])
    display = StepRegressionDisplay.from_estimator(DecisionTreeRegressor(max_depth=1).fit(x, y), x, y)
    assert display.edges.tolist() == [3.5] == [display.thresholds_[display.losses_.argmin()]]
    assert display.losses_.min() == 20.75
    np.testing.assert_allclose(display.levels, [2.25, 5.0])


@pytest.mark.catalogue("PL-25")
def test_entropy_and_gini_are_drawn_with_their_maxima_at_one_half():
    display = ImpurityDisplay.from_criteria(n_points=101)
    p = display.shares
    inside = p[1:-1]
    formulas = {
        "entropy": -inside * np.log2(inside) - (1 - inside) * np.log2(1 - inside),
        "gini": 2 * inside * (1 - inside),
        "misclassification": np.minimum(inside, 1 - inside),
    }
    for line, (name, expected) in zip(display.lines_, formulas.items(), strict=True):
        values = line.get_ydata()
        assert line.get_label() == name
        np.testing.assert_allclose(values[1:-1], expected, atol=1e-12)
        assert values[0] == values[-1] == 0
        assert p[values.argmax()] == 0.5
        assert (np.diff(values, 2) <= 1e-12).all()
    assert [values.max() for values in display.curves.values()] == [1.0, 0.5, 0.5]
    with pytest.raises(ParameterError, match=r"n_points must be an integer in \[3, inf\); got 2\."):
        ImpurityDisplay.from_criteria(n_points=2)


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

"""Importances by shuffling: known values, coverage of intervals, correlated columns together, refusals."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from mercer.errors import DataError, ParameterError
from mercer.explain import column_importance


def fit_line(coefficients):
    """A linear model with these coefficients."""
    model = LinearRegression().fit(np.eye(len(coefficients) + 1)[:, 1:], [0.0, *coefficients])
    return model


def test_intervals_hold_the_truth_as_often_as_they_say():
    # For independent columns and squared loss the importance is 2 b^2 var(x), whatever the noise.
    model, held = fit_line([1.0, -2.0, 0.0]), np.zeros(3)
    truth = np.array([2.0, 8.0, 0.0])
    for seed in range(300):
        random = np.random.default_rng(seed)
        X = random.normal(size=(60, 3))
        y = X @ [1.0, -2.0, 0.0] + random.normal(size=60)
        found = column_importance(model, X, y, coverage=0.9, n_repeats=5, random_state=seed)
        held += (found.low <= truth + 1e-9) & (truth - 1e-9 <= found.high)
    # Binomial: 300 tables, four standard deviations; skewed losses cost two percent at 60 rows.
    assert (held[:2] / 300 > 0.88 - 4 * np.sqrt(0.9 * 0.1 / 300)).all()
    assert (held[:2] / 300 < 0.9 + 4 * np.sqrt(0.9 * 0.1 / 300) + 0.04).all()
    assert held[2] == 300


def test_correlated_columns_are_shuffled_together():
    random = np.random.default_rng(0)
    x = random.normal(size=(500, 1))
    X = np.hstack([x, x + 0.01 * random.normal(size=(500, 1)), random.normal(size=(500, 1))])
    y = X[:, 0] + X[:, 1]
    model = LinearRegression().fit(X, y)
    alone = column_importance(model, X, y, random_state=0)
    both = column_importance(model, X, y, groups="correlated", random_state=0)
    assert both.names == ["x0, x1", "x2"]
    # Shuffled together they lose 2 var(2 x) = 8; each alone 2.
    assert both.values[0] == pytest.approx(8.0, rel=0.25)
    assert alone.values[0] == pytest.approx(2.0, rel=0.25)


def test_classes_are_judged_by_their_probabilities():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    y = np.where(X[:, 0] + 0.1 * random.normal(size=300) > 0, "up", "down")
    model = LogisticRegression().fit(X, y)
    found = column_importance(model, X, y, random_state=0)
    assert found.loss == pytest.approx(-np.log(model.predict_proba(X)[np.arange(300), (y == "up").astype(int)]).mean())
    assert found.low[0] > 0.5 > found.high[1]
    errors = column_importance(model, X, y, loss="zero_one", random_state=0)
    assert errors.values[0] == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"y": np.zeros(3)}, DataError, "y must have 20 values"),
        ({"loss": "hinge"}, ParameterError, "got 'hinge'"),
        ({"n_repeats": 0}, ParameterError, "n_repeats must be an integer in .1, inf.; got 0"),
        ({"coverage": 1.0}, ParameterError, "coverage must be in .0, 1.; got 1.0"),
    ],
)
def test_what_cannot_be_measured_is_refused(changes, error, text):
    given = {"X": np.random.default_rng(0).normal(size=(20, 2)), "y": np.zeros(20)} | changes
    with pytest.raises(error, match=text):
        column_importance(fit_line([1.0, 2.0]), **given)

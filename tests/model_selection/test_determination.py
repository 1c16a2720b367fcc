"""The coefficient of determination of every kind of regressor, recomputed in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import r2_score

from mercer.kernel_ridge import KernelRidge
from mercer.linear_model import GeneralizedLinearEstimator, LinearRegression, Ridge
from mercer.neighbors import KNeighborsRegressor
from mercer.svm import SVR
from mercer.tree import DecisionTreeRegressor


def determine(y, told, weight):
    """1 - sum w (y - told)^2 / sum w (y - mean)^2 in exact fractions, with the weighted mean of the truth."""
    y, told, weight = ([Fraction(float(one)) for one in np.ravel(part)] for part in (y, told, weight))
    mean = sum(w * a for w, a in zip(weight, y, strict=True)) / sum(weight)
    left = sum(w * (a - b) ** 2 for w, a, b in zip(weight, y, told, strict=True))
    return float(1 - left / sum(w * (a - mean) ** 2 for w, a in zip(weight, y, strict=True)))


REGRESSORS = [
    LinearRegression(),
    Ridge(3.0),
    GeneralizedLinearEstimator("huber", alpha=0.1),
    KernelRidge(alpha=1.0),
    SVR(kernel="linear"),
    KNeighborsRegressor(3),
    DecisionTreeRegressor(max_depth=2),
]


@pytest.mark.catalogue("MS-12")
@pytest.mark.filterwarnings("ignore:.* (spreads over|lies at)", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", REGRESSORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(("unit", "shift"), [(1.0, 0.0), (1e-6, 0.0), (1e6, 0.0), (1.0, 1e6)])
def test_every_score_is_the_share_of_variance_about_the_weighted_mean_of_the_truth(model, unit, shift):
    random = np.random.default_rng(0)
    X, weight = random.normal(size=(40, 3)), random.integers(1, 4, 40)
    y = unit * (X @ [1.0, 2.0, -1.0] + random.normal(size=40)) + shift
    model.fit(X, y)
    for rows, truth in ((X, y), (X[::-1], y), (X[:5], y[35:])):
        told = model.predict(rows)
        n = len(truth)
        assert model.score(rows, truth) == pytest.approx(determine(truth, told, np.ones(n)), rel=1e-9, abs=1e-9)
        assert model.score(rows, truth, weight[:n]) == pytest.approx(
            determine(truth, told, weight[:n]), rel=1e-9, abs=1e-9
        )
    # Worse than the mean: the truth is the answer mirrored at its mean, which leaves (2 d)^2 of d^2. SVR
    # answers targets below epsilon by one number.
    told = model.predict(X)
    assert model.score(X, 2 * told.mean() - told) == pytest.approx(-3.0 if np.ptp(told) else 1.0, rel=1e-6)


@pytest.mark.catalogue("MS-12")
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_scores_of_streams_are_those_of_arrays_and_of_several_targets_their_mean(shift):
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 2))
    Y = np.column_stack([X[:, 0] + random.normal(size=300), 100 * X[:, 1]]) + shift
    model = Ridge(1.0).fit(X, Y)
    told = model.predict(X)
    parts = [determine(Y[:, k], told[:, k], np.ones(300)) for k in (0, 1)]
    assert model.score(X, Y) == pytest.approx(np.mean(parts), abs=1e-6)
    blocks = [(X[start : start + 70], Y[start : start + 70]) for start in range(0, 300, 70)]
    assert model.score(blocks, None) == pytest.approx(np.mean(parts), abs=1e-6)


@pytest.mark.catalogue("MS-12")
def test_r_squared_of_the_truth_of_its_mean_and_of_a_constant():
    y = np.array([1.0, 2.0, 3.0, 4.0])
    model = Ridge(0.0, fit_intercept=False)
    for told, expected in ((y, 1.0), (np.full(4, 2.5), 0.0), (y + 10, -79.0), (-y, -23.0)):
        assert model.fit(np.eye(4), told).score(np.eye(4), y) == pytest.approx(expected, abs=1e-12)
        assert r2_score(y, told) == pytest.approx(expected, abs=1e-12)
    # A constant truth has no variance to explain: 1 where it is met, and 0 elsewhere.
    assert model.fit(np.eye(4), np.full(4, 3.0)).score(np.eye(4), np.full(4, 3.0)) == 1.0
    assert model.score(np.eye(4), np.full(4, 2.0)) == 0.0

"""How far two classes are apart: along the line of their means, and in units of their spread."""

import numpy as np
import pytest

from mercer.discriminant_analysis import fisher_criterion, mean_separation, separation_ratio
from mercer.errors import DataError

COVARIANCE = [[2.0, 1.5], [1.5, 2.0]]
FIRST = np.random.default_rng(0).multivariate_normal([0, 0], COVARIANCE, size=300)
SECOND = np.random.default_rng(1).multivariate_normal([2, 1], COVARIANCE, size=400)
X = np.concatenate([FIRST, SECOND])
Y = np.repeat([-1, 1], [300, 400])


@pytest.mark.catalogue("DT-18")
def test_means_are_farthest_apart_along_their_difference():
    rows = np.array([[0.0, 3.0, 0.0], [2.0, 1.0, 0.0], [2.0, 0.0, 1.0]])
    direction, distance = mean_separation(rows, ["a", "a", "b"])
    offset = rows[2] - rows[:2].mean(axis=0)
    assert distance == pytest.approx(np.linalg.norm(offset))
    turns = np.random.default_rng(0).normal(size=(500, 3))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    assert (turns @ offset <= distance + 1e-12).all()
    assert direction @ offset == pytest.approx(distance)
    assert np.linalg.norm(direction) == pytest.approx(1.0)


@pytest.mark.catalogue("DT-20")
def test_the_separation_squared_is_fishers_criterion_and_largest_along_its_direction():
    within = np.cov(FIRST.T, ddof=0) + np.cov(SECOND.T, ddof=0)
    offset = SECOND.mean(axis=0) - FIRST.mean(axis=0)
    best = np.linalg.solve(within, offset)
    ratio = separation_ratio(X, Y, best)
    assert ratio**2 == pytest.approx(offset @ best)
    assert fisher_criterion(X, Y) == pytest.approx(offset @ best)
    for direction in np.random.default_rng(2).normal(size=(200, 2)):
        fisher = (direction @ offset) ** 2 / (direction @ within @ direction)
        assert separation_ratio(X, Y, direction) ** 2 == pytest.approx(fisher)
        assert separation_ratio(X, Y, 3.0 * direction) == pytest.approx(separation_ratio(X, Y, direction))
        assert fisher <= ratio**2 + 1e-12
    np.testing.assert_allclose(separation_ratio(X, Y), offset / np.sqrt(np.diag(within)))


def test_classes_without_spread_are_refused():
    constant = np.column_stack([X, np.ones(len(X))])
    with pytest.raises(
        DataError, match=r"separation_ratio: column 2 must vary within a class; got a constant. Drop it."
    ):
        separation_ratio(constant, Y)
    with pytest.raises(DataError, match=r"separation_ratio: rows must vary along the direction; got no spread"):
        separation_ratio(constant, Y, [0.0, 0.0, 1.0])

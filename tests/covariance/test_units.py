"""Covariances of columns in very different units: rank, inverse and likelihood are those of like units."""

import numpy as np
import pytest

from mercer.covariance import EmpiricalCovariance

X = np.random.default_rng(0).normal(size=(60, 4)) @ np.random.default_rng(1).normal(size=(4, 4))


@pytest.mark.parametrize("units", [[1, 1e-8, 1, 1], [1e9, 1, 1e-9, 1], [1, 1, 1e12, 1e-12], [1e-6] * 4], ids=str)
def test_distances_and_densities_do_not_depend_on_units(units):
    plain, model = EmpiricalCovariance().fit(X), EmpiricalCovariance().fit(X * units)
    assert model.rank_ == 4
    np.testing.assert_allclose(model.mahalanobis(X * units), plain.mahalanobis(X), rtol=1e-9)
    moved = plain.score_samples(X) - np.log(units).sum()
    np.testing.assert_allclose(model.score_samples(X * units), moved, rtol=1e-9)
    assert model.history_["objective"][-1] == pytest.approx(moved.mean(), rel=1e-9)


def test_a_column_that_others_determine_has_no_inverse_in_any_unit():
    random = np.random.default_rng(2)
    for _ in range(40):
        X = random.normal(size=(60, 4)) @ random.normal(size=(4, 4))
        rows = np.column_stack([X, X[:, 0] + X[:, 1]])
        for units in (1.0, [1, 1e-8, 1, 1, 1], [1, 1, 1, 1, 1e9]):
            with pytest.warns(UserWarning, match="rank 4 of 5"):
                assert EmpiricalCovariance().fit(rows * units).rank_ == 4

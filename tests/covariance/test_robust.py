"""The minimum covariance determinant: exact cases, equivariance, breakdown, and its detector."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from mercer.covariance import EllipticEnvelope, MinCovDet, fast_mcd
from mercer.covariance._concentration import consistency_factor
from mercer.errors import DataError


def table(n=80, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_one_column_is_solved_exactly():
    values = np.array([3.0, 100.0, 1.0, 2.0, 1.5, 90.0, 2.2])
    h = 5
    best = min(combinations(range(7), h), key=lambda rows: values[list(rows)].var())
    location, covariance, support, _ = fast_mcd(values[:, None], support_fraction=h / 7)
    assert np.flatnonzero(support).tolist() == sorted(best)
    assert covariance[0, 0] == pytest.approx(values[list(best)].var())
    assert location[0] == pytest.approx(values[list(best)].mean())


def test_a_small_table_reaches_the_least_determinant_of_all_subsets():
    X = table(12, 2, seed=3)
    _, covariance, _, _ = fast_mcd(X, random_state=0)
    h = int(np.ceil(0.5 * (12 + 2 + 1)))
    least = min(np.linalg.det(np.cov(X[list(rows)].T, bias=True)) for rows in combinations(range(12), h))
    assert np.linalg.det(covariance) == pytest.approx(least, rel=1e-9)


def test_the_certificate_says_that_no_step_lowers_the_determinant():
    model = MinCovDet(random_state=0).fit(table(700, 4))
    assert model.certificate_.kind == "fixed point"
    assert model.certificate_.satisfied
    assert (np.diff(model.history_["objective"]) <= 1e-12).all()


@pytest.mark.parametrize("n", [80, 700])
def test_the_estimate_moves_and_turns_with_the_rows(n):
    X = table(n)
    A, shift = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, -1.0], [0.5, 0.0, 1.0]]), np.array([5.0, -3.0, 100.0])
    plain, moved = MinCovDet(random_state=0).fit(X), MinCovDet(random_state=0).fit(X @ A.T + shift)
    assert np.allclose(moved.location_, A @ plain.location_ + shift)
    assert np.allclose(moved.covariance_, A @ plain.covariance_ @ A.T)
    assert np.allclose(moved.dist_, plain.dist_)


@pytest.mark.parametrize("n", [150, 1000, 3000])
def test_two_rows_of_five_cannot_move_it(n):
    X = table(n, 3)
    # The determinant of rows with some of these grows with the square of their distance. They lie close together, so
    # that at a distance of 50 it can be less than that of the others.
    X[: int(0.4 * n)] = 5000.0 + 0.1 * X[: int(0.4 * n)]
    model = MinCovDet(random_state=0).fit(X)
    assert np.abs(model.location_).max() < 0.4
    assert np.abs(model.covariance_ - np.eye(3)).max() < 0.6
    assert not model.support_[: int(0.4 * n)].any()


def test_the_correction_makes_gaussian_rows_have_their_own_covariance():
    X = table(20_000, 2)
    assert np.allclose(MinCovDet(random_state=0).fit(X).covariance_, np.eye(2), atol=0.04)
    quantile = chi2(4).ppf(0.6)
    assert consistency_factor(0.6, 4) == pytest.approx(0.6 / chi2(6).cdf(quantile))


def test_the_envelope_leaves_out_the_share_that_was_asked_for():
    X = table(200)
    model = EllipticEnvelope(contamination=0.1, random_state=0).fit(X)
    assert (model.predict(X) == -1).sum() == 20
    assert np.allclose(model.score_samples(X), -model.dist_)


def test_equal_rows_are_refused_with_the_cure():
    X = np.array([[0.5], [0.1], [0.1], [0.1], [0.9], [0.1], [0.1], [0.1], [0.4], [0.1]])
    with pytest.raises(DataError, match="6 of 10 rows are equal") as caught:
        MinCovDet().fit(X)
    assert "increase support_fraction" in str(caught.value)


def test_fewer_rows_than_columns_give_a_warning_with_the_cure():
    with pytest.warns(UserWarning, match=r"give more than 16 rows \(there are 6\)"):
        MinCovDet(random_state=0).fit(table(6, 8))


def test_a_constant_column_gives_a_warning_and_finite_distances():
    X = table()
    X[:, 1] = 4.0
    with pytest.warns(UserWarning, match="rank 2 of 3"):
        model = MinCovDet(random_state=0).fit(X)
    assert np.isfinite(model.dist_).all()


def test_distances_that_are_measured_aside_have_the_same_bits(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 2))
    here = MinCovDet(random_state=0).fit(X)
    monkeypatch.setattr("mercer._solver.request._LARGE", 10)
    np.testing.assert_array_equal(here.dist_, MinCovDet(random_state=0).fit(X).dist_)

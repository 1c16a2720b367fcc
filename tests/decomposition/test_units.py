"""Axes of columns in very different units, and singular values that the squares of the rows would lose."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.decomposition import PCA, TruncatedSVD, Whitening

# A long time in nanoseconds, lengths of metres, and masses of micrograms in kilograms.
SPREADS = np.array([1e15, 3.0, 1e-6])


def make_rows():
    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 3))
    rows[:, 2] += 0.5 * rows[:, 1]
    return rows * SPREADS + [1.7e18, 0.0, 5.0]


def find_variances(rows):
    """Return the eigenvalues of the covariance of three columns, in rising precision: D C D with unit columns C."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        columns = [[mpmath.mpf(float(value)) for value in column] for column in rows.T]
        centred = [[value - sum(column) / len(column) for value in column] for column in columns]
        covariance = mpmath.matrix(
            [[sum(a * b for a, b in zip(x, y)) / (len(x) - 1) for y in centred] for x in centred]
        )
        return np.array([float(value) for value in mpmath.eigsy(covariance, eigvals_only=True)])[::-1]


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "full"])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_variances_of_columns_in_any_unit_are_right_relative_to_themselves(solver, unit):
    rows = make_rows()
    model = PCA(svd_solver=solver).fit(rows * unit)
    # The columns are rounded relative to their means, so that digits of the third one beyond 1e-9 are not in the rows.
    np.testing.assert_allclose(model.explained_variance_, find_variances(rows) * unit**2, rtol=1e-8)
    assert model.certificate_.satisfied


@pytest.mark.parametrize("solver", ["auto", "full"])
def test_whitened_scores_of_columns_in_any_unit_have_variance_one(solver):
    rows = make_rows()
    scores = PCA(svd_solver=solver, whiten=True).fit(rows).transform(rows)
    np.testing.assert_allclose(np.cov(scores.T), np.eye(3), atol=1e-6)


def test_a_column_that_is_a_multiple_of_another_adds_no_axis_in_any_unit():
    random = np.random.default_rng(1)
    rows = random.normal(size=(100, 2)) * [1e9, 1e-3]
    model = PCA().fit(np.c_[rows, rows[:, 0] * 4])
    assert model.explained_variance_[2] == 0.0
    assert model.explained_variance_[1] == pytest.approx(PCA().fit(rows).explained_variance_[1], rel=1e-2)


@pytest.mark.parametrize("spread", [1e4, 1e6])
def test_variances_on_both_sides_of_the_limit_are_those_of_the_rows(spread):
    random = np.random.default_rng(2)
    rows = random.normal(size=(200, 6)) @ random.normal(size=(6, 6)) * np.geomspace(1.0, spread, 6)
    _, values, vectors = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    model = PCA(svd_solver="covariance_eigh").fit(rows)
    np.testing.assert_allclose(model.singular_values_, values, rtol=1e-6)
    np.testing.assert_allclose(np.abs((model.components_ * vectors).sum(axis=1)), 1.0, rtol=1e-9)


@pytest.mark.catalogue("PM-03")
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(("algorithm", "count"), [("randomized", 3), ("arpack", 2)])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_singular_values_of_laeuchlis_matrix_are_found(make, algorithm, count, unit):
    small = 1e-9
    rows = np.vstack([np.ones((1, 3)), small * np.eye(3)]) * unit
    model = TruncatedSVD(count, algorithm=algorithm, random_state=0).fit(make(rows))
    # By hand: X^T X = small^2 I + 11^T has the eigenvalues 3 + small^2, small^2, small^2.
    expected = unit * np.array([np.sqrt(3 + small**2), small, small])[:count]
    np.testing.assert_allclose(model.singular_values_, expected, rtol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("algorithm", ["randomized", "arpack"])
def test_singular_values_far_below_the_largest_are_found(algorithm, sparse):
    random = np.random.default_rng(3)
    left, right = (np.linalg.qr(random.normal(size=(n, 50)))[0] for n in (200, 50))
    values = np.r_[1.0, 1e-3, 1e-6, 1e-8, 1e-10, np.full(45, 1e-16)]
    rows = left * values @ right.T
    rows = sp.csr_matrix(rows) if sparse else rows
    model = TruncatedSVD(5, algorithm=algorithm, random_state=0).fit(rows)
    # The rows themselves are rounded to 1e-16, 1e-6 of the least value.
    np.testing.assert_allclose(model.singular_values_, values[:5], rtol=1e-5)
    np.testing.assert_allclose(np.abs((model.components_ * right.T[:5]).sum(axis=1)), 1.0, rtol=1e-9)


@pytest.mark.parametrize("solver", ["randomized", "arpack"])
def test_iterative_axes_of_centred_rows_keep_small_values(solver):
    random = np.random.default_rng(4)
    left, right = (np.linalg.qr(random.normal(size=(200, 50)))[0] for _ in range(2))
    right = np.linalg.qr(random.normal(size=(50, 50)))[0]
    rows = left * np.r_[1.0, 1e-4, 1e-8, 1e-9, np.full(46, 1e-16)] @ right.T
    expected = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)[:4]
    model = PCA(4, svd_solver=solver, random_state=0).fit(rows)
    np.testing.assert_allclose(model.singular_values_, expected, rtol=1e-5)


@pytest.mark.parametrize("method", ["pca", "zca", "cholesky"])
@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e12])
def test_whitened_rows_are_white_in_any_unit(method, ratio):
    rows = np.random.default_rng(5).normal(size=(300, 4)) @ np.array(
        [[1.0, 0.5, 0.0, 0.2], [0.0, 1.0, 0.3, 0.0], [0.0, 0.0, 1.0, 0.4], [0.0, 0.0, 0.0, 1.0]]
    )
    rows *= np.geomspace(1.0, ratio, 4)
    white = Whitening(method).fit_transform(rows)
    np.testing.assert_allclose(np.cov(white.T), np.eye(4), atol=1e-8)


def test_the_floor_of_whitening_does_not_depend_on_units():
    random = np.random.default_rng(6)
    rows = random.normal(size=(300, 2))
    rows = np.c_[rows, rows.sum(axis=1)]
    for units in ([1.0, 1.0, 1.0], [1e6, 1.0, 1e-6]):
        variances = np.linalg.eigvalsh(np.cov(Whitening("cholesky").fit_transform(rows * units).T))
        # Two directions are white; the third, in which the rows do not vary, is not blown up.
        np.testing.assert_allclose(variances, [0.0, 1.0, 1.0], atol=1e-4)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_axes_of_rotated_columns_keep_their_digits_by_default(unit):
    random = np.random.default_rng(3)
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    rows = unit * random.normal(size=(400, 3)) * [1.0, 1e-5, 1e-10] @ turn
    model = PCA().fit(rows)
    expected = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2 / 399
    np.testing.assert_allclose(model.explained_variance_[:2], expected[:2], rtol=1e-9)
    # Rounding of the rows themselves is 1e-16, a millionth of the least spread.
    assert model.explained_variance_[2] == pytest.approx(expected[2], rel=1e-4)
    assert model.solver_used_ == "full"
    # Few axes are known from the covariance, and rows of one column have one.
    assert PCA(1).fit(rows).solver_used_ == "covariance_eigh"
    assert PCA().fit(rows[:, :1]).solver_used_ == "covariance_eigh"


def test_a_floor_that_lowers_variances_is_named():
    random = np.random.default_rng(4)
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    rows = random.normal(size=(300, 3)) * [1.0, 1e6, 1.0] @ turn
    with pytest.warns(UserWarning, match=r"floor=1e-10 raises the variances of \d of 3 directions.*Lower floor to"):
        white = Whitening().fit_transform(rows)
    assert white.std(axis=0).min() < 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        white = Whitening(floor=1e-14).fit_transform(rows)
    np.testing.assert_allclose(np.cov(white.T), np.eye(3), atol=1e-2)

"""Principal components of tables whose singular value decomposition U, D, V is written down, not computed."""

import warnings

import numpy as np
import pytest
from scipy.linalg import hadamard

from mercer.decomposition import PCA, IncrementalPCA, OnlinePCA, Whitening

N, D = 16, 5
# Columns of signs that sum to zero and are orthogonal: the left singular vectors of centred rows.
U = hadamard(N)[:, 1 : D + 1] / 4.0
# A reflection in integers over 15: orthogonal, with a largest entry in every row that is alone.
_NORMAL = np.array([1.0, 2.0, 3.0, 1.0, 0.0])
V = np.eye(D) - 2.0 * np.outer(_NORMAL, _NORMAL) / 15.0
SIZES = np.array([9.0, 5.0, 3.0, 2.0, 1.0])
MEAN = np.array([3.0, -1.0, 0.5, 7.0, -2.0])


def write_rows(sizes=SIZES, axes=V, unit=1.0, mean=MEAN):
    """Return rows U D V' plus a mean, and the axes with the sign that makes their largest entry positive."""
    signs = np.sign(axes[np.arange(D), np.abs(axes).argmax(axis=1)])
    return unit * (U * sizes @ axes + mean), axes * signs[:, None], signs


@pytest.mark.catalogue("PM-01", "PM-02")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "gram", "arpack", "randomized", "power"])
def test_every_solver_returns_the_decomposition_that_the_rows_were_made_of(solver, unit):
    X, axes, signs = write_rows(unit=unit)
    k = 3
    model = PCA(k, svd_solver=solver, random_state=0, iterated_power=60 if solver == "randomized" else "auto").fit(X)
    np.testing.assert_allclose(model.components_, axes[:k], atol=1e-9)
    np.testing.assert_allclose(model.mean_, unit * MEAN, rtol=1e-12)
    # Scores are U D, variances d^2 / (n - 1), and what is lost is the sum of the squares left out.
    scores = model.transform(X)
    np.testing.assert_allclose(scores, unit * (U * SIZES * signs)[:, :k], atol=1e-9 * unit)
    np.testing.assert_allclose(model.singular_values_, unit * SIZES[:k], rtol=1e-11)
    np.testing.assert_allclose(model.explained_variance_, unit**2 * SIZES[:k] ** 2 / (N - 1), rtol=1e-11)
    np.testing.assert_allclose(model.explained_variance_ratio_, SIZES[:k] ** 2 / 120.0, rtol=1e-11)
    np.testing.assert_allclose(
        PCA(k, svd_solver=solver, ddof=0, random_state=0).fit(X).explained_variance_[0], unit**2 * 81 / N
    )
    lost = ((X - model.inverse_transform(scores)) ** 2).sum()
    assert lost == pytest.approx(unit**2 * (4.0 + 1.0), rel=1e-9)
    # Along any unit vector e the mean is e'm and the variance e'Ce, here sum d^2 (v'e)^2 / (n - 1).
    e = np.array([0.6, 0.0, 0.0, -0.8, 0.0])
    assert (X @ e).mean() == pytest.approx(model.mean_ @ e)
    whole = PCA(svd_solver="full").fit(X)
    assert (X @ e).var(ddof=1) == pytest.approx(whole.explained_variance_ @ (whole.components_ @ e) ** 2)
    np.testing.assert_allclose(whole.inverse_transform(whole.transform(X)), X, atol=1e-11 * unit)


@pytest.mark.catalogue("PM-02")
def test_right_singular_vectors_are_eigenvectors_of_the_columns_products_and_left_ones_of_the_rows():
    X, _, _ = write_rows()
    centred = X - MEAN
    model = PCA(svd_solver="full").fit(X)
    V, left = model.components_.T, model.transform(X) / model.singular_values_
    np.testing.assert_allclose(centred.T @ centred @ V, V * SIZES**2, atol=1e-10)
    np.testing.assert_allclose(centred @ centred.T @ left, left * SIZES**2, atol=1e-10)
    np.testing.assert_allclose(left.T @ left, np.eye(D), atol=1e-12)
    np.testing.assert_allclose((left * model.singular_values_) @ V.T, centred, atol=1e-11)


@pytest.mark.catalogue("PM-01")
def test_more_columns_than_rows_have_the_axes_of_their_few_rows():
    """The transposed table: U and V change places, so that 16 columns of 5 rows have 4 axes with variance."""
    rows = np.vstack([hadamard(8)[1:5] * [[8.0], [4.0], [2.0], [1.0]], np.zeros((1, 8))]).repeat(
        [1, 1, 1, 1, 1], axis=0
    )
    balanced = np.vstack([rows, -rows])
    for solver in ("auto", "full", "gram", "covariance_eigh"):
        model = PCA(4, svd_solver=solver).fit(balanced + 100.0)
        np.testing.assert_allclose(model.singular_values_, np.sqrt(2 * 8) * np.array([8.0, 4.0, 2.0, 1.0]), rtol=1e-9)
        products = model.components_ @ hadamard(8)[1:5].T / np.sqrt(8)
        np.testing.assert_allclose(np.abs(products), np.eye(4), atol=1e-9)


@pytest.mark.catalogue("PM-01")
@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "power"])
def test_columns_of_nanoseconds_beside_metres_keep_all_their_axes(solver):
    sizes = np.array([1e9 if solver != "power" else 1e6, 1e3, 1.0, 1e-3, 1e-6])
    X, _, _ = write_rows(sizes, np.eye(D), mean=np.zeros(D))
    with pytest.warns(UserWarning, match="PCA: column 0 spreads over .* and column 4 over .*Scale the columns"):
        model = PCA(svd_solver=solver).fit(X)
    np.testing.assert_allclose(model.singular_values_, sizes, rtol=1e-6)
    np.testing.assert_allclose(np.abs(model.components_), np.eye(D), atol=1e-6)


@pytest.mark.catalogue("PM-01")
def test_axes_found_row_by_row_come_to_those_of_the_whole_table():
    X, axes, _ = write_rows()
    parts = IncrementalPCA(3)
    for start in range(0, N, 4):
        parts.partial_fit(X[start : start + 4])
    # Cuts after each batch lose what they leave out; the first axis of this table survives them.
    assert abs(parts.components_[0] @ axes[0]) > 0.97
    whole = IncrementalPCA(D, batch_size=8).fit(X)
    np.testing.assert_allclose(whole.components_, axes, atol=1e-9)
    online = OnlinePCA(2, random_state=0)
    random = np.random.default_rng(0)
    for _ in range(200):
        online.partial_fit(X[random.permutation(N)])
    assert (np.abs(np.diag(online.components_ @ axes[:2].T)) > 0.99).all()


@pytest.mark.catalogue("PM-07")
@pytest.mark.parametrize("sizes", [SIZES, np.array([1e6, 1e3, 1.0, 1e-3, 1e-6])], ids=["like", "apart"])
def test_white_rows_are_the_left_singular_vectors_times_the_root_of_n_less_one(sizes):
    """u = L^(-1/2) W'(x - m) is sqrt(n - 1) U, and plain rotation has the variances that whitening takes away."""
    axes = V if sizes is SIZES else np.eye(D)[[2, 0, 4, 1, 3]]
    X, _, signs = write_rows(sizes, axes, mean=np.zeros(D))
    known = np.sqrt(N - 1) * U
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PCA: column . spreads over")
        whitened = {
            "pca": (Whitening("pca"), PCA(whiten=True, svd_solver="full")),
            "zca": (Whitening("zca"), PCA(whiten="zca", svd_solver="full")),
        }
        for kind, models in whitened.items():
            for model in models:
                white = model.fit(X).transform(X)
                expected = known * signs if kind == "pca" else known @ axes
                np.testing.assert_allclose(np.abs(white), np.abs(expected), atol=1e-6)
                np.testing.assert_allclose(np.cov(white.T), np.eye(D), atol=1e-6)
                np.testing.assert_allclose(model.inverse_transform(white) / sizes.max(), X / sizes.max(), atol=1e-9)
        plain = PCA(svd_solver="full").fit_transform(X)
    np.testing.assert_allclose(np.diag(np.cov(plain.T)), sizes**2 / (N - 1), rtol=1e-6)


@pytest.mark.catalogue("PM-07")
def test_a_floor_leaves_directions_below_it_with_their_share_of_the_floor():
    X, _, _ = write_rows()
    floor = 0.2
    white = PCA(whiten=True, whiten_floor=floor, svd_solver="full").fit_transform(X)
    # Variances as shares of the largest: 25 / 81 and above keep one, below they become their own share of the floor.
    expected = np.minimum(1.0, SIZES**2 / (floor * 81.0))
    np.testing.assert_allclose(np.diag(np.cov(white.T)), expected, rtol=1e-9)

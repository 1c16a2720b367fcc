"""Basis functions: what they span, how well they are conditioned, and what they make linear."""

import array_api_strict
import numpy as np
import pytest
from scipy.interpolate import BSpline
from sklearn.datasets import make_circles
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer

from mercer._source.block import DenseBlock
from mercer._statistic.extent import Extent
from mercer.errors import DataError, ParameterError
from mercer.linear_model import LinearRegression, LogisticRegression
from mercer.preprocessing import FourierBasis, PolynomialBasis, RadialBasis, SplineBasis

X = np.random.default_rng(0).uniform(-2.0, 5.0, size=(60, 3))


@pytest.mark.catalogue("LM-08")
def test_degree_two_of_two_inputs_has_five_features():
    basis = PolynomialBasis(2).fit(X[:, :2])
    assert basis.get_feature_names_out().tolist() == ["x0", "x1", "x0^2", "x0 x1", "x1^2"]
    a, b = X[:, 0], X[:, 1]
    np.testing.assert_allclose(basis.transform(X[:, :2]), np.column_stack([a, b, a * a, a * b, b * b]))


@pytest.mark.catalogue("LM-08")
@pytest.mark.parametrize(
    "basis",
    [
        PolynomialBasis(2),
        RadialBasis(20, random_state=0),
        FunctionTransformer(lambda rows: np.column_stack([rows, np.hypot(rows[:, 0], rows[:, 1])])),
    ],
)
def test_rings_become_linearly_separable(basis):
    rows, labels = make_circles(200, factor=0.4, noise=0.05, random_state=0)
    assert LogisticRegression().fit(rows, labels).score(rows, labels) < 0.7
    model = make_pipeline(basis, LogisticRegression(C=100.0)).fit(rows, labels)
    assert model.score(rows, labels) == 1.0


@pytest.mark.catalogue("LM-08")
def test_exclusive_or_becomes_linearly_separable():
    rows, labels = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1])
    assert make_pipeline(PolynomialBasis(2), LogisticRegression(C=1e3)).fit(rows, labels).score(rows, labels) == 1.0
    assert LogisticRegression(C=1e3).fit(rows, labels).score(rows, labels) < 1.0


@pytest.mark.catalogue("LM-07")
@pytest.mark.parametrize("basis", ["power", "legendre", "chebyshev", "orthonormal"])
def test_orders_one_three_and_ten_have_two_four_and_eleven_parameters(basis):
    x = np.linspace(0.0, 1.0, 30)[:, None]
    for order, count in ((1, 2), (3, 4), (10, 11)):
        assert PolynomialBasis(order, basis=basis, include_bias=True).fit_transform(x).shape == (30, count)


@pytest.mark.catalogue("LM-07")
def test_order_one_less_than_the_points_interpolates_and_errors_fall_with_the_order():
    random = np.random.default_rng(0)
    x, y = np.sort(random.uniform(size=(12, 1)), axis=0), random.normal(size=12)
    errors = []
    for order in range(1, 12):
        columns = PolynomialBasis(order, basis="orthonormal").fit_transform(x)
        errors.append(np.sum(LinearRegression().fit(columns, y).residuals(columns, y) ** 2))
    assert (np.diff(errors) <= 1e-9).all()
    assert errors[-1] < 1e-12


@pytest.mark.catalogue("LM-07")
def test_with_few_noisy_points_the_low_order_wins_out_of_sample():
    random, wins = np.random.default_rng(0), []
    for _ in range(20):
        x = random.uniform(size=(12, 1))
        y, far = 2 * x[:, 0] + random.normal(size=12), np.linspace(0.0, 1.2, 50)[:, None]
        models = [make_pipeline(PolynomialBasis(order, basis="legendre"), LinearRegression()) for order in (1, 10)]
        missed = [np.mean((model.fit(x, y).predict(far) - 2 * far[:, 0]) ** 2) for model in models]
        wins.append(missed[0] < missed[1])
    assert np.mean(wins) > 0.9


def test_every_basis_of_polynomials_spans_the_same_fits():
    y = np.random.default_rng(1).normal(size=60)
    fits = [
        make_pipeline(PolynomialBasis(3, basis=basis), LinearRegression(tol=1e-12)).fit(X, y).predict(X)
        for basis in ("power", "legendre", "chebyshev", "orthonormal")
    ]
    for other in fits[1:]:
        np.testing.assert_allclose(other, fits[0], atol=1e-6)


def test_orthogonal_columns_are_the_known_polynomials():
    u = np.linspace(-1.0, 1.0, 21)
    legendre = PolynomialBasis(3, basis="legendre").fit_transform(u[:, None] * 3 + 7)
    np.testing.assert_allclose(legendre[:, 2], (5 * u**3 - 3 * u) / 2, atol=1e-12)
    chebyshev = PolynomialBasis(3, basis="chebyshev").fit_transform(u[:, None])
    np.testing.assert_allclose(chebyshev[:, 2], np.cos(3 * np.arccos(u)), atol=1e-12)


def test_orthonormal_columns_have_no_correlation_and_their_own_transform():
    basis = PolynomialBasis(3, basis="orthonormal").fit(X)
    columns = basis.transform(X)
    np.testing.assert_allclose(columns.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(columns.T @ columns / 60, np.eye(19), atol=1e-10)
    np.testing.assert_allclose(basis.transform(X[:5]), columns[:5], atol=1e-12)


def test_terms_that_others_determine_become_zero():
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(50, 2))
    columns = PolynomialBasis(2, basis="orthonormal").fit_transform(signs)
    np.testing.assert_array_equal(np.abs(columns).max(axis=0) > 0, [True, True, False, True, False])


def test_waves_over_a_period_are_orthogonal_and_repeat():
    t = np.arange(24.0)[:, None]
    basis = FourierBasis(3, period=24.0).fit(t)
    columns = basis.transform(t)
    np.testing.assert_allclose(columns.T @ columns, 12 * np.eye(6), atol=1e-10)
    np.testing.assert_allclose(basis.transform(t + 48.0), columns, atol=1e-10)
    assert basis.get_feature_names_out(["hour"])[:2].tolist() == ["cos1(hour)", "sin1(hour)"]


def test_bumps_are_one_at_their_centres_and_share_rows_when_normalised():
    basis = RadialBasis(4, random_state=0).fit(X)
    np.testing.assert_allclose(np.diagonal(basis.transform(basis.centres_)), 1.0)
    gaps = np.linalg.norm(basis.centres_[:, None] - basis.centres_[None], axis=2) + np.diag([np.inf] * 4)
    assert basis.width_ == pytest.approx(gaps.min(axis=1).mean())
    shares = RadialBasis(4, random_state=0, normalise=True).fit(X).transform(1e3 * X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("knots", ["uniform", "quantile"])
@pytest.mark.parametrize("extrapolation", ["constant", "continue"])
def test_splines_are_scikit_learns(knots, extrapolation):
    ours = SplineBasis(5, knots=knots, extrapolation=extrapolation).fit(X)
    columns = ours.transform(X).reshape(60, 3, 7)
    np.testing.assert_allclose(columns.sum(axis=2), 1.0)
    np.testing.assert_allclose(ours.transform(X[:1] + 100.0).reshape(3, 7).sum(axis=1), 1.0, rtol=1e-6)
    # scikit-learn spaces knots evenly beyond the ends and so has other pieces there, of the same functions.
    theirs = SplineTransformer(5, knots=knots).fit_transform(X[:, :1])
    gap = theirs - columns[:, 0] @ np.linalg.lstsq(columns[:, 0], theirs, rcond=None)[0]
    assert np.abs(gap).max() < 1e-8


def test_a_spline_column_is_the_b_spline_of_its_knots():
    basis = SplineBasis(4, degree=2).fit(X)
    k = basis.knots_[:, 1]
    expected = BSpline(np.r_[k[0], k[0], k, k[-1], k[-1]], np.eye(5)[2], 2)(X[:, 1])
    np.testing.assert_allclose(basis.transform(X)[:, 5 + 2], expected, atol=1e-12)


def test_the_extent_runs_on_array_api_arrays():
    xp = array_api_strict
    found = Extent().of(DenseBlock(xp.asarray(X), 0, xp=xp))
    np.testing.assert_array_equal(np.asarray(found.low), X.min(axis=0))


def test_what_makes_no_basis_is_refused():
    with pytest.raises(ParameterError, match="period must be one positive number, or one for each of 3 columns"):
        FourierBasis(period=[1.0, 2.0]).fit(X)
    with pytest.raises(DataError, match="centres must be rows of 3 columns; got shape"):
        RadialBasis(centres=[[1.0, 2.0]]).fit(X)
    with pytest.raises(MemoryError, match="lower degree, or set interactions=False"):
        PolynomialBasis(12).fit(np.ones((2, 60)))


@pytest.mark.parametrize(
    "basis",
    [
        *(PolynomialBasis(3, basis=kind, interactions=False) for kind in ("legendre", "chebyshev")),
        SplineBasis(extrapolation="continue"),
    ],
    ids=repr,
)
def test_a_row_whose_expansion_overflows_is_named(basis):
    narrow = X * [1.0, 1e-150, 1.0]
    basis.fit(narrow)
    assert np.isfinite(basis.transform(narrow)).all()
    message = (
        rf"{type(basis).__name__}: transform overflows float64: row 2 has 5 in column 1, whose training rows lie in"
    )
    with pytest.raises(DataError, match=message):
        basis.transform(np.vstack([narrow[:2], [[0.0, 5.0, 0.0]]]))

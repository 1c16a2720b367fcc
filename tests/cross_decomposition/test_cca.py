"""Canonical correlations: closed forms, invariance, regularisation, tests against chance."""

import warnings

import numpy as np
import pytest
import sklearn.cross_decomposition
from scipy.linalg import LinAlgWarning, eigh, hadamard
from scipy.stats import kstest

from mercer.cross_decomposition import CCA, KernelCCA
from mercer.linear_model import LinearRegression


def pair(n=200, p=5, q=3, seed=0):
    random = np.random.default_rng(seed)
    hidden = random.normal(size=(n, 2))
    X = hidden @ random.normal(size=(2, p)) + random.normal(size=(n, p))
    return X, hidden @ random.normal(size=(2, q)) + random.normal(size=(n, q))


@pytest.mark.catalogue("PM-18")
def test_correlations_are_the_singular_values_of_the_whitened_covariance():
    X, Y = pair()
    C = np.cov(np.hstack([X, Y]), rowvar=False)
    (a, A), (b, B) = eigh(C[:5, :5]), eigh(C[5:, 5:])
    M = (A / np.sqrt(a)) @ A.T @ C[:5, 5:] @ (B / np.sqrt(b)) @ B.T
    model = CCA(3).fit(X, Y)
    np.testing.assert_allclose(model.correlations_, np.linalg.svd(M, compute_uv=False), atol=1e-12)
    assert np.all(np.diff(model.correlations_) <= 0)
    assert model.correlations_.max() <= 1
    assert model.certificate_.satisfied


@pytest.mark.catalogue("PM-18")
def test_variates_are_uncorrelated_across_pairs_and_correlate_as_stated_within():
    X, Y = pair()
    model = CCA(3).fit(X, Y)
    scores = np.hstack(model.transform(X, Y))
    R = np.corrcoef(scores, rowvar=False)
    expected = np.eye(6) + np.diag(model.correlations_, 3) + np.diag(model.correlations_, -3)
    np.testing.assert_allclose(R, expected, atol=1e-10)
    np.testing.assert_allclose(model.measure_correlations(X, Y), model.correlations_, atol=1e-12)


@pytest.mark.catalogue("PM-18")
def test_invertible_maps_of_either_table_change_no_correlation():
    X, Y = pair()
    random = np.random.default_rng(1)
    A, B = random.normal(size=(5, 5)), random.normal(size=(3, 3))
    expected = CCA(3).fit(X, Y).correlations_
    np.testing.assert_allclose(CCA(3).fit(X @ A + 7, Y @ B - 2).correlations_, expected, atol=1e-10)


@pytest.mark.catalogue("PM-18")
def test_a_table_correlates_with_itself_perfectly_and_a_single_target_gives_the_multiple_r():
    X, Y = pair()
    np.testing.assert_allclose(CCA(5).fit(X, X).correlations_, 1.0, atol=1e-12)
    single = CCA(1).fit(X, Y[:, 0])
    least_squares = LinearRegression().fit(X, Y[:, 0])
    assert single.correlations_[0] ** 2 == pytest.approx(least_squares.score(X, Y[:, 0]), abs=1e-12)
    np.testing.assert_allclose(single.predict(X), least_squares.predict(X), atol=1e-10)


def plant(correlations=(0.9, 0.4), unit=1.0):
    """Return two tables of known canonical correlations, and their variates: orthogonal signs, mixed by matrices."""
    signs = hadamard(32)[:, 1:8].astype(float)
    shared, own_x, own_y = signs[:, :2], signs[:, 2:4], signs[:, 4:5]
    r = np.array(correlations)
    partners = r * shared + np.sqrt(1 - r**2) * signs[:, 5:7]
    A = np.array([[2.0, 1.0, 0.0, 0.5], [-1.0, 1.0, 3.0, 0.0], [0.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, -2.0]])
    B = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0], [3.0, 0.0, 1.0]])
    return (
        unit * np.hstack([shared, own_x]) @ A + 5 * unit,
        np.hstack([partners, own_y]) @ B / unit - 1,
        shared,
        partners,
    )


@pytest.mark.catalogue("PM-18")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("algorithm", ["svd", "nipals"])
def test_planted_correlations_and_variates_are_found_in_any_units(algorithm, unit):
    X, Y, shared, partners = plant(unit=unit)
    model = CCA(2, algorithm=algorithm, tol=1e-12, max_iter=20_000).fit(X, Y)
    assert model.converged_
    np.testing.assert_allclose(model.correlations_, [0.9, 0.4], atol=1e-6)
    t, u = model.transform(X, Y)
    # Each variate is the planted column, up to its length and sign.
    np.testing.assert_allclose(np.abs(np.corrcoef(t.T, shared.T)[:2, 2:]), np.eye(2), atol=1e-5)
    np.testing.assert_allclose(np.abs(np.corrcoef(u.T, partners.T)[:2, 2:]), np.eye(2), atol=1e-5)
    np.testing.assert_allclose(model.measure_correlations(X, Y), model.correlations_, atol=1e-9)
    # No pair of directions of a thousand correlates more, and none of the rest more than the second.
    random = np.random.default_rng(0)
    pairs = np.array([
        np.corrcoef(X @ random.normal(size=4), Y @ random.normal(size=3))[0, 1] for _ in range(1000)
    ])  # fmt: skip
    assert np.abs(pairs).max() <= 0.9 + 1e-9


@pytest.mark.catalogue("PM-18")
def test_the_ridge_shrinks_planted_correlations_by_what_it_adds_to_each_variance():
    """With orthogonal columns of variance one, a share s of the mean variance leaves (1 - s) r of each correlation."""
    signs = hadamard(32)[:, 1:7].astype(float)
    X, Y = signs[:, :2], np.array([0.8, 0.5]) * signs[:, :2] + np.array([0.6, np.sqrt(0.75)]) * signs[:, 2:4]
    for s, t in ((0.0, 0.0), (0.5, 0.0), (0.3, 0.2)):
        model = CCA(2, shrinkage=(s, t), scale=False).fit(X, Y)
        # Covariances stay I, and cross-covariances 0.8 and 0.5: the shrunk ones are (1 - s) I + s I = I.
        np.testing.assert_allclose(model.singular_values_, [0.8, 0.5], atol=1e-10)
    uneven = CCA(2, shrinkage=(0.5, 0.0), scale=False).fit(X * [3.0, 1.0], Y)
    # Variances 9 and 1 have the mean 5: shrunk by half they are 7 and 3 beside cross-covariances 3 r1 and r2.
    np.testing.assert_allclose(uneven.singular_values_, [0.8 * 3 / np.sqrt(7), 0.5 / np.sqrt(3)], atol=1e-10)


def test_with_all_pairs_the_predictions_are_those_of_least_squares():
    X, Y = pair()
    np.testing.assert_allclose(CCA(3).fit(X, Y).predict(X), LinearRegression().fit(X, Y).predict(X), atol=1e-10)


@pytest.mark.parametrize("algorithm", ["svd", "nipals"])
@pytest.mark.parametrize("scale", [True, False])
def test_every_attribute_is_that_of_scikit_learns_deflation(algorithm, scale):
    X, Y = pair()
    tight = {"tol": 1e-22, "max_iter": 20000} if algorithm == "svd" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sklearn.cross_decomposition.CCA(2, scale=scale, **tight).fit(X, Y)
    ours = CCA(2, scale=scale, algorithm=algorithm).fit(X, Y)
    for name in ("x_weights_", "y_weights_", "x_loadings_", "y_loadings_", "x_rotations_", "y_rotations_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-8, err_msg=name)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-8)
    np.testing.assert_allclose(ours.inverse_transform(ours.x_scores_), theirs.inverse_transform(theirs.transform(X)))
    if algorithm == "nipals":
        assert ours.n_iter_ == theirs.n_iter_


def test_weights_are_repetitions():
    X, Y = pair(60)
    weight = np.random.default_rng(2).integers(0, 4, 60)
    weighted = CCA(2).fit(X, Y, sample_weight=weight)
    repeated = CCA(2).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-10)
    np.testing.assert_allclose(weighted.correlations_, repeated.correlations_, atol=1e-12)


def test_fewer_rows_than_columns_are_warned_of_and_shrinkage_is_the_cure():
    X, Y = pair(520, 30, 2)
    with pytest.warns(LinAlgWarning, match="20 rows of 30 and 2 columns correlate perfectly.*shrinkage='auto'"):
        bare = CCA(1).fit(X[:20], Y[:20])
    assert bare.correlations_[0] == pytest.approx(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = CCA(1, shrinkage="auto").fit(X[:20], Y[:20])
    assert model.certificate_.satisfied
    assert 0 < model.shrinkage_[0] <= 1
    gains = []
    for seed in range(10):
        X, Y = pair(520, 30, 2, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)
            bare, model = (CCA(1, shrinkage=one).fit(X[:20], Y[:20]) for one in (0.0, "auto"))
        fresh = X[20:], Y[20:]
        gains.append(model.measure_correlations(*fresh)[0] - bare.measure_correlations(*fresh)[0])
    # One draw of 20 rows may tell little.
    assert np.mean(gains) > 0.05


def test_rows_and_moments_give_one_answer():
    """With n < d the rows are decomposed; repeated often enough, their moments are."""
    X, Y = pair(12, 15, 3)
    wide = CCA(2, shrinkage=0.3).fit(X, Y)
    tall = CCA(2, shrinkage=0.3, scale=False).fit(
        np.tile(X / wide.x_scale_, (3, 1)), np.tile(Y / wide.y_scale_, (3, 1))
    )
    np.testing.assert_allclose(tall.correlations_, wide.correlations_, atol=1e-10)
    np.testing.assert_allclose(tall.x_rotations_, wide.x_rotations_, atol=1e-8)


def test_shrinkage_is_the_ridge_of_the_generalised_eigenproblem():
    X, Y = pair()
    model = CCA(1, shrinkage=(0.2, 0.4), scale=False).fit(X, Y)
    C = np.cov(np.hstack([X, Y]), rowvar=False)
    Sx = 0.8 * C[:5, :5] + 0.2 * np.trace(C[:5, :5]) / 5 * np.eye(5)
    Sy = 0.6 * C[5:, 5:] + 0.4 * np.trace(C[5:, 5:]) / 3 * np.eye(3)
    squares = eigh(C[:5, 5:] @ np.linalg.solve(Sy, C[5:, :5]), Sx, eigvals_only=True)
    np.testing.assert_allclose(model.singular_values_, np.sqrt(squares[:1:-1]), atol=1e-12)
    np.testing.assert_allclose(model.correlations_, model.measure_correlations(X, Y), atol=1e-12)


def test_p_values_find_one_true_pair_and_are_uniform_without_any():
    random = np.random.default_rng(3)
    hidden = random.normal(size=(150, 1))
    X = np.hstack([hidden + random.normal(size=(150, 1)), random.normal(size=(150, 2))])
    Y = np.hstack([hidden + random.normal(size=(150, 1)), random.normal(size=(150, 1))])
    model = CCA(2).fit(X, Y)
    for result in (model.permutation_test(X, Y, n_permutations=199, random_state=0), model.wilks_test()):
        assert result.p_values[0] <= 0.005
    values, exact, seconds = [], [], []
    for _ in range(60):
        hidden = random.normal(size=(40, 1))
        X, Y = (np.hstack([hidden + 0.5 * random.normal(size=(40, 1)), random.normal(size=(40, k))]) for k in (2, 1))
        seconds.append(CCA(2).fit(X, Y).wilks_test().p_values[1])
        X, Y = random.normal(size=(40, 3)), random.normal(size=(40, 2))
        model = CCA(1).fit(X, Y)
        values.append(model.permutation_test(X, Y, n_permutations=39, random_state=random).p_values[0])
        exact.append(model.wilks_test().p_values[0])
    assert kstest(exact, "uniform").pvalue > 1e-5
    # After the one true pair there is none: uniform again, or larger.
    assert kstest(seconds, "uniform", alternative="greater").pvalue > 1e-5
    # P-values of 39 shuffles are multiples of 1 / 40: spread over the width of one step they are uniform.
    spread = np.array(values) - random.uniform(0, 1 / 40, 60)
    assert kstest(spread, "uniform").pvalue > 1e-5


def test_columns_without_variance_play_no_part():
    X, Y = pair()
    model = CCA(2).fit(np.column_stack([X, np.full(len(X), 0.1)]), Y)
    np.testing.assert_allclose(model.correlations_, CCA(2).fit(X, Y).correlations_, atol=1e-12)
    np.testing.assert_array_equal(model.x_rotations_[-1], 0.0)


def test_errors_name_the_rule_and_the_cure():
    X, Y = pair()
    with pytest.raises(ValueError, match=r"`n_components` upper bound is 3. Got 4 instead"):
        CCA(4).fit(X, Y)
    with pytest.raises(ValueError, match="at least 2 rows to vary; got n_samples = 1"):
        CCA(1).fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="y has 2 columns, but the model was fitted to 3"):
        CCA(2).fit(X, Y).transform(X, Y[:, :2])
    with pytest.raises(ValueError, match="wilks_test needs plain correlations"):
        CCA(1, shrinkage=0.1).fit(X, Y).wilks_test()


def test_kernel_cca_with_linear_kernels_is_cca_with_a_ridge():
    X, Y = pair(80)
    model = KernelCCA(2, kernel="linear", alpha=0.5).fit(X, Y)
    C = np.cov(np.hstack([X, Y]), rowvar=False, ddof=0)
    Sx, Sy = C[:5, :5] + 0.5 * np.eye(5), C[5:, 5:] + 0.5 * np.eye(3)
    squares = eigh(C[:5, 5:] @ np.linalg.solve(Sy, C[5:, :5]), Sx, eigvals_only=True)[::-1]
    np.testing.assert_allclose(model.correlations_, np.sqrt(squares[:2]), atol=1e-10)
    assert model.certificate_.satisfied
    t, u = model.transform(X, Y)
    np.testing.assert_allclose(t.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(np.mean(t * u, axis=0), model.correlations_, atol=1e-10)


def test_kernel_cca_finds_a_relation_that_no_line_shows():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(200, 2))
    Y = np.column_stack([(X**2).sum(axis=1), random.normal(size=200)])
    assert CCA(1).fit(X[:100], Y[:100]).measure_correlations(X[100:], Y[100:])[0] < 0.3
    model = KernelCCA(1, gamma=1.0, alpha=0.01).fit(X[:100], Y[:100])
    assert model.score(X[100:], Y[100:]) > 0.9
    with pytest.raises(ValueError, match="y_kernel must be given"):
        KernelCCA(kernel="precomputed").fit(np.eye(4), np.eye(4))

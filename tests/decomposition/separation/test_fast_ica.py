"""FastICA: parity with scikit-learn, certificates, and errors. scikit-learn's own tests run with it in its place."""

import numpy as np
import pytest
import sklearn.decomposition
from sklearn.exceptions import ConvergenceWarning

from mercer.datasets import make_mixed_sources
from mercer.decomposition import ICA, FastICA, amari_distance, fastica
from mercer.errors import DataError, ParameterError

ROWS = make_mixed_sources(3000, sources=["uniform", "laplace", "binary", "exponential"], random_state=2)
START = np.random.default_rng(0).normal(size=(4, 4))


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube"])
def test_the_same_start_gives_scikit_learns_matrices(fun, algorithm):
    given = {"fun": fun, "algorithm": algorithm, "tol": 1e-10, "max_iter": 500, "whiten_solver": "eigh"}
    theirs = sklearn.decomposition.FastICA(**given, w_init=START).fit(ROWS.data)
    # The axes of both whitenings differ by signs only, which the start is told.
    first = FastICA(**given, w_init=START).fit(ROWS.data)
    signs = np.sign((first.whitening_ * theirs.whitening_).sum(axis=1))
    np.testing.assert_allclose(signs[:, None] * first.whitening_, theirs.whitening_, rtol=1e-9)
    ours = FastICA(**given, w_init=START * signs).fit(ROWS.data)
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=1e-6)
    np.testing.assert_allclose(np.abs(ours.mixing_), np.abs(theirs.mixing_), atol=1e-6)
    assert abs(ours.n_iter_ - theirs.n_iter_) <= 2
    np.testing.assert_allclose(ours.transform(ROWS.data).std(axis=0), 1.0, rtol=1e-9)


def test_its_solution_is_that_of_the_orthogonal_quasi_newton_method():
    fast = FastICA(tol=1e-12, random_state=0).fit(ROWS.data)
    model = ICA(constraint="orthogonal", random_state=3).fit(ROWS.data)
    assert amari_distance(fast.components_, model.mixing_) < 1e-6
    assert fast.certificate_.satisfied
    assert fast.certificate_.value < 1e-6


def test_a_function_of_values_or_of_means_is_a_contrast():
    given = {"random_state": 0, "tol": 1e-8}
    named = FastICA(fun="cube", **given).fit(ROWS.data)
    for fun in (lambda x: (x**3, (3 * x**2).mean(axis=-1)), lambda x: (x**3, 3 * x**2)):
        own = FastICA(fun=fun, **given).fit(ROWS.data)
        np.testing.assert_allclose(own.components_, named.components_, rtol=1e-9)
    power = FastICA(fun=lambda x, p: (x**p, p * x ** (p - 1)), fun_args={"p": 3}, **given).fit(ROWS.data)
    np.testing.assert_allclose(power.components_, named.components_, rtol=1e-9)
    assert np.isnan(own.gaussian_pvalue_).all()
    with pytest.raises(DataError, match="fun must return two arrays"):
        FastICA(fun=np.tanh).fit(ROWS.data)
    with pytest.raises(DataError, match="of the shape"):
        FastICA(fun=lambda x: (x[:1], x)).fit(ROWS.data)


def test_white_rows_need_no_whitening():
    white = FastICA(random_state=0).fit(ROWS.data)
    U = (ROWS.data - white.mean_) @ white.whitening_.T * np.sqrt(len(ROWS.data))
    model = FastICA(whiten=False, random_state=0).fit(U)
    np.testing.assert_allclose(np.abs(model.transform(U)), np.abs(white.transform(ROWS.data)), atol=1e-8)
    assert not hasattr(model, "mean_")


def test_the_function_returns_the_matrices_of_the_class():
    K, W, S, mean, steps = fastica(ROWS.data, random_state=0, return_X_mean=True, return_n_iter=True)
    model = FastICA(random_state=0).fit(ROWS.data)
    np.testing.assert_allclose(W @ K, model.components_, rtol=1e-12)
    np.testing.assert_allclose(S, (ROWS.data - mean) @ (W @ K).T, atol=1e-12)
    assert steps == model.n_iter_
    K, W, S = fastica(ROWS.data, whiten="arbitrary-variance", random_state=0, compute_sources=False)
    assert S is None
    np.testing.assert_allclose(W @ W.T, np.eye(4), atol=1e-12)


def test_bad_conditions_are_met_by_the_factor_of_the_rows():
    # The condition number of the covariance is 1e18: its smallest eigenvalue is nothing but rounding.
    scale = np.array([1e9, 1.0, 1.0, 1.0])
    model = FastICA(random_state=0, tol=1e-10).fit(ROWS.sources * scale)
    assert model.components_.shape == (4, 4)
    np.testing.assert_allclose(model.transform(ROWS.sources * scale).std(axis=0), 1.0, rtol=1e-3)


def test_warnings_and_errors_name_the_cure():
    with pytest.warns(ConvergenceWarning, match="FastICA: stopped by max_iter after 1 steps"):
        FastICA(max_iter=1, tol=0.0, random_state=0).fit(ROWS.data)
    with pytest.warns(UserWarning, match="Gaussian sources cannot be separated from each other"):
        FastICA(random_state=0).fit(np.random.default_rng(0).normal(size=(500, 3)))
    with pytest.raises(ParameterError, match=r"alpha must be in \[1,2\]"):
        FastICA(fun_args={"alpha": 3.0}).fit(ROWS.data)
    with pytest.raises(ParameterError, match="fun_args"):
        FastICA(fun_args={"beta": 1.0}).fit(ROWS.data)

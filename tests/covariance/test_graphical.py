"""The graphical lasso: conditions of the optimum, scikit-learn's answers, weights, places, choice of the penalty."""

import numpy as np
import pytest
import sklearn.covariance
from sklearn.datasets import make_sparse_spd_matrix

import mercer
from mercer.covariance import EmpiricalCovariance, GraphicalLasso, GraphicalLassoCV, graphical_lasso


def draw(n=200, d=8, seed=0):
    precision = make_sparse_spd_matrix(n_dim=d, alpha=0.8, random_state=seed)
    X = np.random.default_rng(seed).multivariate_normal(np.zeros(d), np.linalg.inv(precision), size=n)
    return X / X.std(axis=0) + 3.0


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_covariances_differ_by_alpha_where_the_precision_is_not_zero_and_by_less_elsewhere(alpha):
    X = draw()
    model = GraphicalLasso(alpha, tol=1e-10, enet_tol=1e-10, max_iter=1000).fit(X)
    S = np.cov(X.T, bias=True)
    P, off = model.precision_, ~np.eye(8, dtype=bool)
    W = np.linalg.inv(P)
    np.testing.assert_allclose(W, model.covariance_, atol=1e-5)
    np.testing.assert_allclose(np.diagonal(W), np.diagonal(S), atol=1e-5)
    used = (P != 0) & off
    assert 0 < used.sum() < off.sum()
    np.testing.assert_allclose((W - S)[used], alpha * np.sign(P[used]), atol=1e-5)
    assert (np.abs(W - S)[off & ~used] <= alpha + 1e-5).all()
    assert model.converged_
    assert model.costs_[-1][1] == model.certificate_.value
    np.testing.assert_array_equal(P, P.T)


def test_answers_are_those_of_scikit_learn():
    X = draw()
    ours = GraphicalLasso(0.1, tol=1e-8, enet_tol=1e-8, max_iter=1000).fit(X)
    theirs = sklearn.covariance.GraphicalLasso(0.1, tol=1e-9, enet_tol=1e-12, max_iter=1000).fit(X)
    np.testing.assert_allclose(ours.precision_, theirs.precision_, atol=1e-4)
    # scikit-learn's covariance is the inverse of its precision to 1e-4 only.
    np.testing.assert_allclose(ours.covariance_, np.linalg.inv(theirs.precision_), atol=1e-4)
    np.testing.assert_allclose(ours.location_, theirs.location_)
    # scikit-learn adds the constant of the likelihood twice.
    assert ours.costs_[-1][0] == pytest.approx(theirs.costs_[-1][0] - 16 * np.log(2 * np.pi), abs=1e-5)
    assert ours.score(X) == pytest.approx(theirs.score(X), abs=1e-5)


def test_one_call_takes_a_covariance_and_returns_what_is_asked():
    S = np.cov(draw().T, bias=True)
    covariance, precision, costs, n_iter = graphical_lasso(S, 0.1, return_costs=True, return_n_iter=True)
    model = GraphicalLasso(0.1, covariance="precomputed").fit(S)
    np.testing.assert_array_equal(covariance, model.covariance_)
    np.testing.assert_array_equal(precision, model.precision_)
    assert len(costs) == n_iter == model.n_iter_
    assert costs[-1][1] <= 1e-4
    np.testing.assert_array_equal(model.location_, 0.0)
    with pytest.raises(ValueError, match="X must be a symmetric matrix; got shape"):
        graphical_lasso(S[:3], 0.1)


def test_weights_are_repetitions_and_a_stream_is_enough():
    X = draw()
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    settings = {"alpha": 0.1, "tol": 1e-10, "enet_tol": 1e-10, "max_iter": 1000}
    weighted = GraphicalLasso(**settings).fit(X, sample_weight=weight)
    repeated = GraphicalLasso(**settings).fit(X.repeat(weight, axis=0))
    np.testing.assert_allclose(weighted.precision_, repeated.precision_, atol=1e-6)
    streamed = GraphicalLasso(**settings).fit(iter([X[:90], X[90:]]))
    np.testing.assert_allclose(streamed.precision_, GraphicalLasso(**settings).fit(X).precision_, atol=1e-6)


def test_more_columns_than_rows_and_the_ends_of_the_penalty():
    wide = draw(12, 30)
    model = GraphicalLasso(0.4, max_iter=500).fit(wide)
    assert model.converged_
    assert np.linalg.eigvalsh(model.precision_).min() > 0
    X = draw()
    S = np.cov(X.T, bias=True)
    top = np.abs(S - np.diag(np.diagonal(S))).max()
    alone = GraphicalLasso(top * 1.0001).fit(X)
    np.testing.assert_allclose(alone.precision_, np.diag(1.0 / np.diagonal(S)), atol=1e-8)
    plain = GraphicalLasso(0).fit(X)
    np.testing.assert_allclose(plain.precision_, EmpiricalCovariance().fit(X).precision_, rtol=1e-8)
    with pytest.raises(ValueError, match="without a penalty the covariance of 30 columns must have full rank"):
        GraphicalLasso(0).fit(wide)
    with pytest.raises(ValueError, match="column 2 is constant"):
        GraphicalLasso(0.1).fit(np.where(np.arange(8) == 2, 1.0, X))


def test_folds_choose_a_penalty_as_good_as_scikit_learns_with_the_same_bits_on_any_threads(tmp_path):
    X = draw(150)
    models = [GraphicalLassoCV(n_jobs=threads).fit(X) for threads in (1, 3)]
    np.testing.assert_array_equal(models[0].precision_, models[1].precision_)
    theirs = sklearn.covariance.GraphicalLassoCV().fit(X)
    results = models[0].cv_results_
    assert results["mean_test_score"].max() >= theirs.cv_results_["mean_test_score"].max() - 1e-3
    assert set(results) == set(theirs.cv_results_)
    assert results["alphas"][-1] == 0
    assert (np.diff(results["alphas"]) <= 0).all()
    # At their own tolerances the scores of the two differ by some 1e-3.
    exact = {"cv": 3, "tol": 1e-7, "enet_tol": 1e-7, "max_iter": 1000}
    given = GraphicalLassoCV(alphas=[0.05, 0.2], **exact).fit(X)
    other = sklearn.covariance.GraphicalLassoCV(alphas=[0.2, 0.05], **exact).fit(X)
    assert given.alpha_ == other.alpha_
    np.testing.assert_allclose(given.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], atol=1e-3)
    mercer.save(models[0], tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert loaded.costs_ == models[0].costs_
    with pytest.raises(ValueError, match=r"alphas\[0\] == 0.0, must be > 0"):
        GraphicalLassoCV(alphas=[0.0, 0.1]).fit(X)

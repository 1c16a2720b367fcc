"""Relevant columns: the evidence by its definition, its stationary points, scikit-learn's answers, weights, edges."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model
from scipy.stats import multivariate_normal

from mercer.linear_model import ARDRegression


def draw(n=120, d=9, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) + 2.0
    coef = np.zeros(d)
    coef[:3] = [1.0, -2.0, 3.0]
    return X, X @ coef + 0.5 * random.normal(size=n)


def log_evidence(model, X, y, alpha, precisions):
    """The density of the targets with the coefficients that are kept integrated out, and the priors."""
    kept = model.lambda_ < model.threshold_lambda
    covariance = np.eye(len(X)) / alpha + (X[:, kept] / precisions) @ X[:, kept].T
    priors = 1e-6 * (np.log(alpha) - alpha + np.log(precisions).sum() - precisions.sum())
    return multivariate_normal(np.zeros(len(X)), covariance).logpdf(y) + priors


def test_scores_are_the_log_density_of_the_targets_and_no_small_change_of_a_precision_raises_the_last():
    X, y = draw()
    X, y = X - X.mean(axis=0), y - y.mean()
    model = ARDRegression(fit_intercept=False, compute_score=True, tol=1e-8, max_iter=1000).fit(X, y)
    assert model.converged_
    kept = model.lambda_[model.lambda_ < model.threshold_lambda]
    best = log_evidence(model, X, y, model.alpha_, kept)
    assert model.scores_[-1] == pytest.approx(best, rel=1e-9)
    assert len(model.scores_) == model.n_iter_
    for place in range(len(kept) + 1):
        for factor in (0.99, 1.01):
            changed = np.append(kept, model.alpha_)
            changed[place] *= factor
            assert log_evidence(model, X, y, changed[-1], changed[:-1]) <= best + 1e-9


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_answers_are_those_of_scikit_learn(fit_intercept):
    X, y = draw()
    # Both start from the precision of the targets, scikit-learn from that about their mean in either case. Of several
    # stationary points another start may lead to another.
    y = y if fit_intercept else y - y.mean()
    ours = ARDRegression(fit_intercept=fit_intercept, tol=1e-9, max_iter=2000).fit(X, y)
    theirs = sklearn.linear_model.ARDRegression(fit_intercept=fit_intercept, tol=1e-10, max_iter=2000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-6)
    assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-6)
    np.testing.assert_array_equal(ours.lambda_ < 1e4, theirs.lambda_ < 1e4)
    np.testing.assert_allclose(ours.sigma_, theirs.sigma_, atol=1e-8)
    # The uncertainty of the intercept is ours alone.
    deviation = ours.predict(X, return_std=True)[1] ** 2 - fit_intercept / (len(X) * ours.alpha_)
    np.testing.assert_allclose(np.sqrt(deviation), theirs.predict(X, return_std=True)[1], rtol=1e-5)


def test_columns_that_say_nothing_are_dropped():
    """The evidence falls with 1 / lambda_j at zero if (x_j' C^-1 y)^2 < x_j' C^-1 x_j (Tipping and Faul, 2003)."""
    X, y = draw(500, 33)
    X, y = X - X.mean(axis=0), y - y.mean()
    model = ARDRegression(tol=1e-6, max_iter=3000).fit(X, y)
    kept = model.lambda_ < 1e4
    assert (model.coef_ != 0).tolist() == kept.tolist()
    assert kept[:3].all()
    # Of columns of noise the share P(chi^2 > 1) = 0.32 says something by chance: six deviations of 30 of them are 15.
    assert (~kept[3:]).sum() >= 5
    C = np.eye(500) / model.alpha_ + (X[:, kept] / model.lambda_[kept]) @ X[:, kept].T
    dropped = X[:, ~kept]
    signal, noise = np.square(dropped.T @ np.linalg.solve(C, y)), np.sum(dropped * np.linalg.solve(C, dropped), axis=0)
    # The threshold stands for infinity: a column whose best precision is near it may be dropped as well.
    assert (signal - noise < noise**2 / 1e4 * 1.5).all()
    assert len(model.sigma_) == np.count_nonzero(kept)


def test_weights_are_repetitions_and_sparse_rows_give_the_same():
    X, y = draw()
    weight = np.random.default_rng(1).integers(0, 4, 120)
    settings = {"tol": 1e-8, "max_iter": 1000}
    weighted = ARDRegression(**settings).fit(X, y, sample_weight=weight)
    repeated = ARDRegression(**settings).fit(X.repeat(weight, axis=0), y.repeat(weight))
    sparse = ARDRegression(**settings).fit(scipy.sparse.csr_array(X), y, sample_weight=weight)
    for other in (repeated, sparse):
        np.testing.assert_allclose(other.coef_, weighted.coef_, atol=1e-8)
        assert other.alpha_ == pytest.approx(weighted.alpha_, rel=1e-7)


def test_constant_targets_and_more_columns_than_rows():
    X, _ = draw(4, 9)
    flat = ARDRegression().fit(X, np.full(4, 2.5))
    np.testing.assert_allclose(flat.predict(X), 2.5)
    X, y = draw(20, 40, seed=3)
    wide = ARDRegression(max_iter=1000).fit(X, y)
    theirs = sklearn.linear_model.ARDRegression(max_iter=1000).fit(X, y)
    assert wide.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-3)

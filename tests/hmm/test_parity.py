"""The same numbers as hmmlearn, where it is installed: it is no dependency of the tests."""

import warnings

import numpy as np
import pytest

from mercer.hmm import CategoricalHMM, GaussianHMM, PoissonHMM
from tests.hmm.models import COVARIANCES, categorical, gaussian, poisson

theirs = pytest.importorskip("hmmlearn.hmm")
LENGTHS = [120, 180]


def _train(kind, source, arrays, X, **settings):
    # It watches the likelihood without the prior, which may fall, and would stop there.
    tol = -np.inf if kind.__module__.startswith("hmmlearn") else 0
    model = kind(n_components=3, n_iter=5, tol=tol, init_params="", **settings)
    for name in ("startprob_", "transmat_", *arrays):
        setattr(model, name, np.array(getattr(source, name)))
    if "n_jobs" not in model.get_params():
        model.n_features = 4 if kind.__name__ == "CategoricalHMM" else X.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, LENGTHS)


def _compare(mine, other, X):
    np.testing.assert_allclose(mine.startprob_, other.startprob_, atol=1e-9)
    np.testing.assert_allclose(mine.transmat_, other.transmat_, atol=1e-9)
    assert mine.score(X, LENGTHS) == pytest.approx(other.score(X, LENGTHS), rel=1e-9)
    assert mine.decode(X, LENGTHS)[0] == pytest.approx(other.decode(X, LENGTHS)[0], rel=1e-9)
    np.testing.assert_array_equal(mine.predict(X, LENGTHS), other.predict(X, LENGTHS))
    np.testing.assert_allclose(mine.predict_proba(X, LENGTHS), other.predict_proba(X, LENGTHS), atol=1e-8)


@pytest.mark.catalogue("GM-15")
@pytest.mark.parametrize("kind", list(COVARIANCES))
def test_gaussian_models_are_trained_alike(kind):
    source = gaussian(kind)
    X, _ = source.sample(300, random_state=0)
    ridge = 0.5 * np.eye(2) if kind in ("full", "tied") else 0.5
    settings = {"covariance_type": kind, "covars_prior": ridge, "covars_weight": 5, "means_prior": 0.3}
    settings |= {"means_weight": 2.0, "transmat_prior": 2.0, "startprob_prior": 1.5}
    mine, other = (
        _train(tool, source, ("means_", "covars_"), X, **settings) for tool in (GaussianHMM, theirs.GaussianHMM)
    )
    _compare(mine, other, X)
    np.testing.assert_allclose(mine.means_, other.means_, atol=1e-8)


def test_categorical_models_are_trained_alike():
    source = categorical()
    X, _ = source.sample(300, random_state=0)
    settings = {"emissionprob_prior": 1.5, "transmat_prior": 2.0}
    source.emissionprob_ = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.4, 0.4, 0.1], [0.2, 0.1, 0.1, 0.6]])
    mine, other = (
        _train(tool, source, ("emissionprob_",), X, **settings) for tool in (CategoricalHMM, theirs.CategoricalHMM)
    )
    _compare(mine, other, X)
    np.testing.assert_allclose(mine.emissionprob_, other.emissionprob_, atol=1e-9)


def test_poisson_models_are_trained_alike():
    source = poisson()
    X, _ = source.sample(300, random_state=0)
    # With a prior they differ: hmmlearn weighs it against the steps of all states together.
    mine, other = (_train(tool, source, ("lambdas_",), X) for tool in (PoissonHMM, theirs.PoissonHMM))
    _compare(mine, other, X)
    np.testing.assert_allclose(mine.lambdas_, other.lambdas_, atol=1e-9)

"""Model averaging: committees that speak in proportion to their evidence."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from mercer.datasets import load_fish
from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    BetaGeometric,
    MixtureDensity,
    ModelAveragingClassifier,
    ModelAveragingRegressor,
    bayesian_criterion,
    model_probabilities,
)
from mercer.linear_model import LinearRegression, LogisticRegression, Ridge

X = np.random.default_rng(0).uniform(-1, 1, size=(60, 1))
Y = 0.4 * X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=60)


def polynomials():
    steps = [
        (f"order {k}", make_pipeline(PolynomialFeatures(k, include_bias=False), LinearRegression())) for k in (1, 2, 5)
    ]
    return [("constant", DummyRegressor()), *steps]


@pytest.mark.catalogue("PE-25", "MS-15")
def test_weights_are_posterior_probabilities_of_the_models():
    model = ModelAveragingRegressor(polynomials()).fit(X, Y)
    residuals = [Y - one.predict(X) for one in model.estimators_]
    likelihoods = [-30 * (np.log(2 * np.pi * np.mean(r**2)) + 1) for r in residuals]
    np.testing.assert_allclose(model.log_likelihoods_, likelihoods)
    criteria = bayesian_criterion(likelihoods, [2, 3, 4, 7], 60)
    np.testing.assert_allclose(model.log_evidences_, -criteria / 2)
    np.testing.assert_allclose(model.weights_, model_probabilities(-criteria / 2))
    assert model.weights_.sum() == pytest.approx(1.0)


@pytest.mark.catalogue("PE-25")
def test_the_average_lies_between_its_members_and_one_member_is_itself():
    model = ModelAveragingRegressor(polynomials(), priors=[0.4, 0.3, 0.2, 0.1]).fit(X, Y)
    answers = np.array([one.predict(X) for one in model.estimators_])
    assert (model.predict(X) <= answers.max(axis=0) + 1e-12).all()
    assert (model.predict(X) >= answers.min(axis=0) - 1e-12).all()
    alone = ModelAveragingRegressor([("line", Ridge())]).fit(X, Y)
    np.testing.assert_allclose(alone.predict(X), Ridge().fit(X, Y).predict(X))
    assert alone.weights_.tolist() == [1.0]


@pytest.mark.catalogue("PE-25")
def test_class_probabilities_are_averaged_with_given_evidence():
    fish = load_fish()
    members = [("naive", GaussianNB()), ("logistic", LogisticRegression())]
    model = ModelAveragingClassifier(members, evidence=[-1.0, -2.0]).fit(fish.data, fish.species)
    weights = model_probabilities([-1.0, -2.0])
    expected = sum(w * one.predict_proba(fish.data) for w, one in zip(weights, model.estimators_, strict=True))
    np.testing.assert_allclose(model.predict_proba(fish.data), expected, rtol=1e-12)
    assert model.score(fish.data, fish.species) > 0.85
    frequencies = ModelAveragingClassifier([("f", DummyClassifier(strategy="prior"))]).fit(fish.data, fish.species)
    counts = np.unique(fish.species, return_counts=True)[1]
    np.testing.assert_allclose(frequencies.predict_proba(fish.data[:1])[0], counts / counts.sum())


@pytest.mark.catalogue("PE-25")
def test_densities_are_averaged_by_a_mixture():
    models = [BetaGeometric(1, 1), BetaGeometric(5, 1)]
    data = [0, 2, 0, 1]
    weights = model_probabilities([one.log_evidence(data) for one in models])
    committee = MixtureDensity([one.update(data).predictive() for one in models], weights)
    members = np.exp([one.update(data).log_predictive([0, 1, 2]) for one in models])
    np.testing.assert_allclose(np.exp(committee.logpdf([0, 1, 2])), weights @ members)


def test_much_data_choose_one_member_and_priors_matter_with_little():
    random = np.random.default_rng(2)
    many = random.uniform(-1, 1, size=(5000, 1))
    pair = [("constant", DummyRegressor()), ("line", LinearRegression())]
    sure = ModelAveragingRegressor(pair).fit(many, 0.5 * many[:, 0] + random.normal(size=5000))
    assert sure.weights_[1] > 0.999
    # Noise without a slope of its own: without the priors, the line has the weight 0.35.
    few, noise = np.linspace(-1, 1, 8)[:, None], np.array([1, -1, -1, 1, 1, -1, -1, 1])
    doubt = ModelAveragingRegressor(pair, priors=[0.99, 0.01]).fit(few, 0.5 * few[:, 0] + noise)
    assert doubt.weights_[0] > 0.5


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ModelAveragingRegressor([]), ParameterError, "estimators must be"),
        (
            lambda: ModelAveragingRegressor([("c", GaussianNB())]),
            ParameterError,
            "'c' must be a regressor; got GaussianNB",
        ),
        (lambda: ModelAveragingRegressor(priors=[0.5, 0.6]), ParameterError, r"priors must sum to 1; got 1\.1"),
        (lambda: ModelAveragingRegressor(evidence=[1.0]), ParameterError, "one number for each of 2 estimators"),
        (
            lambda: ModelAveragingRegressor([("forest", RandomForestRegressor(5))]),
            DataError,
            "cannot count the parameters of RandomForestRegressor, which has no coef_. Give log-evidences",
        ),
    ],
)
def test_committees_that_cannot_be_weighed_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make().fit(X, Y)

"""Naive Bayes with Gaussian columns: closed forms, batches, known parameters, and constant columns."""

import numpy as np
import pytest
import sklearn.naive_bayes
from scipy.stats import norm
from sklearn.datasets import load_iris

from mercer.discriminant_analysis import QuadraticDiscriminantAnalysis
from mercer.errors import DataError
from mercer.naive_bayes import GaussianNB

X, Y = load_iris(return_X_y=True)


def test_scores_are_sums_of_log_densities_of_columns():
    means, variances, priors = np.array([[0.0, 1.0], [2.0, -1.0]]), np.array([[1.0, 4.0], [0.5, 2.0]]), [0.3, 0.7]
    model = GaussianNB.from_parameters(means, variances, priors, classes=["no", "yes"])
    rows = np.random.default_rng(0).normal(size=(30, 2))
    densities = norm(means[None], np.sqrt(variances)[None]).logpdf(rows[:, None, :]).sum(axis=2)
    np.testing.assert_allclose(model.predict_joint_log_proba(rows), densities + np.log(priors), rtol=1e-12)
    assert set(model.predict(rows)) <= {"no", "yes"}


def test_diagonal_covariances_give_the_quadratic_discriminant():
    model = GaussianNB(var_smoothing=0.0).fit(X, Y)
    known = QuadraticDiscriminantAnalysis.from_parameters(
        model.theta_, [np.diag(one) for one in model.var_], model.class_prior_
    )
    np.testing.assert_allclose(model.predict_proba(X), known.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"priors": [0.2, 0.3, 0.5]}, {"var_smoothing": 0.1}])
def test_parameters_and_posteriors_are_scikit_learns(settings):
    theirs, model = sklearn.naive_bayes.GaussianNB(**settings).fit(X, Y), GaussianNB(**settings).fit(X, Y)
    for name in ("theta_", "var_", "class_prior_", "class_count_", "epsilon_"):
        np.testing.assert_allclose(getattr(model, name), getattr(theirs, name), rtol=1e-10, err_msg=name)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    scores = model.predict_joint_log_proba(X)[np.arange(len(X)), Y]
    assert GaussianNB(var_smoothing=0).fit(X, Y).history_["objective"][0] >= model.history_["objective"][0]
    assert model.history_["objective"][0] == pytest.approx(scores.mean())


def test_batches_give_the_model_of_one_fit_smoothing_included():
    whole, model = GaussianNB(var_smoothing=0.1).fit(X, Y), GaussianNB(var_smoothing=0.1)
    for start in range(0, 150, 30):
        model.partial_fit(X[start : start + 30], Y[start : start + 30], classes=[0, 1, 2])
    np.testing.assert_allclose(model.var_, whole.var_, rtol=1e-10)
    assert model.epsilon_ == pytest.approx(whole.epsilon_)
    model = GaussianNB().fit(X[:120], Y[:120]).partial_fit(X[120:], Y[120:])
    np.testing.assert_allclose(model.theta_, GaussianNB().fit(X, Y).theta_, rtol=1e-12)


def test_columns_a_million_from_zero_keep_the_digits_of_their_variance():
    np.testing.assert_allclose(GaussianNB().fit(X + 1e6, Y).var_, GaussianNB().fit(X, Y).var_, rtol=1e-6)


def test_a_class_without_weight_is_left_out_and_one_not_met_is_never_predicted():
    model = GaussianNB().fit(X, Y, sample_weight=(Y < 2).astype(float))
    assert model.classes_.tolist() == [0, 1]
    model = GaussianNB().partial_fit(X[:100], Y[:100], classes=[0, 1, 2])
    assert not model.predict_proba(X)[:, 2].any()


@pytest.mark.parametrize(
    ("settings", "rows", "words"),
    [
        ({"priors": [0.5, 0.5]}, X, "Number of priors must match number of classes"),
        ({"priors": [0.5, 0.5, 0.5]}, X, "The sum of the priors should be 1; got 1.5. Divide them by their sum"),
        ({}, np.ones_like(X), "some column must vary"),
        ({"var_smoothing": 0.0}, X * (Y > 0)[:, None], "every column must vary within every class"),
    ],
)
def test_what_cannot_be_fitted_is_said_in_a_sentence(settings, rows, words):
    with pytest.raises(DataError, match=words):
        GaussianNB(**settings).fit(rows, Y)

"""Many classes from two: scikit-learn's one-vs-rest and one-vs-one around every linear classifier."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.linear_model import (
    GeneralizedLinearEstimator,
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from mercer.svm import SVC

MODELS = {
    "logistic": LogisticRegression(),
    "ridge": RidgeClassifier(),
    "perceptron": Perceptron(),
    "sgd": SGDClassifier(random_state=0),
    "hinge": GeneralizedLinearEstimator("hinge", alpha=1e-3),
    "svm": SVC(kernel="linear"),
    "lda": LinearDiscriminantAnalysis(),
}


@pytest.fixture(scope="module")
def corners():
    """Draw four classes far apart, each on its own side of a line, with names."""
    centres = 12.0 * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    X, y = make_blobs(200, centers=centres, cluster_std=1.0, random_state=0)
    return X, np.array(["east", "north", "west", "south"])[y]


@pytest.mark.catalogue("MS-09")
@pytest.mark.parametrize("name", sorted(MODELS))
def test_one_against_the_rest_takes_the_largest_of_as_many_scores_as_classes(name, corners):
    X, y = corners
    model = OneVsRestClassifier(MODELS[name]).fit(X, y)
    assert len(model.estimators_) == 4
    scores = np.column_stack([one.decision_function(X) for one in model.estimators_])
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert model.score(X, y) == 1.0


@pytest.mark.catalogue("MS-09")
@pytest.mark.parametrize("name", sorted(MODELS))
def test_with_two_classes_one_against_the_rest_is_the_classifier_itself(name, corners):
    X, y = corners
    X, y = X[np.isin(y, ["east", "west"])], y[np.isin(y, ["east", "west"])]
    wrapped, plain = OneVsRestClassifier(MODELS[name]).fit(X, y), MODELS[name].fit(X, y)
    assert len(wrapped.estimators_) == 1
    np.testing.assert_allclose(wrapped.decision_function(X), plain.decision_function(X), rtol=1e-10)


@pytest.mark.catalogue("MS-10")
@pytest.mark.parametrize("name", sorted(MODELS))
def test_one_against_one_trains_every_pair_and_separates_what_can_be_separated(name, corners):
    X, y = corners
    model = OneVsOneClassifier(MODELS[name]).fit(X, y)
    assert len(model.estimators_) == 4 * 3 // 2
    assert model.score(X, y) == 1.0
    votes = np.round(model.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), model.classes_[votes.argmax(axis=1)])

"""RidgeClassifier and its cross-validated form: least squares on signs."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import RidgeClassifier as Reference
from sklearn.linear_model import RidgeClassifierCV as ReferenceCV

from mercer.errors import ParameterError
from mercer.linear_model import LinearRegression, LogisticRegression, RidgeClassifier, RidgeClassifierCV

IRIS = load_iris()
X = IRIS.data
Y = IRIS.target
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


@pytest.mark.catalogue("LM-16")
def test_without_a_penalty_it_is_one_hot_least_squares_and_decides_for_the_largest():
    model = RidgeClassifier(alpha=0.0).fit(X, NAMES)
    one_hot = LinearRegression().fit(X, (NAMES[:, None] == model.classes_).astype(float))
    np.testing.assert_allclose(model.decision_function(X), 2 * one_hot.predict(X) - 1, atol=1e-9)
    assert (model.predict(X) == model.classes_[one_hot.predict(X).argmax(axis=1)]).all()


@pytest.mark.catalogue("LM-16")
def test_gradient_descent_converges_to_the_closed_form():
    rows = X - X.mean(axis=0)
    signs = 2.0 * (Y[:, None] == np.arange(3)) - 1.0
    centred, coef, step = signs - signs.mean(axis=0), np.zeros((4, 3)), 1.0 / (np.linalg.norm(rows, 2) ** 2 + 1.0)
    for _ in range(20_000):
        coef -= step * (rows.T @ (rows @ coef - centred) + coef)
    np.testing.assert_allclose(RidgeClassifier(alpha=1.0).fit(X, Y).coef_.T, coef, atol=1e-10)


@pytest.mark.catalogue("LM-16")
def test_two_balanced_classes_give_fishers_direction():
    rows, labels = X[50:], Y[50:]
    coef = RidgeClassifier(alpha=0.0).fit(rows, labels).coef_
    means = np.array([rows[labels == label].mean(axis=0) for label in (1, 2)])
    within = sum(np.cov(rows[labels == label].T) for label in (1, 2))
    fisher = np.linalg.solve(within, means[1] - means[0])
    assert coef @ fisher / np.linalg.norm(coef) / np.linalg.norm(fisher) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("weights", [None, "balanced", {"setosa": 5.0}])
def test_coefficients_are_scikit_learns(weights):
    ours, theirs = (one(class_weight=weights).fit(X[20:], NAMES[20:]) for one in (RidgeClassifier, Reference))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"cv": 4}, {"scoring": "accuracy"}, {"scoring": "accuracy", "cv": 4}])
def test_the_cross_validated_form_chooses_as_scikit_learns(options):
    alphas = np.logspace(-3, 3, 7)
    ours, theirs = (one(alphas, **options).fit(X, NAMES) for one in (RidgeClassifierCV, ReferenceCV))
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)


def test_penalties_are_checked_before_the_labels():
    with pytest.raises(ParameterError, match=r"alphas\[1\] must be an instance of float, not str"):
        RidgeClassifierCV((1.0, "1")).fit(X[:5], Y[:5])


def test_a_scorer_of_two_classes_sees_their_labels():
    rows, labels = make_classification(80, 5, flip_y=0.2, random_state=0)
    names = np.array(["no", "yes"])[labels]
    model = RidgeClassifierCV([0.1, 10.0], scoring="accuracy", store_cv_results=True).fit(rows, names)
    scores = [np.mean((model.cv_results_[:, 0, number] > 0) == labels) for number in range(2)]
    assert model.best_score_ == max(scores)


def test_several_labels_a_row_are_decided_one_by_one():
    labels = np.column_stack([Y == 0, Y > 0, Y == 2]).astype(int)
    model = RidgeClassifier().fit(X, labels)
    assert model.predict(X).shape == labels.shape
    for column in (0, 2):
        single = RidgeClassifier().fit(X, labels[:, column])
        np.testing.assert_array_equal(model.predict(X)[:, column], single.predict(X))


def test_blocks_of_rows_give_the_answer_of_memory():
    whole = RidgeClassifier(class_weight="balanced").fit(X[10:], NAMES[10:])
    blocks = [(X[10:60], NAMES[10:60]), (X[60:], NAMES[60:])]
    for estimator in (RidgeClassifier(class_weight="balanced"), RidgeClassifierCV([1.0], class_weight="balanced")):
        np.testing.assert_allclose(estimator.fit(blocks).coef_, whole.coef_, atol=1e-10)
        assert estimator.classes_.tolist() == whole.classes_.tolist()


@pytest.mark.parametrize("estimator", [RidgeClassifier, RidgeClassifierCV, LogisticRegression])
def test_classes_without_weight_cannot_be_balanced(estimator):
    with pytest.raises(ValueError, match="needs rows of positive weight in every class; class 0 has none"):
        estimator(class_weight="balanced").fit(X, Y, sample_weight=(Y > 0).astype(float))

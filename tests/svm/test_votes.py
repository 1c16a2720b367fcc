"""Many classes from machines of two: one against the rest, one against one, votes, and ties broken by summed scores."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.multiclass import OneVsRestClassifier

from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.linear_model import GeneralizedLinearEstimator, Perceptron, RidgeClassifier, SGDClassifier
from mercer.svm import SVC, LinearSVC, NuSVC

CENTRES = 6.0 * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
NAMES = np.array(["east", "north", "west", "south"])


@pytest.fixture(scope="module")
def blobs():
    """Draw four classes of unequal size that overlap a little, columns of unlike scale."""
    X, y = make_blobs([60, 30, 20, 40], centers=CENTRES, cluster_std=2.0, random_state=0)
    return X * [1.0, 30.0], NAMES[y]


SCORERS = {
    "linear SVM": LinearSVC(tol=1e-9, max_iter=100_000, dual=False),
    "perceptron": Perceptron(random_state=0, tol=None, max_iter=20),
    "sgd": SGDClassifier(random_state=0, tol=None, max_iter=20),
    "ridge": RidgeClassifier(2.0),
    "kernel SVM": SVC(gamma=0.05, multi_class="ovr", tol=1e-9),
    "any loss": GeneralizedLinearEstimator("squared_hinge", alpha=0.01, tol=1e-12),
}


@pytest.mark.catalogue("MS-09")
@pytest.mark.parametrize("name", sorted(SCORERS))
def test_every_column_of_scores_is_the_machine_of_its_class_against_the_rest(name, blobs):
    X, y = blobs
    X = X / [1.0, 30.0]
    model = SCORERS[name].fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (len(X), 4)
    for column, label in enumerate(model.classes_):
        alone = type(model)(**model.get_params()).fit(X, np.where(y == label, 1, -1))
        np.testing.assert_allclose(scores[:, column], alone.decision_function(X), rtol=1e-6, atol=1e-6)
    # Winner takes all, on the scores and not on their signs.
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert ((scores > 0).sum(axis=1) != 1).any()


@pytest.mark.catalogue("MS-09")
@pytest.mark.parametrize("name", sorted(SCORERS))
def test_of_two_classes_there_is_one_machine(name, blobs):
    X, y = blobs
    X, y = X[np.isin(y, ["east", "west"])], y[np.isin(y, ["east", "west"])]
    model = SCORERS[name].fit(X, y)
    assert model.decision_function(X).shape == (len(X),)
    assert np.size(model.intercept_) == 1
    mirrored = type(model)(**model.get_params()).fit(X, np.where(y == "east", 1, -1))
    np.testing.assert_array_equal(model.predict(X) == "east", mirrored.predict(X) == 1)


@pytest.mark.catalogue("MS-09")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_scores_against_the_rest_of_least_squares_and_of_shared_covariances_are_their_closed_forms(unit, blobs):
    X, y = unit * blobs[0] / [1.0, 30.0], blobs[1]
    new = unit * np.random.default_rng(1).normal(scale=8.0, size=(50, 2))
    classes = np.unique(y)
    ridge = RidgeClassifier(2.0 * unit**2).fit(X, y)
    centred, signs = X - X.mean(axis=0), np.where(y[:, None] == classes, 1.0, -1.0)
    W = np.linalg.solve(centred.T @ centred + 2.0 * unit**2 * np.eye(2), centred.T @ signs)
    scores = (new - X.mean(axis=0)) @ W + signs.mean(axis=0)
    np.testing.assert_allclose(ridge.decision_function(new), scores, atol=1e-8)
    np.testing.assert_array_equal(ridge.predict(new), classes[scores.argmax(axis=1)])
    # Linear discriminants of each class and the rest, from two means and the pooled covariance.
    wrapped = OneVsRestClassifier(LinearDiscriminantAnalysis(solver="lsqr")).fit(X, y)
    chances = []
    for label in classes:
        own, rest = X[y == label], X[y != label]
        C = (np.cov(own.T, bias=True) * len(own) + np.cov(rest.T, bias=True) * len(rest)) / len(X)
        w = np.linalg.solve(C, own.mean(axis=0) - rest.mean(axis=0))
        middle = 0.5 * (own.mean(axis=0) + rest.mean(axis=0))
        chances.append((new - middle) @ w + np.log(len(own) / len(rest)))
    scores = np.column_stack(chances)
    np.testing.assert_allclose(wrapped.decision_function(new), scores, rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(wrapped.predict(new), classes[scores.argmax(axis=1)])


@pytest.mark.catalogue("MS-10")
@pytest.mark.parametrize(
    "model", [SVC(C=2.0, gamma=0.05, tol=1e-8), SVC(kernel="linear", tol=1e-8), NuSVC(nu=0.1, gamma=0.05, tol=1e-8)]
)
def test_every_pair_of_classes_has_its_machine_and_votes_decide(model, blobs):
    X, y = blobs
    X = X / [1.0, 30.0]
    model = type(model)(**model.get_params() | {"decision_function_shape": "ovo"}).fit(X, y)
    scores = model.decision_function(X)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    assert scores.shape == (len(X), 4 * 3 // 2)
    votes, sums = np.zeros((len(X), 4)), np.zeros((len(X), 4))
    for column, (a, b) in enumerate(pairs):
        chosen = np.isin(y, model.classes_[[a, b]])
        alone = type(model)(**model.get_params()).fit(X[chosen], y[chosen])
        # Of two classes the score is positive for the second; of a pair, for the first.
        np.testing.assert_allclose(scores[:, column], -alone.decision_function(X), rtol=1e-4, atol=1e-4)
        for label, sign in ((a, 1.0), (b, -1.0)):
            votes[:, label] += sign * scores[:, column] > 0
            sums[:, label] += sign * scores[:, column]
    assert (votes.sum(axis=1) == 6).all()
    np.testing.assert_array_equal(model.predict(X), model.classes_[votes.argmax(axis=1)])
    # With break_ties the class of the largest summed score wins among those with most votes.
    broken = type(model)(**model.get_params() | {"decision_function_shape": "ovr", "break_ties": True}).fit(X, y)
    tied = np.where(votes == votes.max(axis=1, keepdims=True), sums, -np.inf)
    np.testing.assert_array_equal(broken.predict(X), model.classes_[tied.argmax(axis=1)])


@pytest.mark.catalogue("MS-10")
def test_a_tie_of_three_votes_is_broken_by_the_sum_of_scores():
    """Three classes around a point: near it each beats one other, and the summed scores alone decide."""
    angles = 2 * np.pi * np.arange(3) / 3
    centres = np.column_stack([np.cos(angles), np.sin(angles)])
    random = np.random.default_rng(1)
    X = np.concatenate([centre + 0.8 * random.normal(size=(40, 2)) for centre in centres])
    y = np.repeat([-1, 0, 7], 40)
    pairs = SVC(gamma=3.0, C=50.0, decision_function_shape="ovo").fit(X, y)
    rows = 2.0 * random.normal(size=(4000, 2))
    scores = pairs.decision_function(rows)
    first, second, third = scores.T > 0
    cyclic = (first & third & ~second) | (~first & ~third & second)
    assert cyclic.sum() > 5
    sums = np.column_stack([scores[:, 0] + scores[:, 1], scores[:, 2] - scores[:, 0], -scores[:, 1] - scores[:, 2]])
    broken = SVC(gamma=3.0, C=50.0, break_ties=True).fit(X, y)
    np.testing.assert_array_equal(broken.predict(rows)[cyclic], np.array([-1, 0, 7])[sums[cyclic].argmax(axis=1)])
    assert set(pairs.predict(rows)[cyclic]) == {-1}  # without it the first class wins


@pytest.mark.catalogue("MS-10")
def test_classes_that_can_be_parted_are_parted_without_error():
    X, y = make_blobs(120, centers=10 * CENTRES, cluster_std=1.0, random_state=2)
    for model in (SVC(kernel="linear"), SVC(kernel="rbf"), NuSVC(nu=0.1)):
        assert model.fit(X, NAMES[y]).score(X, NAMES[y]) == 1.0

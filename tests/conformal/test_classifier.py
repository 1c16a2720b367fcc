"""Sets of classes: what is promised to all rows, to each class and to groups."""

import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from mercer.conformal import ConformalClassifier, check_coverage
from mercer.errors import DataError, ParameterError, UnsupportedError
from mercer.linear_model import LogisticRegression
from mercer.svm import LinearSVC


class Shares(ClassifierMixin, BaseEstimator):
    """A model whose probabilities are its rows, so that scores are known."""

    def fit(self, X, y):
        self.classes_ = np.arange(X.shape[1])
        return self

    def predict_proba(self, X):
        return X / X.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def draw(n, seed):
    """Rows that are probabilities, and classes drawn from others: the model is wrong."""
    random = np.random.default_rng(seed)
    X = random.dirichlet([0.6, 0.6, 0.6, 0.6], size=n)
    tilted = 0.6 * X + 0.4 * np.array([0.7, 0.1, 0.1, 0.1])
    return X, np.array([random.choice(4, p=row) for row in tilted])


@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
@pytest.mark.parametrize("method", ["split", "cross"])
def test_the_true_class_is_held_as_often_as_promised(score, method):
    held = []
    for trial in range(120):
        X, y = draw(70, trial)
        model = ConformalClassifier(
            Shares(), method=method, conformity=score, calibration_size=39, cv=3, random_state=trial
        )
        sets = model.fit(X[:50], y[:50]).predict_set(X[50:], 0.8)
        held.append(check_coverage(y[50:], sets, classes=range(4)).coverage)
    error = 4 * np.std(held) / math.sqrt(len(held))
    # 32 of 40 ranks; a set that would be empty is filled, which adds to lac.
    assert np.mean(held) > 0.8 - error
    assert np.mean(held) < 0.8 + 0.06 + error


def test_sets_are_the_classes_whose_score_is_small_enough():
    X, y = draw(200, 1)
    model = ConformalClassifier(FrozenEstimator(Shares().fit(X, y)), conformity="aps").fit(X, y)
    new = draw(20, 2)[0]
    order = np.argsort(-X, axis=1)
    places = np.argmax(order == y[:, None], axis=1)
    scores = np.take_along_axis(np.cumsum(np.take_along_axis(X, order, axis=1), axis=1), places[:, None], axis=1)[:, 0]
    most = np.sort(scores)[math.ceil(201 * 0.7) - 1]
    for row, kept in zip(new, model.predict_set(new, 0.7)):
        best = np.argsort(-row)
        inside = np.cumsum(row[best]) <= most + 1e-9
        inside[0] = True
        assert set(np.flatnonzero(kept)) == set(best[inside])


def test_each_class_gets_its_own_promise():
    X, y = draw(16_000, 3)
    plain = ConformalClassifier(Shares(), calibration_size=0.5, random_state=0).fit(X[:4000], y[:4000])
    each = ConformalClassifier(Shares(), calibration_size=0.5, class_conditional=True, random_state=0)
    each.fit(X[:4000], y[:4000])
    groups = {}
    for name, model in (("plain", plain), ("each", each)):
        sets = model.predict_set(X[4000:], 0.9)
        groups[name] = check_coverage(y[4000:], sets, classes=range(4), groups=y[4000:]).groups
    counts = np.bincount(each.true_)
    for name, one in groups["each"].items():
        # The scores and the new rows of a class both vary.
        assert one.coverage > 0.9 - 4 * math.sqrt(0.09 / counts[name] + 0.09 / one.n_rows)
    assert not all(one.holds(0.9) for one in groups["plain"].values())


def test_labels_may_be_texts_and_weights_are_repetitions():
    X, y = draw(150, 4)
    names = np.array(["ash", "elm", "fir", "oak"])[y]
    fitted = FrozenEstimator(LogisticRegression().fit(X, names))
    weight = np.random.default_rng(0).integers(1, 4, 150).astype(float)
    counts = weight.astype(int)
    weighted = ConformalClassifier(fitted).fit(X, names, sample_weight=weight)
    repeated = ConformalClassifier(fitted).fit(np.repeat(X, counts, axis=0), np.repeat(names, counts))
    assert weighted.classes_.tolist() == ["ash", "elm", "fir", "oak"]
    for coverage in (0.6, 0.9):
        np.testing.assert_array_equal(weighted.predict_set(X, coverage), repeated.predict_set(X, coverage))


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"estimator": LinearSVC()}, ParameterError, "estimator must have predict_proba; got LinearSVC"),
        ({"method": "cross", "condition": len}, UnsupportedError, "condition needs method='split'"),
        ({"class_conditional": True, "condition": len}, UnsupportedError, "exclude each other; give one"),
        ({"method": "cross", "estimator": FrozenEstimator(Shares())}, UnsupportedError, "not fitted to folds"),
        ({"calibration_size": 50}, DataError, "keeps 50 rows apart of n_samples=50"),
    ],
)
def test_what_cannot_be_promised_is_refused(options, error, text):
    X, y = draw(50, 5)
    with pytest.raises(error, match=text):
        ConformalClassifier(**{"estimator": Shares(), "random_state": 0} | options).fit(X, y)


def test_a_class_that_the_fit_has_not_seen_is_refused():
    random = np.random.default_rng(6)
    X, y = random.normal(size=(40, 2)), np.array(["a", "b"] * 20)
    known = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.raises(DataError, match="does not know the class 'c'"):
        ConformalClassifier(known).fit(X, np.where(np.arange(40) == 7, "c", y))

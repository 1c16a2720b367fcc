"""Several targets by copies of an estimator of one: each copy alone, weights, batches, files, errors."""

import numpy as np
import pytest
from sklearn.datasets import make_regression

import mercer
from mercer.errors import DataError
from mercer.linear_model import Ridge
from mercer.multioutput import MultiOutputClassifier, MultiOutputRegressor
from mercer.naive_bayes import GaussianNB
from mercer.tree import DecisionTreeRegressor


def make_rows(seed=0):
    return make_regression(90, 5, n_targets=3, noise=1.0, random_state=seed)


def make_labels(Y):
    return np.stack([Y[:, 0] > 0, Y[:, 1] > Y[:, 2]], axis=1).astype(int)


def test_each_target_has_the_model_of_its_own_fit():
    X, Y = make_rows()
    weight = np.random.default_rng(0).integers(1, 4, 90).astype(float)
    model = MultiOutputRegressor(DecisionTreeRegressor(max_depth=3, random_state=0)).fit(X, Y, weight)
    alone = [DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y, weight).predict(X) for y in Y.T]
    np.testing.assert_array_equal(model.predict(X), np.stack(alone, axis=1))


def test_each_column_of_labels_has_the_classifier_of_its_own_fit():
    X, Y = make_rows()
    labels = make_labels(Y)
    model = MultiOutputClassifier(GaussianNB()).fit(X, labels)
    alone = [GaussianNB().fit(X, y) for y in labels.T]
    np.testing.assert_array_equal(model.predict(X), np.stack([one.predict(X) for one in alone], axis=1))
    for found, one in zip(model.predict_proba(X), alone, strict=True):
        np.testing.assert_array_equal(found, one.predict_proba(X))
    assert model.score(X, labels) == np.mean((model.predict(X) == labels).all(axis=1))


def test_threads_change_no_bit_and_files_keep_the_model(tmp_path):
    X, Y = make_rows()
    one, two = (MultiOutputClassifier(GaussianNB(), n_jobs=n).fit(X, make_labels(Y)) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    mercer.save(one, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(X), one.predict(X))


def test_batches_give_the_model_of_all_rows():
    X, Y = make_rows()
    labels = make_labels(Y)
    model = MultiOutputClassifier(GaussianNB(var_smoothing=0.0))
    model.partial_fit(X[:40], labels[:40], classes=[np.arange(2)] * 2).partial_fit(X[40:], labels[40:])
    whole = MultiOutputClassifier(GaussianNB(var_smoothing=0.0)).fit(X, labels)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_errors_say_what_is_wrong():
    X, Y = make_rows()
    with pytest.raises(DataError, match="y must have at least two dimensions"):
        MultiOutputRegressor(Ridge()).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="Unknown label type"):
        MultiOutputClassifier(GaussianNB()).fit(X, Y)

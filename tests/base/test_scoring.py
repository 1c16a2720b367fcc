"""Scores of predictions: scikit-learn's numbers, also where its inspection of the targets is left out."""

import numpy as np
import pytest
from sklearn import base
from sklearn.metrics import accuracy_score, r2_score

from mercer._base.scoring import ClassifierMixin, RegressorMixin, compute_accuracy, compute_determination
from tests.laws.subjects import public_estimators

LABELS = {
    "integers": np.array([0, 2, 1, 1, 0]),
    "texts": np.array(["b", "a", "a", "c", "b"]),
    "booleans": np.array([True, False, True, True, False]),
    "objects": np.array(["b", "a", "a", "c", "b"], dtype=object),
    "whole numbers": np.array([0.0, 2.0, 1.0, 1.0, 0.0]),
    "indicators of several labels": np.array([[0, 1], [1, 1], [0, 0], [1, 0], [0, 1]]),
}


def test_the_accuracy_of_a_worked_example_is_three_fifths():
    assert compute_accuracy(np.array([0, 2, 1, 1, 0]), np.array([0, 2, 1, 0, 1])) == 0.6


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("weight", [None, np.array([1.0, 2.0, 0.5, 3.0, 1.0])], ids=["", "weighted"])
def test_the_accuracy_of_labels_of_any_kind_is_that_of_scikit_learn(kind, weight):
    y = LABELS[kind]
    predicted = y[[1, 1, 2, 0, 4]]
    expected = accuracy_score(y, predicted, sample_weight=weight)
    assert 0.0 < compute_accuracy(y, predicted, weight) == expected < 1.0
    if y.ndim == 1:
        assert compute_accuracy(y.tolist(), predicted, weight) == expected


def test_the_determination_of_a_worked_example_is_a_half():
    assert compute_determination(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0])) == 0.5


@pytest.mark.parametrize("rows", [2, 30, 1001])
@pytest.mark.parametrize("kind", ["numbers", "float32", "integers", "columns"])
def test_the_determination_is_that_of_scikit_learn_to_the_last_bit(rows, kind):
    y, predicted = np.random.default_rng(0).normal(size=(2, rows)) * 10.0
    if kind == "columns":
        y, predicted = np.column_stack([y, predicted]), np.column_stack([predicted, y])
    else:
        y = y.astype({"numbers": np.float64, "float32": np.float32, "integers": np.int64}[kind])
    assert compute_determination(y, predicted) == r2_score(y, predicted)


def test_constant_targets_have_scikit_learns_scores():
    y = np.full(4, 3.0)
    assert compute_determination(y, y) == 1.0
    assert compute_determination(y, y + 1.0) == 0.0


def test_predictions_of_another_length_and_targets_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        compute_accuracy(np.array([0, 1, 1]), np.array([0, 1]))
    with pytest.raises(ValueError, match="NaN"):
        compute_determination(np.array([0.0, np.nan, 1.0]), np.zeros(3))


def test_mixins_stand_before_the_skeleton_in_every_estimator():
    # Behind it in the order of base classes, a mixin would lose its tags without an error.
    for estimator in public_estimators():
        order = estimator.__mro__
        for own, theirs in ((ClassifierMixin, base.ClassifierMixin), (RegressorMixin, base.RegressorMixin)):
            assert own not in order or order.index(theirs) < order.index(base.BaseEstimator), estimator

"""The perceptron that a study tries learns rare classes, and targets of any size."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from mercer._base.candidate import Shape
from mercer.datasets import load_failures, load_rents
from mercer.decision import DecisionClassifier
from mercer.neural_network._candidates import CANDIDATES
from mercer.preprocessing import StandardScaler, TableEncoder

CLASSES, NUMBERS = CANDIDATES


def _score(offer, shape, X, y, around=lambda model: model):
    """Return the mean score of two folds with the first setting."""
    setting = {name: values[0] for name, values in offer.settings(shape).items()}
    model = offer.make(shape).set_params(n_jobs=1, **setting)
    pipeline = make_pipeline(TableEncoder(sparse_output=False), StandardScaler(), around(clone(model)))
    folds, scoring = (StratifiedKFold, "balanced_accuracy") if shape.n_classes else (KFold, "r2")
    return cross_val_score(pipeline, X, y, cv=folds(2, shuffle=True, random_state=0), scoring=scoring).mean()


@pytest.mark.filterwarnings("ignore:.*not converged")
def test_a_class_of_one_row_in_twelve_is_learnt():
    frame = load_failures().frame
    X, y = frame.drop(columns=["failure", "repair_cost", "machine_id"]), frame["failure"].to_numpy().astype(str)
    score = _score(CLASSES, Shape(len(X), 20, 2), X, y, lambda model: DecisionClassifier(model, costs="balanced"))
    # Guessing has 0.5, and logistic regression 0.72.
    assert score > 0.65


@pytest.mark.filterwarnings("ignore:.*not converged")
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_numbers_of_any_size_are_learnt(size):
    frame = load_rents().frame
    X, y = frame.drop(columns=["rent", "building"]), size * frame["rent"].to_numpy()
    assert _score(NUMBERS, Shape(len(X), 10, 0, 0, float(np.std(y))), X, y) > 0.8

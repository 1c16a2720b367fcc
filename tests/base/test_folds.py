"""Splits that are given: read pair by pair, and checked against the rows."""

from itertools import count

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.linear_model import LassoCV, RidgeCV

X = np.random.default_rng(0).normal(size=(30, 3))
y = X @ [1.0, 2.0, 0.0] + np.random.default_rng(1).normal(size=30)
HALVES = [(np.arange(15), np.arange(15, 30)), (np.arange(15, 30), np.arange(15))]


@pytest.mark.parametrize("model", [LassoCV(alphas=5), RidgeCV()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    ("cv", "words"),
    [
        (count(), "each split must be a pair of training and test rows; got int"),
        ([([0, 1, 10**6], [2])], r"indices of some of the 30 rows, or a mask of them; got \[ *0 +1 +1000000\]"),
        ([([], [])], "indices of some of the 30 rows"),
        ([("ash", "birch")], "indices of some of the 30 rows"),
        (np.eye(5), "each split must be a pair"),
        ([], "at least one split"),
        (b"auto", "cv must be"),
    ],
    ids=str,
)
def test_splits_of_other_rows_are_refused(model, cv, words):
    with pytest.raises(ParameterError, match=words):
        type(model)(**model.get_params() | {"cv": cv}).fit(X, y)


def test_indices_masks_and_an_iterator_of_the_same_halves_are_one_choice():
    masks = [tuple(np.isin(np.arange(30), rows) for rows in pair) for pair in HALVES]
    found = [LassoCV(alphas=20, cv=cv).fit(X, y) for cv in (HALVES, masks, iter(HALVES), [list(p) for p in HALVES])]
    assert len({model.alpha_ for model in found}) == 1
    for model in found[1:]:
        np.testing.assert_array_equal(model.mse_path_, found[0].mse_path_)

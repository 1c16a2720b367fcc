"""Calls of NumPy that take longer with more rows run aside, so that Ctrl-C need not wait for them; results stay."""

import numpy as np
import pytest

from mercer._solver import request
from mercer.covariance import MinCovDet
from mercer.decomposition import SecondOrderSeparation
from mercer.ensemble import RandomForestClassifier
from mercer.manifold import ClassicalMDS
from mercer.neural_network import BoltzmannMachine
from mercer.tree import DecisionStump

X = np.random.default_rng(0).normal(size=(300, 4))
Y = (X[:, 0] > 0).astype(int)
DISTANCES = np.abs(X[:60, :1] - X[:60, 0])
BITS = (np.random.default_rng(1).random((40, 5)) < 0.5).astype(float)
# Each estimator, its rows and targets, and the function whose call runs aside where there are many values.
FITS = [
    (MinCovDet(random_state=0), X, None, "_concentrate"),
    (SecondOrderSeparation(lags=2), X, None, "matmul"),
    (RandomForestClassifier(2, random_state=0, n_jobs=1), np.repeat(X, 3, axis=0), np.repeat(Y, 3), "astype"),
    (ClassicalMDS(metric="precomputed"), DISTANCES, None, "check_dissimilarities"),
    (DecisionStump(), X, Y, "sort_columns"),
    (BoltzmannMachine(max_iter=3), BITS, None, "answer"),
]


def name_function(function):
    """Return the name of a function, also of one that `partial` holds."""
    inner = getattr(function, "func", function)
    return getattr(inner, "__qualname__", getattr(inner, "__name__", ""))


@pytest.mark.parametrize(("model", "rows", "targets", "place"), FITS, ids=lambda value: type(value).__name__)
def test_what_grows_with_the_rows_runs_aside_and_changes_nothing(monkeypatch, model, rows, targets, place):
    expected = {name: value for name, value in vars(model.fit(rows, targets)).items() if isinstance(value, np.ndarray)}
    names, run_aside = [], request.run_aside

    def note(function):
        names.append(name_function(function))
        return run_aside(function)

    monkeypatch.setattr(request, "run_aside", note)
    monkeypatch.setattr(request, "_LARGE", 10)
    model.fit(rows, targets)
    assert any(place in name for name in names), names
    for name, value in expected.items():
        np.testing.assert_array_equal(getattr(model, name), value)

"""Boosted trees of LightGBM, where it is installed."""

import numpy as np
import pytest

from mercer.explain import shapley

lightgbm = pytest.importorskip("lightgbm")


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", ["numbers", "two", "three"])
def test_values_are_those_that_lightgbm_computes(kind, gaps):
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    if gaps:
        X[random.random(X.shape) < 0.1] = np.nan
    options = {"n_estimators": 20, "verbose": -1, "random_state": 0}
    if kind == "numbers":
        model = lightgbm.LGBMRegressor(**options).fit(X, y)
    else:
        model = lightgbm.LGBMClassifier(**options).fit(X, np.digitize(y, [0.0] if kind == "two" else [-0.5, 0.5]))
    found = shapley(model, X[:20])
    expected = model.predict(X[:20], pred_contrib=True).reshape(20, -1, 6)
    assert found.method == "trees"
    values = found.values[..., None] if found.values.ndim == 2 else found.values
    np.testing.assert_allclose(values, expected[:, :, :-1].swapaxes(1, 2), atol=1e-8)
    np.testing.assert_allclose(found.predictions.reshape(20, -1), expected.sum(axis=2), atol=1e-8)

"""Passive-aggressive models take scikit-learn's steps, and say that they will go."""

import numpy as np
import pytest
import sklearn.linear_model as theirs
from sklearn.datasets import make_classification, make_regression

import mercer.linear_model as ours
from mercer.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")
_MODELS = [
    ("PassiveAggressiveClassifier", "hinge"),
    ("PassiveAggressiveClassifier", "squared_hinge"),
    ("PassiveAggressiveRegressor", "epsilon_insensitive"),
    ("PassiveAggressiveRegressor", "squared_epsilon_insensitive"),
]


@pytest.mark.parametrize(("name", "loss"), _MODELS)
def test_steps_in_order_are_scikit_learns(name, loss):
    make = make_classification if name.endswith("Classifier") else make_regression
    X, y = make(80, 6, n_informative=4, random_state=0)
    given = {"C": 0.1, "loss": loss, "shuffle": False, "tol": None, "max_iter": 3}
    mine, other = (getattr(one, name)(**given).fit(X, y) for one in (ours, theirs))
    assert np.allclose(mine.coef_, other.coef_, rtol=1e-9)
    assert np.allclose(mine.intercept_, other.intercept_, rtol=1e-9)
    parts = getattr(ours, name)(**given | {"max_iter": 1})
    for _ in range(3):
        parts.partial_fit(X, y, classes=[0, 1]) if name.endswith("Classifier") else parts.partial_fit(X, y)
    assert np.allclose(parts.coef_, mine.coef_)


def test_a_step_mends_the_loss_of_its_row():
    x, y = np.array([[3.0, 4.0]]), np.array([10.0])
    model = ours.PassiveAggressiveRegressor(C=100.0, epsilon=0.5, fit_intercept=False).partial_fit(x, y)
    assert np.allclose(model.predict(x), 9.5)


@pytest.mark.parametrize("name", ["PassiveAggressiveClassifier", "PassiveAggressiveRegressor"])
def test_it_says_that_it_is_deprecated_and_what_to_write(name):
    with pytest.warns(FutureWarning, match=r"removes it in 1\.10, and mercer with it\. Use `SGD"):
        getattr(ours, name)()


def test_targets_in_whose_rounding_every_step_is_lost_are_refused_and_a_larger_c_is_the_cure():
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = 1e20 * (X @ [1.0, -2.0, 0.5])
    with pytest.raises(DataError, match=r"lost in the rounding of targets .* Scale the targets"):
        ours.PassiveAggressiveRegressor(random_state=0).fit(X, y)
    assert ours.PassiveAggressiveRegressor(C=1e20, random_state=0).fit(X, y).score(X, y) > 0.99

"""What columns contribute to a prediction: exact for linear models, right to the stated error for others."""

import numpy as np
import pandas
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer.app.attribution import attribute
from mercer.cluster import KMeans
from mercer.linear_model import LogisticRegression, Ridge
from mercer.preprocessing import PolynomialBasis, TableEncoder

FRAME = pandas.DataFrame(
    {
        "a": np.random.default_rng(0).normal(size=300),
        "b": np.random.default_rng(1).normal(size=300),
        "c": np.random.default_rng(2).choice(["u", "v"], 300),
    }
)
Y = 3 * FRAME["a"] - 2 * (FRAME["c"] == "u") + 0.01 * np.random.default_rng(3).normal(size=300)


def test_shares_of_a_linear_model_are_coefficients_times_differences():
    model = make_pipeline(TableEncoder(), StandardScaler(), Ridge(1e-8)).fit(FRAME, Y)
    found = attribute(model, FRAME.iloc[[5]], FRAME)
    assert found.exact
    assert found.shares["a"] == pytest.approx(3 * (FRAME["a"][5] - FRAME["a"].mean()), abs=0.02)
    share = (FRAME["c"] == "u").mean()
    assert found.shares["c"] == pytest.approx(-2 * (float(FRAME["c"][5] == "u") - share), abs=0.02)
    assert abs(found.shares["b"]) < 0.01
    assert found.average + sum(found.shares.values()) == pytest.approx(found.value)
    assert found.value == pytest.approx(model.predict(FRAME.iloc[[5]])[0])


def test_logistic_regression_is_taken_apart_in_log_odds():
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(FRAME, Y > 0)
    found = attribute(model, FRAME.iloc[[5]], FRAME)
    share = model.predict_proba(FRAME.iloc[[5]])[0, 1]
    assert found.scale == "log-odds of `True`"
    assert found.value == pytest.approx(np.log(share / (1 - share)))


def test_shares_of_a_product_are_the_values_of_shapley_or_drawn_to_the_stated_error():
    # For f = a b, against a row (a', b'), Shapley's share of a is (a - a') (b + b') / 2.
    y = FRAME["a"] * FRAME["b"]
    model = make_pipeline(TableEncoder({"c": "ignored"}), PolynomialBasis(2), Ridge(1e-8)).fit(FRAME, y)
    row = pandas.DataFrame({"a": [2.0], "b": [1.5], "c": ["u"]})
    means = FRAME["a"].mean(), FRAME["b"].mean()
    expected = 0.5 * ((2.0 - means[0]) * 1.5 + 2.0 * means[1] - (FRAME["a"] * FRAME["b"]).mean())
    # All coalitions of few columns and rows are asked for; of ten times the rows orders are drawn.
    exact, found = attribute(model, row, FRAME), attribute(model, row, pandas.concat([FRAME] * 10))
    assert exact.exact
    assert not found.exact
    assert exact.shares["a"] == pytest.approx(expected)
    assert found.shares["a"] == pytest.approx(expected, abs=4 * found.errors["a"])
    assert found.shares["c"] == 0.0
    assert found.average + sum(found.shares.values()) == pytest.approx(found.value)


def test_probabilities_of_the_predicted_class_and_groups_are_taken_apart_too():
    model = make_pipeline(TableEncoder(), DummyClassifier(strategy="prior")).fit(FRAME, Y > 0)
    found = attribute(model, FRAME.iloc[[0]], FRAME)
    assert found.scale == f"probability of `{found.prediction}`"
    assert set(found.shares.values()) == {0.0}
    groups = make_pipeline(TableEncoder({"c": "ignored"}), KMeans(2, random_state=0)).fit(FRAME)
    found = attribute(groups, FRAME.iloc[[0]], FRAME)
    assert found.prediction == f"group {groups.predict(FRAME[:1])[0] + 1}"
    assert found.value == 1.0
    assert found.average + sum(found.shares.values()) == pytest.approx(1.0)

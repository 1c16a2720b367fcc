"""Measures of error: costs by hand, 0-1 costs are the error rate, and scores of mercer's own models."""

import re

import numpy as np
import pytest
from sklearn.metrics import get_scorer, roc_auc_score

from mercer.decision import DecisionClassifier, accuracy_costs, expected_cost, optimal_action
from mercer.errors import DataError
from mercer.inspection import CostCurveDisplay
from mercer.linear_model import LinearRegression, LogisticRegression
from mercer.metrics import cost_weighted_error, empirical_error

COSTS = np.array([[0.0, 5.0, 1.0], [2.0, -1.0, 3.0], [1.0, 8.0, 0.0]])


@pytest.mark.catalogue("MS-13")
def test_costs_of_decisions_by_hand():
    true, said = [7, -1, 3, 3, -1], [7, 3, 3, 7, -1]
    # Classes -1, 3, 7 are columns; decisions are rows: (7, 7), (3, -1), (3, 3), (7, 3), (-1, -1).
    assert cost_weighted_error(true, said, COSTS) == pytest.approx((0 + 2 - 1 + 8 + 0) / 5)
    weight = [1, 0, 2, 3, 0]
    assert cost_weighted_error(true, said, COSTS, sample_weight=weight) == pytest.approx((0 - 2 + 24) / 6)
    order = [7, -1, 3]
    places = [2, 0, 1]
    assert cost_weighted_error(true, said, COSTS[np.ix_(places, places)], classes=order) == pytest.approx(9 / 5)
    reject = np.vstack([COSTS, [0.5, 0.5, 0.5]])
    told = np.array([7, "?", 3, "?", -1], dtype=object)
    assert cost_weighted_error(true, told, reject, actions=[-1, 3, 7, "?"]) == pytest.approx(0.0)


@pytest.mark.catalogue("MS-13")
def test_with_costs_of_zero_and_one_it_is_the_error_rate_and_one_less_the_score():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    y = np.where(X[:, 0] + random.normal(size=300) > 0.8, "up", "down")
    model = LogisticRegression().fit(X, y)
    told = model.predict(X)
    wrong = np.mean([a != b for a, b in zip(y, told, strict=True)])
    assert (
        cost_weighted_error(y, told, 1 - np.eye(2)) == pytest.approx(wrong) == pytest.approx(empirical_error(y, told))
    )
    assert model.score(X, y) == pytest.approx(1 - wrong)
    gains = cost_weighted_error(y, told, accuracy_costs(2))
    assert gains == pytest.approx(wrong + accuracy_costs(2)[0, 0])


@pytest.mark.catalogue("MS-13")
def test_the_decision_of_least_expected_cost_has_the_least_cost_on_many_rows():
    """Rows drawn from known posteriors: the mean cost of decisions is their mean expected cost."""
    random = np.random.default_rng(1)
    posteriors = random.dirichlet([0.3, 1.0, 0.7], size=20_000)
    true = np.array([random.choice(3, p=row) for row in posteriors[:6000]])
    posteriors = posteriors[:6000]
    best = optimal_action(posteriors, COSTS).action
    cost = cost_weighted_error(true, best, COSTS, classes=[0, 1, 2])
    assert cost == pytest.approx(expected_cost(posteriors, COSTS).min(axis=1).mean(), abs=0.1)
    assert cost < cost_weighted_error(true, posteriors.argmax(axis=1), COSTS, classes=[0, 1, 2])


@pytest.mark.catalogue("MS-13")
def test_a_classifier_of_costs_scores_minus_the_mean_cost():
    random = np.random.default_rng(2)
    X = random.normal(size=(400, 2))
    y = np.where(X[:, 1] + random.normal(size=400) > 1.0, 1, -1)
    costs = np.array([[0.0, 10.0], [1.0, 0.0]])
    model = DecisionClassifier(LogisticRegression(), costs=costs).fit(X, y)
    assert -model.score(X, y) == pytest.approx(cost_weighted_error(y, model.predict(X), costs))


@pytest.mark.catalogue("MS-13")
def test_scores_of_regressors_and_of_searches_have_their_definitions():
    random = np.random.default_rng(3)
    X, y = 100 * random.normal(size=(40, 1)), -5 * random.normal(size=40)
    model = LinearRegression().fit(X[:30], y[:30])
    told = model.predict(X[30:])
    rest = y[30:]
    assert model.score(X[30:], rest) == pytest.approx(
        1 - np.sum((rest - told) ** 2) / np.sum((rest - rest.mean()) ** 2)
    )
    for scoring, error in (
        ("neg_mean_squared_error", lambda a, b: np.mean((a - b) ** 2)),
        ("neg_root_mean_squared_error", lambda a, b: np.sqrt(np.mean((a - b) ** 2))),
        ("neg_mean_absolute_error", lambda a, b: np.mean(np.abs(a - b))),
        ("neg_max_error", lambda a, b: np.max(np.abs(a - b))),
    ):
        assert get_scorer(scoring)(model, X[30:], rest) == pytest.approx(-error(rest, told))


@pytest.mark.catalogue("MS-13")
def test_the_area_under_the_roc_curve_is_the_probability_of_a_correct_ranking():
    random = np.random.default_rng(4)
    X = random.normal(size=(90, 2))
    y = np.where(X[:, 0] + random.normal(size=90) > 0.5, 1, -1)
    model = LogisticRegression().fit(X[:50], y[:50])
    scores = model.decision_function(X).round(1)  # rounded, so that some are equal
    gaps = scores[y == 1][:, None] - scores[y == -1]
    assert (gaps == 0).any()
    area = np.mean(gaps > 0) + 0.5 * np.mean(gaps == 0)
    assert roc_auc_score(y, scores) == pytest.approx(area)
    # The cost curve's rates are those of the same thresholds: the area between rate of alarms and hits.
    curve = CostCurveDisplay.from_predictions(y == 1, scores)
    assert np.trapezoid(1 - curve.misses, curve.false_alarms) == pytest.approx(area)
    chance = model.predict_proba(X)
    expected = -np.mean(np.log(chance[np.arange(90), (y == 1).astype(int)]))
    assert get_scorer("neg_log_loss")(model, X, y) == pytest.approx(-expected)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: cost_weighted_error([], [], [[0.0]]), "at least one label is needed; got none"),
        (
            lambda: cost_weighted_error([0, 1], [0, 2], 1 - np.eye(2), classes=[0, 1]),
            "y_pred must hold labels out of [0, 1]",
        ),
        (
            lambda: cost_weighted_error([0, 1], [0, 1], [[0, 1], [1, 0], [1, 1]]),
            "costs must have shape (2, 2), actions by",
        ),
    ],
)
def test_wrong_input_is_answered_with_a_cure(act, words):
    with pytest.raises(DataError, match=re.escape(words)):
        act()

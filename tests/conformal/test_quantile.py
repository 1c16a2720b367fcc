"""The quantile of scores, p-values, risk control, coverage and exchangeability."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from mercer.conformal import (
    ConformalClassifier,
    ConformalRegressor,
    check_coverage,
    check_exchangeability,
    conformal_p_values,
    conformal_quantile,
    control_risk,
    select_discoveries,
)
from mercer.errors import DataError, ParameterError
from mercer.frozen import FrozenEstimator
from mercer.neighbors import KNeighborsRegressor


def test_the_quantile_is_the_score_of_rank_n_plus_one_times_coverage_rounded_up():
    scores = np.arange(1.0, 20.0)
    for coverage, rank in ((0.9, 18), (0.95, 19), (0.5, 10), (0.05, 1)):
        assert conformal_quantile(scores, coverage) == rank
    assert conformal_quantile(scores, 0.96) == math.inf
    assert conformal_quantile(np.arange(1.0, 10.0), 0.9) == 9.0  # (9 + 1) 0.9 is 9 and no rounding more


@pytest.mark.parametrize(("n", "coverage"), [(9, 0.9), (19, 0.8), (30, 0.9)])
def test_a_new_score_is_held_as_often_as_its_rank_says(n, coverage):
    random = np.random.default_rng(11)
    draws = random.normal(size=(20_000, n + 1))
    held = [draw[-1] <= conformal_quantile(draw[:-1], coverage) for draw in draws[:4000]]
    exact = math.ceil(round((n + 1) * coverage, 9)) / (n + 1)
    assert abs(np.mean(held) - exact) < 4 * math.sqrt(exact * (1 - exact) / len(held))


def test_weights_that_are_equal_change_nothing_and_a_heavy_new_row_needs_all_scores():
    scores = np.random.default_rng(1).normal(size=24)
    for coverage in (0.3, 0.8, 0.92):
        assert conformal_quantile(scores, coverage, weight=np.ones(25)) == conformal_quantile(scores, coverage)
    assert conformal_quantile(scores, 0.9, weight=[*np.ones(24), 100.0]) == math.inf
    # A score of weight two is that score twice.
    twice = np.ones(25)
    twice[3] = 2.0
    assert conformal_quantile(scores, 0.7, weight=twice) == conformal_quantile([*scores, scores[3]], 0.7)


def test_p_values_are_uniform_for_usual_rows_and_small_for_strange_ones():
    random = np.random.default_rng(2)
    p = np.concatenate([conformal_p_values(random.normal(size=49), random.normal(size=1)) for _ in range(4000)])
    for t in (0.1, 0.3, 0.5):
        assert abs((p <= t).mean() - t) < 4 * math.sqrt(t * (1 - t) / len(p))
    assert conformal_p_values(np.zeros(9), [1.0]).tolist() == [0.1]
    assert conformal_p_values(np.zeros(9), [0.0, -1.0]).tolist() == [1.0, 1.0]


def test_few_of_the_discoveries_are_false():
    random = np.random.default_rng(3)
    shares = []
    for _ in range(300):
        usual, new = random.normal(size=200), np.concatenate([random.normal(size=40), random.normal(4.0, 1.0, size=10)])
        chosen = select_discoveries(conformal_p_values(usual, new), 0.2)
        shares.append(chosen[:40].sum() / max(1, chosen.sum()))
    # The expected share of false ones is at most 0.2 times that of usual rows, 0.8.
    assert np.mean(shares) < 0.16 + 4 * np.std(shares) / math.sqrt(len(shares))
    assert np.mean(shares) > 0.08


def test_controlled_risk_is_below_its_level_and_near_it():
    random = np.random.default_rng(4)
    thresholds = np.linspace(0.0, 1.0, 101)
    incurred = []
    for _ in range(1500):
        scores = random.uniform(size=60)
        setting = control_risk(scores[:-1, None] > thresholds, 0.2)
        incurred.append(scores[-1] > thresholds[setting])
    error = math.sqrt(0.16 / len(incurred))
    assert 0.2 - 1 / 60 - 0.02 - 4 * error < np.mean(incurred) < 0.2 + 4 * error


def test_a_measured_coverage_has_the_exact_interval_of_a_share():
    held = np.array([True] * 17 + [False] * 3)
    measured = check_coverage(np.zeros(20), np.column_stack([np.where(held, -1.0, 1.0), np.full(20, 2.0)]))
    assert measured.coverage == 0.85
    # The ends of Clopper and Pearson are the shares at which so few, or so many, have a probability of 2.5 %.
    assert binom.sf(16, 20, measured.low) == pytest.approx(0.025)
    assert binom.cdf(17, 20, measured.high) == pytest.approx(0.025)
    assert measured.holds(0.9)
    assert not measured.holds(0.99)


def test_coverage_is_counted_by_group_over_time_and_for_sets():
    y = np.array(["a", "b", "b", "z"])
    sets = np.array([[True, False], [True, False], [False, True], [True, True]])
    measured = check_coverage(y, sets, classes=["a", "b"], groups=[0, 0, 1, 1], n_periods=2)
    assert measured.coverage == 0.5
    assert measured.size == 1.25
    assert {name: one.coverage for name, one in measured.groups.items()} == {0: 0.5, 1: 0.5}
    assert [one.n_rows for one in measured.periods] == [2, 2]
    assert "50.0% of 4 rows" in str(measured)


def test_drifting_scores_are_not_exchangeable_and_shuffled_ones_are():
    random = np.random.default_rng(5)
    drifting = random.normal(size=400) + np.linspace(0.0, 3.0, 400)
    assert check_exchangeability(drifting, random_state=0).p_value < 1e-4
    alarms = [check_exchangeability(random.normal(size=100), random_state=i).p_value <= 0.1 for i in range(400)]
    # Ville's inequality: at most one in ten, at whatever row one stops.
    assert np.mean(alarms) < 0.1 + 4 * math.sqrt(0.09 / 400)
    alike = check_exchangeability(np.ones(300), random_state=0)
    assert alike.p_value > 0.05


def test_online_ranks_are_those_of_a_sort():
    random = np.random.default_rng(6)
    scores = random.integers(0, 5, size=60).astype(float)
    from mercer.conformal._exchangeability import _rank_online

    coins = random.random(60)
    ranks = _rank_online(scores, coins)
    for i in range(60):
        above, equal = (scores[:i] > scores[i]).sum(), (scores[:i] == scores[i]).sum()
        assert ranks[i] == pytest.approx((above + coins[i] * (equal + 1)) / (i + 1))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: conformal_quantile([1.0], 1.0), ParameterError, r"coverage must be a number in \(0, 1\); got 1.0"),
        (lambda: conformal_quantile([math.nan], 0.9), DataError, "scores must be numbers; got NaN"),
        (lambda: conformal_quantile([1.0], 0.9, weight=[1.0]), DataError, "weight must have 2 finite numbers"),
        (lambda: select_discoveries([0.5], 2.0), ParameterError, r"false_discovery_rate must be a number in \(0, 1\)"),
        (lambda: select_discoveries([1.5]), DataError, r"p_values must lie in \[0, 1\]"),
        (lambda: control_risk([[0.0, 1.0]], 0.1), DataError, "row 0 does. Order the settings"),
        (lambda: control_risk([[1.0, 1.0]], 0.1), DataError, "no setting keeps the expected loss below 0.1"),
        (lambda: control_risk([[2.0, 1.0]], 0.1), ParameterError, "largest_loss must be the largest loss"),
        (lambda: check_coverage([1.0], [[1.0]]), DataError, "intervals have two columns; got 1"),
        (lambda: check_coverage(["a"], [[True, False]]), DataError, "need their names; give classes="),
        (lambda: check_exchangeability([]), DataError, "one number or more"),
    ],
)
def test_wrong_input_gets_a_sentence(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_picture_names_groups_and_parts_that_break_the_promise():
    pytest.importorskip("matplotlib").use("Agg")
    from mercer.inspection import CoverageDisplay

    intervals = np.where(np.arange(200)[:, None] < 150, [[-1.0, 1.0]], [[1.0, 2.0]])
    groups = np.where(np.arange(200) < 100, "left", "right")
    shown = CoverageDisplay.from_result(check_coverage(np.zeros(200), intervals, groups=groups, n_periods=4), 0.9)
    assert shown.broken_ == ["all rows", "right", "part 4"]
    assert shown.ax_.get_xlabel() == "share of rows held"
    with pytest.raises(ParameterError, match=r"CoverageDisplay: promised must be a number in \(0, 1\); got 90"):
        CoverageDisplay(shown.measured, 90)


def test_too_few_rows_and_rows_of_the_fit_are_told():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 2)), random.normal(size=60)
    few = ConformalRegressor(calibration_size=8, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="a coverage of 0.9 needs 9 rows kept for calibration; there are 8"):
        assert np.isinf(few.predict_interval(X[:2])).all()
    by_class = ConformalClassifier(calibration_size=20, class_conditional=True, random_state=0)
    by_class.fit(X, np.where(np.arange(60) < 12, "rare", "usual"))
    with pytest.warns(UserWarning, match=r"needs \d+ rows of class 'rare' kept for calibration"):
        assert by_class.predict_set(X, coverage=0.95)[:, 0].all()
    learnt = KNeighborsRegressor(1).fit(X, y)
    with pytest.warns(UserWarning, match="the frozen KNeighborsRegressor was fitted to rows that are given for"):
        ConformalRegressor(FrozenEstimator(learnt)).fit(X, y)

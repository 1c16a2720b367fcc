"""Bagging: draws, out-of-bag judgement, subspaces, parts; combination rules and the variance of averages."""

import numpy as np
import pandas
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier as Tree

from mercer.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    VotingClassifier,
    combine_labels,
    combine_numbers,
    variance_of_average,
)
from mercer.errors import DataError, ParameterError
from mercer.metrics import member_correlation
from mercer.tree import DecisionTreeRegressor


def data(n=200, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * random.normal(size=n)


@pytest.mark.catalogue("TE-12")
def test_a_bootstrap_leaves_out_a_share_near_one_over_e():
    for n in (10, 1000):
        X, y = data(n)
        model = BaggingRegressor(LinearRegression(), n_estimators=150, random_state=0).fit(X, y)
        left_out = np.mean([1 - len(np.unique(rows)) / n for rows in model.estimators_samples_])
        assert left_out == pytest.approx((1 - 1 / n) ** n, abs=0.02)
    assert pytest.approx(0.348678, abs=5e-7) == (1 - 1 / 10) ** 10


@pytest.mark.catalogue("TE-12")
def test_one_member_without_resampling_is_the_base():
    X, y = data()
    bag = BaggingRegressor(LinearRegression(), n_estimators=1, bootstrap=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(bag.predict(X), LinearRegression().fit(X, y).predict(X))


@pytest.mark.catalogue("TE-12")
def test_the_variance_of_predictions_falls_with_members():
    points = data(50, seed=99)[0]
    spread = {}
    for members in (1, 20):
        answers = []
        for seed in range(8):
            X, y = data(120, seed)
            answers.append(BaggingRegressor(n_estimators=members, random_state=seed).fit(X, y).predict(points))
        spread[members] = np.var(answers, axis=0).mean()
    assert spread[20] < 0.7 * spread[1]


@pytest.mark.catalogue("TE-12")
def test_parts_of_the_rows_go_to_one_member_each():
    X, y = data()
    model = BaggingRegressor(n_estimators=4, partition=True, random_state=0).fit(X, y)
    dealt = np.concatenate(model.estimators_samples_)
    assert sorted(dealt.tolist()) == list(range(200))
    assert {len(rows) for rows in model.estimators_samples_} == {50}


@pytest.mark.catalogue("TE-14")
def test_random_subspaces_lower_the_correlation_of_members():
    random = np.random.default_rng(0)
    base = random.normal(size=(300, 2))
    X = np.repeat(base, 5, axis=1) + 0.3 * random.normal(size=(300, 10))
    y = base.sum(axis=1) + 0.5 * random.normal(size=300)
    found = {}
    for share in (1.0, 0.3):
        model = BaggingRegressor(n_estimators=30, max_features=share, random_state=0).fit(X[:200], y[:200])
        members = [
            one.predict(X[200:, columns]) for one, columns in zip(model, model.estimators_features_, strict=True)
        ]
        found[share] = member_correlation(np.array(members).T - y[200:, None])[1]
    assert found[0.3] < found[1.0]
    assert all(len(columns) == len(set(columns)) == 3 for columns in model.estimators_features_)


def test_an_average_needs_correlations_that_can_be():
    # Five numbers cannot all be correlated by less than -1/4; there their sum has no variance.
    assert variance_of_average(1.0, -0.25, 5) == pytest.approx(0.0, abs=1e-15)
    for arguments, words in (
        ((1.0, -0.5, 5), r"correlation in \[-0.25, 1\], since 5 numbers cannot all be less correlated; got 1"),
        ((-1.0, 0.5, 5), r"variance must be in \[0, inf\)"),
        ((1.0, 0.5, 2.5), r"n_members must be an integer in \[1, inf\); got 2.5"),
    ):
        with pytest.raises(DataError, match=words):
            variance_of_average(*arguments)


@pytest.mark.catalogue("TE-13")
def test_the_variance_of_an_average_of_correlated_numbers():
    assert variance_of_average(3.0, 0.0, 6) == 0.5
    assert variance_of_average(3.0, 1.0, 6) == 3.0
    random = np.random.default_rng(0)
    rho, m = 0.4, 5
    table = np.sqrt(rho) * random.normal(size=(200_000, 1)) + np.sqrt(1 - rho) * random.normal(size=(200_000, m))
    assert table.mean(axis=1).var() == pytest.approx(variance_of_average(1.0, rho, m), rel=0.01)
    assert member_correlation(table)[1] == pytest.approx(rho, abs=0.01)


@pytest.mark.catalogue("TE-13")
def test_the_formula_holds_for_the_members_of_a_real_bag():
    points = data(20, seed=77)[0]
    answers = np.array(
        [
            [one.predict(points) for one in BaggingRegressor(n_estimators=6, random_state=seed).fit(*data(100, seed))]
            for seed in range(20)
        ]
    )
    for point in range(20):
        variance, correlation = member_correlation(answers[:, :, point])
        average = answers[:, :, point].mean(axis=1).var(ddof=1)
        assert variance_of_average(variance, correlation, 6) == pytest.approx(average)


@pytest.mark.catalogue("TE-23")
def test_a_vote_of_bagged_perceptrons_bends_the_boundary():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(1500, 2))
    y = (X[:, 1] > 0.5 * np.sin(4 * X[:, 0])).astype(int)
    # A perceptron of rows that no line parts ends at a line by chance: the mean of twenty.
    singles = [Perceptron(random_state=seed).fit(X[:500], y[:500]).score(X[500:], y[500:]) for seed in range(20)]
    vote = BaggingClassifier(Perceptron(), 60, max_samples=10, random_state=0).fit(X[:500], y[:500])
    assert vote.score(X[500:], y[500:]) > np.mean(singles) + 0.02
    # Along a line the members answer with one change each, so the vote is constant between their crossings.
    line = np.column_stack([np.linspace(-1, 1, 400), np.full(400, 0.1)])
    assert np.count_nonzero(np.diff(vote.predict(line))) <= 60


@pytest.mark.catalogue("TE-24")
def test_combination_rules_and_their_scale():
    labels = np.array([["a", "b", "b"], ["c", "a", "c"]])
    assert combine_labels(labels).tolist() == ["b", "c"]
    weights = np.array([0.6, 0.3, 0.2])
    assert combine_labels(labels, weights).tolist() == ["a", "c"]
    for scale in (1e-6, 7.0, 1e9):
        assert combine_labels(labels, scale * weights).tolist() == ["a", "c"]
    values = np.array([[1.0, 2.0, 6.0]])
    assert combine_numbers(values).tolist() == [3.0]
    np.testing.assert_allclose(combine_numbers(values, weights), [(0.6 + 0.6 + 1.2) / 1.1])
    np.testing.assert_allclose(combine_numbers(values, weights, normalize=False), [2.4])


def test_rows_are_judged_by_members_that_did_not_see_them():
    X, y = data()
    labels = np.array(["low", "high"])[(y > 0).astype(int)]
    model = BaggingClassifier(n_estimators=40, oob_score=True, random_state=0).fit(X, labels)
    row, shares = 7, []
    for member, rows in zip(model, model.estimators_samples_, strict=True):
        if row not in rows:
            shares.append(member.predict_proba(X[[row]])[0])
    np.testing.assert_allclose(model.oob_decision_function_[row], np.mean(shares, axis=0))
    assert 0.7 < model.oob_score_ < model.score(X, labels)


def test_members_without_weights_or_probabilities_are_bagged_too():
    X, y = data(400)
    for base in (KNeighborsClassifier(), Perceptron(), Tree(max_depth=2)):
        model = BaggingClassifier(base, random_state=0).fit(X, y > 0)
        assert model.score(X, y > 0) > 0.7


def test_a_warm_start_adds_the_members_that_a_whole_fit_has():
    X, y = data()
    grown = BaggingRegressor(n_estimators=3, warm_start=True, random_state=0).fit(X, y)
    grown.set_params(n_estimators=9).fit(X, y)
    whole = BaggingRegressor(n_estimators=9, random_state=0).fit(X, y)
    np.testing.assert_array_equal(grown.predict(X), whole.predict(X))


def test_bagged_trees_beat_one_tree():
    X, y = data(400)
    one = DecisionTreeRegressor(random_state=0).fit(X[:200], y[:200]).score(X[200:], y[200:])
    assert BaggingRegressor(n_estimators=30, random_state=0).fit(X[:200], y[:200]).score(X[200:], y[200:]) > one + 0.05


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"oob_score": True, "bootstrap": False}, "Out of bag estimation only available if bootstrap=True"),
        ({"max_features": 9}, "max_features must be <= n_features; got 9 for 5 columns. Lower it."),
        ({"max_samples": 999, "bootstrap": False}, "Effective max_samples=999 must be <= n_samples=200"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, words):
    with pytest.raises(ParameterError) as caught:
        BaggingRegressor(**settings).fit(*data())
    assert words in str(caught.value)
    with pytest.raises(DataError, match="weights must be one number for each of 2 members"):
        combine_labels([[1, 2]], [1.0])


class Witness(ClassifierMixin, BaseEstimator):
    """A classifier that remembers the settings under which it was fitted and asked."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.fitted_under_ = sklearn.get_config()["transform_output"]
        return self

    def predict(self, X):
        self.asked_under_ = sklearn.get_config()["transform_output"]
        return np.full(len(X), self.classes_[0])

    def predict_proba(self, X):
        self.predict(X)
        return np.eye(len(self.classes_))[np.zeros(len(X), dtype=int)]


@pytest.mark.parametrize(
    "model",
    [
        BaggingClassifier(Witness(), n_estimators=8, n_jobs=4),
        VotingClassifier([(name, Witness()) for name in "abcdefgh"], n_jobs=4),
        StackingClassifier([(name, Witness()) for name in "abcdefgh"], Witness(), n_jobs=4),
        AdaBoostClassifier(Witness(), n_estimators=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_members_work_under_the_settings_of_scikit_learn_that_hold_at_the_call(model):
    random = np.random.default_rng(0)
    # The class that a witness always names is the more frequent one, or AdaBoost would not take it.
    X, y = random.normal(size=(1200, 2)), (random.random(1200) < 0.4).astype(int)
    with sklearn.config_context(transform_output="polars"):
        model.fit(X, y).predict(X)
    assert {member.fitted_under_ for member in model.estimators_} == {"polars"}
    assert {member.asked_under_ for member in model.estimators_} == {"polars"}


def test_members_see_some_columns_of_a_frame_with_categories():
    """Trees split categories of a frame themselves, so the frame reaches the members as it is."""
    random = np.random.default_rng(0)
    kinds = random.integers(0, 3, 80)
    frame = pandas.DataFrame(
        {"size": random.normal(size=80), "wood": pandas.Categorical.from_codes(kinds, list("abc"))}
    )
    tree = DecisionTreeRegressor(categorical_features="from_dtype")
    model = BaggingRegressor(tree, 20, max_features=0.5, oob_score=True, random_state=0).fit(frame, kinds == 1)
    assert {len(columns) for columns in model.estimators_features_} == {1}
    assert np.corrcoef(model.predict(frame), kinds == 1)[0, 1] > 0.9

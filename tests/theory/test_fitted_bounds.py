"""Bounds on the error of fitted classifiers: closed forms, simulations, and when they are not given."""

import math

import numpy as np
import pytest
from scipy.stats import binom
from sklearn import svm as peer
from sklearn.linear_model import LogisticRegression as SkLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer.ensemble import AdaBoostClassifier
from mercer.errors import DataError
from mercer.linear_model import LinearRegression, LogisticRegression
from mercer.neighbors import KNeighborsClassifier
from mercer.svm import SVC, LinearSVC
from mercer.theory import (
    bounds,
    consistent_error_bound,
    find_shattered,
    growth_function,
    hoeffding_sample_size,
    list_dichotomies,
    vc_bound,
    vc_dimension,
)
from mercer.theory._fitted.posteriors import _invert
from mercer.tree import DecisionTreeClassifier


def draw(n, rng, flip=0.1):
    """Return rows whose first column gives the label, some labels turned over: a constant in no column."""
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] > 0.2) ^ (rng.uniform(size=n) < flip)


def true_error(model, rng):
    X, y = draw(4000, rng)
    return float(np.mean(model.predict(X) != y))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_hold_out_bounds_are_the_closed_forms(rng):
    X, y = draw(300, rng)
    model = LogisticRegression().fit(X[:200], y[:200])
    found = bounds(model, X[:200], y[:200], X_held_out=X[200:], y_held_out=y[200:], delta=0.1)
    count = int((model.predict(X[200:]) != y[200:]).sum())
    assert np.isclose(found["hold-out, Hoeffding"].value, count / 100 + math.sqrt(math.log(10) / 200))
    # At the bound the tail of at most so many errors has exactly the probability of failure.
    assert np.isclose(binom.cdf(count, 100, found["hold-out, binomial"].value), 0.1)
    assert np.isclose(found.held_out_error, count / 100)
    assert hoeffding_sample_size(found["hold-out, Hoeffding"].capacity) > 100


def test_bounds_of_hyperplanes_are_those_of_their_dimension_and_their_growth(rng):
    X, y = draw(400, rng)
    model = SkLogistic().fit(X, y)
    found = bounds(model, X, y)
    assert np.isclose(found["VC dimension"].value, vc_bound(found.training_error, 400, 3, 0.05))
    growth = growth_function("hyperplanes", 800, 2)
    expected = found.training_error + math.sqrt(math.log(4 * growth / 0.05) / 400) + 1 / 400
    assert np.isclose(found["growth function"].value, expected)


def test_scaled_columns_do_not_enlarge_the_class_of_hyperplanes(rng):
    X, y = draw(400, rng)
    plain = bounds(SkLogistic(C=1e6).fit(X, y), X, y)
    scaled = bounds(make_pipeline(StandardScaler(), SkLogistic(C=1e6)).fit(X, y), X, y)
    assert np.isclose(plain["growth function"].capacity, scaled["growth function"].capacity)
    assert scaled["margin"].capacity > plain["margin"].capacity


def test_compression_of_a_separable_problem_counts_the_support_vectors(rng):
    X = np.concatenate([rng.normal(size=(60, 2)) - 6, rng.normal(size=(60, 2)) + 6])
    y = np.repeat(["no", "yes"], 60)
    for model in (SVC(kernel="linear", C=1e6), peer.SVC(kernel="linear", C=1e6)):
        found = bounds(model.fit(X, y), X, y)
        k = len(model.support_)
        bits = math.log2(math.comb(120, k) * 121)
        assert np.isclose(found["compression"].value, consistent_error_bound(bits, 120 - k))


def test_rows_of_another_fit_are_noticed(rng):
    X, y = draw(100, rng)
    model = SVC(kernel="linear").fit(X, y)
    found = bounds(model, X[::-1], y[::-1])
    assert "not those of the fit" in found.not_given["compression"]
    neighbours = KNeighborsClassifier().fit(X, y)
    assert "not those of the fit" in bounds(neighbours, X[:50], y[:50]).not_given["leave-one-out"]


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_neighbours_left_out_are_refitted_without_the_row(rng, weights):
    X, y = draw(60, rng)
    model = KNeighborsClassifier(3, weights=weights).fit(X, y)
    others = [np.delete(np.arange(60), i) for i in range(60)]
    refitted = [KNeighborsClassifier(3, weights=weights).fit(X[rest], y[rest]) for rest in others]
    wrong = [one.predict(X[[i]])[0] != y[i] for i, one in enumerate(refitted)]
    bound = bounds(model, X, y)["leave-one-out"]
    assert np.isclose(bound.measured, np.mean(wrong))
    assert np.isclose(bound.capacity, math.sqrt(19 / (60 * 0.05)))


def test_margins_of_a_linear_kernel_are_those_of_the_coefficients(rng):
    X, y = draw(200, rng)
    machine = SVC(kernel="linear").fit(X, y)
    found = bounds(machine, X, y, random_state=0)
    w = np.append(machine.coef_[0], machine.intercept_[0])
    rows = np.column_stack([X, np.ones(200)])
    margins = np.where(y, 1, -1) * (rows @ w) / np.linalg.norm(w)
    complexity = np.sqrt((rows**2).sum()) / 200
    candidates = []
    for j in range(-60, 61):
        log_ratio = math.log(2 / 0.05) + math.log(1.5 * (abs(j) + 1) * (abs(j) + 2))
        error = np.mean(margins <= 2.0**j)
        candidates.append(error + 2 * complexity / 2.0**j + 3 * math.sqrt(log_ratio / 400))
    assert np.isclose(found["margin"].value, min(candidates))


def test_bounds_of_machines_of_both_libraries_agree(rng):
    X, y = draw(150, rng)
    for settings in ({"kernel": "rbf", "gamma": 0.5}, {"kernel": "poly", "degree": 2, "coef0": 1.0}):
        ours = bounds(SVC(tol=1e-6, **settings).fit(X, y), X, y, random_state=0)
        theirs = bounds(peer.SVC(tol=1e-6, **settings).fit(X, y), X, y, random_state=0)
        assert ours.names == theirs.names
        assert np.isclose(ours["margin"].value, theirs["margin"].value, rtol=1e-3)


def test_stumps_follow_random_signs_as_the_best_of_all_dichotomies():
    from mercer.theory._fitted.margins import _follow_stumps

    rng = np.random.default_rng(0)
    rows, signs = rng.normal(size=(9, 2)).round(1), rng.choice([-1.0, 1.0], size=(20, 9))
    answers = np.concatenate([list_dichotomies(rows[:, [j]], "thresholds") for j in (0, 1)])
    assert np.allclose(_follow_stumps(rows, signs), np.abs(signs @ answers.T).max(axis=1) / 9)


def test_the_divergence_of_two_coins_is_inverted():
    for risk, p in ((0.1, 0.3), (0.01, 0.02), (0.4, 0.9)):
        limit = risk * math.log(risk / p) + (1 - risk) * math.log((1 - risk) / (1 - p))
        assert np.isclose(_invert(risk, limit), p)
    # Without errors the divergence is -ln(1 - p).
    assert np.isclose(_invert(0.0, 0.5), 1 - math.exp(-0.5))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        SVC(gamma=0.5),
        DecisionTreeClassifier(max_depth=1),
        DecisionTreeClassifier(max_leaf_nodes=4),
        AdaBoostClassifier(n_estimators=3),
        KNeighborsClassifier(3),
        LinearSVC(loss="hinge", C=1e-3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_no_bound_fails_more_often_than_promised(rng, model):
    delta, repeats, failures = 0.2, 20, {}
    for repeat in range(repeats):
        X, y = draw(100, rng)
        fresh_X, fresh_y = draw(50, rng)
        model.fit(X, y)
        found = bounds(model, X, y, X_held_out=fresh_X, y_held_out=fresh_y, delta=delta, random_state=repeat)
        error = true_error(model, rng)
        for one in found.bounds:
            failures[one.name] = failures.get(one.name, 0) + (error > one.value)
    # A bound that keeps its promise fails more often than this once in a million tests.
    most = binom.isf(1e-6, repeats, delta)
    assert max(failures.values()) <= most
    # Those over a whole class hold with much to spare.
    assert all(count <= 1 for name, count in failures.items() if not name.startswith("hold-out"))


def test_together_divides_the_failure_and_allows_the_smallest(rng):
    X, y = draw(200, rng)
    model = DecisionTreeClassifier(max_depth=1).fit(X, y)
    each, together = (bounds(model, X, y, together=both, random_state=0) for both in (False, True))
    assert np.isclose(together["finite class"].delta * len(together.bounds), 0.05)
    assert together["finite class"].value > each["finite class"].value
    assert together.smallest is together.bounds[0]
    with pytest.raises(DataError, match="Call bounds with together=True"):
        _ = each.smallest


def test_the_table_shows_every_bound_and_reason(rng):
    X, y = draw(200, rng)
    found = bounds(SkLogistic().fit(X, y), X, y, random_state=0)
    for text in (str(found), found._repr_html_()):
        assert all(name in text for name in (*found.names, *found.not_given))
    assert math.isnan(found.excess("margin"))
    assert "with probability 0.95" in str(found["margin"])
    with pytest.raises(KeyError, match="it needs rows that the fit has not seen"):
        found["hold-out, Hoeffding"]


def test_bad_input_is_named(rng):
    X, y = draw(50, rng)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(DataError, match="bounds: model must be a classifier; got LinearRegression"):
        bounds(LinearRegression().fit(X, y.astype(float)), X, y)
    with pytest.raises(DataError, match="got no y_held_out"):
        bounds(model, X, y, X_held_out=X)
    with pytest.raises(DataError, match=r"bounds: delta must be a number in \(0, 1\)"):
        bounds(model, X, y, delta=1.0)


def test_three_classes_have_bounds_that_need_no_signs(rng):
    X = rng.normal(size=(150, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    found = bounds(DecisionTreeClassifier(max_leaf_nodes=3).fit(X, y), X, y)
    assert {"finite class", "growth function"} <= set(found.names)
    assert "two classes" in bounds(SVC().fit(X, y), X, y).not_given["margin"]


def test_trees_shatter_as_many_points_of_a_line_as_they_have_leaves():
    points = np.arange(5.0)[:, None]
    for leaves in (2, 3, 4):
        assert vc_dimension(DecisionTreeClassifier(max_leaf_nodes=leaves), points=points) == leaves


def test_the_dimension_of_learners_is_known_or_found():
    assert vc_dimension(LogisticRegression(), 3) == vc_dimension("hyperplanes", 3)
    assert vc_dimension(SkLogistic(fit_intercept=False), 3) == vc_dimension("origin hyperplanes", 3)
    assert vc_dimension(KNeighborsClassifier(), 2) == math.inf
    # A search among points that are drawn: a threshold of either sign.
    assert vc_dimension(DecisionTreeClassifier(max_depth=1), random_state=0) == 2


def test_a_list_of_functions_is_searched_exactly():
    points = np.arange(6.0)[:, None]
    thresholds = [lambda x, t=t: x[:, 0] > t for t in np.arange(-1, 6) + 0.5]
    assert vc_dimension(thresholds, points=points) == vc_dimension("thresholds")
    intervals = [lambda x, a=a, b=b: (x[:, 0] >= a) & (x[:, 0] < b) for a in range(7) for b in range(a, 7)]
    assert len(find_shattered(points, intervals)) == vc_dimension("intervals")
    assert len(list_dichotomies(points, intervals)) == growth_function("intervals", 6)

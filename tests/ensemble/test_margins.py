"""Margins, the exponential loss, and the linear program that maximises the least margin."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from mercer.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    LPBoostClassifier,
    best_step,
    exponential_loss,
    margin_distribution,
    margins,
    maximize_margin,
    member_labels,
)
from mercer.errors import DataError, ParameterError


def data(n=150, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, (X[:, 0] + X[:, 1] > 0.2 * X[:, 2] ** 2).astype(int)


def agreement(model, X, y):
    return np.where(member_labels(model, X) == y[:, None], 1.0, -1.0)


@pytest.mark.catalogue("TE-18")
def test_weights_are_the_gradient_of_the_loss_and_steps_its_line_minima():
    X, y = data()
    model = AdaBoostClassifier(n_estimators=12).fit(X, y)
    table, alpha = agreement(model, X, y), model.estimator_weights_ / 2
    losses = [exponential_loss(table[:, :t], alpha[:t])[0] for t in range(len(alpha) + 1)]
    assert (np.diff(losses) < 0).all()
    np.testing.assert_allclose(np.array(losses[1:]) / len(y), model.history_["objective"], rtol=1e-9)
    for t in range(len(alpha)):
        _, weight = exponential_loss(table[:, :t], alpha[:t])
        assert best_step(table[:, t], weight) == pytest.approx(alpha[t], rel=1e-7)
    _, weight = exponential_loss(table, alpha)
    expected = np.exp(-alpha.sum() * margins(model, X, y))
    np.testing.assert_allclose(weight, expected / expected.sum(), rtol=1e-9)


@pytest.mark.catalogue("TE-18")
def test_weight_gathers_on_few_hard_rows_as_votes_grow():
    X, y = data()
    model = AdaBoostClassifier(n_estimators=200).fit(X, y)
    table, alpha = agreement(model, X, y), model.estimator_weights_ / 2
    held = [1 / (exponential_loss(table[:, :t], alpha[:t])[1] ** 2).sum() for t in (1, 20, 200)]
    assert held[0] > held[1] > held[2]


@pytest.mark.catalogue("TE-19")
def test_margins_lie_between_minus_one_and_one_and_tell_errors():
    X, y = data()
    model = AdaBoostClassifier(n_estimators=10).fit(X, y)
    found = margins(model, X, y)
    assert np.abs(found).max() <= 1 + 1e-12
    np.testing.assert_array_equal(found > 0, model.predict(X) == y)
    values, shares = margin_distribution(found)
    assert (np.diff(values) >= 0).all()
    assert shares[-1] == 1.0
    bagged = BaggingClassifier(n_estimators=7, random_state=0).fit(X, np.array(["a", "b"])[y])
    votes = (member_labels(bagged, X) == y[:, None]).mean(axis=1)
    np.testing.assert_allclose(margins(bagged, X, np.array(["a", "b"])[y]), 2 * votes - 1)


@pytest.mark.catalogue("TE-19")
def test_small_margins_keep_growing_after_the_last_training_error():
    X, y = data(80)
    model = AdaBoostClassifier(n_estimators=400).fit(X, y)
    clean = next(t for t, found in enumerate(model.staged_predict(X), start=1) if (found == y).all())
    early, late = (margins(model, X, y, n_members=t).min() for t in (clean, 400))
    assert early > 0
    assert late > early


@pytest.mark.catalogue("TE-20")
def test_the_program_beats_adaboost_on_its_own_hypotheses_with_a_dual_distribution():
    X, y = data()
    model = AdaBoostClassifier(n_estimators=40).fit(X, y)
    table = agreement(model, X, y)
    found = maximize_margin(table)
    assert found.weights.sum() == pytest.approx(1.0)
    assert (table @ found.weights).min() == pytest.approx(found.margin, abs=1e-8)
    assert found.margin >= margins(model, X, y).min()
    assert found.row_weight.sum() == pytest.approx(1.0)
    assert (found.row_weight @ table).max() == pytest.approx(found.margin, abs=1e-7)
    support = found.row_weight > 1e-9
    np.testing.assert_allclose((table @ found.weights)[support], found.margin, atol=1e-7)


@pytest.mark.catalogue("TE-20")
def test_soft_margins_leave_at_most_their_share_of_rows_short():
    X, y = data()
    table = agreement(AdaBoostClassifier(n_estimators=40).fit(X, y), X, y)
    for nu in (0.1, 0.3):
        found = maximize_margin(table, nu=nu)
        assert (table @ found.weights < found.margin - 1e-8).mean() <= nu
        assert found.row_weight.max() <= 1 / (nu * len(y)) + 1e-9
        assert found.objective == pytest.approx(found.margin - found.slacks.mean() / nu)
    assert maximize_margin(table, nu=1 / len(y) / 2).margin == pytest.approx(maximize_margin(table).margin, abs=1e-7)


@pytest.mark.catalogue("TE-20")
def test_column_generation_finds_the_best_vote_over_all_stumps():
    random = np.random.default_rng(1)
    X = random.normal(size=(25, 2)).round(1)
    y = (X.sum(axis=1) > 0).astype(int)
    every = [
        np.where((X[:, j] <= value) == bool(side), 1, -1) * (2 * y - 1)
        for j, side in itertools.product(range(2), range(2))
        for value in np.append(np.unique(X[:, j]), np.inf)
    ]
    for nu in (None, 0.3):
        best = maximize_margin(np.array(every).T, nu=nu)
        model = LPBoostClassifier(nu=nu, n_estimators=200).fit(X, y)
        assert model.converged_
        assert model.history_["objective"][-1] == pytest.approx(best.objective, abs=1e-6)
        assert (np.diff(model.history_["objective"]) >= -1e-9).all()
        assert model.estimator_weights_.sum() == pytest.approx(1.0)


def test_a_program_cut_short_says_how_far_it_is():
    scores = []
    for seed in range(8):
        X, y = data(seed=seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = LPBoostClassifier(n_estimators=4).fit(X, y)
        assert "raise n_estimators or tol" in str(caught[-1].message)
        assert model.certificate_.value > 0
        scores.append(model.score(X, y))
    assert np.mean(scores) > 0.7


def test_arguments_out_of_range_are_refused():
    with pytest.raises(ParameterError) as caught:
        maximize_margin([[1.0]], nu=2)
    assert str(caught.value) == "maximize_margin: nu must be a number in (0, 1] or None; got 2."
    with pytest.raises(DataError, match="agreement must be a finite matrix, rows by hypotheses"):
        maximize_margin([1.0])
    X, y = data()
    with pytest.raises(DataError, match="margins: y must have labels of the model; got 9"):
        margins(AdaBoostClassifier(n_estimators=2).fit(X, y), X, np.full(len(y), 9))
    assert best_step([1.0, 1.0], [0.5, 0.5]) == np.inf


@pytest.mark.catalogue("TE-20")
def test_the_vote_depends_neither_on_the_order_of_rows_nor_on_how_they_are_counted():
    X, y = data(60)
    random = np.random.default_rng(2)
    order, weight = random.permutation(60), random.integers(0, 4, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for nu, n_estimators in itertools.product((None, 0.3), (5, 60)):
            model = LPBoostClassifier(nu=nu, n_estimators=n_estimators)
            plain, shuffled = (clone(model).fit(X[rows], y[rows]) for rows in (np.arange(60), order))
            np.testing.assert_array_equal(shuffled.decision_function(X), plain.decision_function(X))
            np.testing.assert_array_equal(shuffled.row_weight_, plain.row_weight_[order])
            weighted = clone(model).fit(X, y, weight.astype(float))
            repeated = clone(model).fit(X.repeat(weight, axis=0), y.repeat(weight))
            np.testing.assert_array_equal(weighted.decision_function(X), repeated.decision_function(X))


def test_the_bound_on_the_objective_never_rises_and_holds_at_the_end():
    X, y = data()
    model = LPBoostClassifier(nu=0.3, n_estimators=200).fit(X, y)
    bounds = model.history_["objective"] + model.history_["gap"]
    assert (np.diff(bounds) <= 1e-12).all()
    assert bounds[-1] >= model.history_["objective"][-1]
    assert model.converged_
    assert model.row_weight_.max() <= 1 / (0.3 * len(y)) + 1e-9
    assert model.row_weight_.sum() == pytest.approx(1.0)

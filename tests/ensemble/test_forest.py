"""Forests: draws, out-of-bag errors, importances, proximities, one tree after the other."""

import numpy as np
import pytest
import sklearn.ensemble
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, make_friedman1

from mercer.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from mercer.errors import DataError, ParameterError
from mercer.tree import DecisionTreeClassifier

X, Y = load_breast_cancer(return_X_y=True)
FORESTS = [RandomForestClassifier, ExtraTreesClassifier]


@pytest.mark.catalogue("TE-15")
@pytest.mark.parametrize("forest", FORESTS)
def test_a_forest_says_the_mean_of_what_its_trees_say(forest):
    model = forest(7, random_state=0).fit(X, Y)
    trees = np.mean([tree.predict_proba(X) for tree in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), trees, rtol=1e-14)
    np.testing.assert_array_equal(model.apply(X), np.stack([tree.apply(X) for tree in model], axis=1))


@pytest.mark.catalogue("TE-15")
@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_values_take_the_same_way_in_a_forest_as_in_its_trees(forest, dtype):
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X).astype(dtype)
    model = forest(7, random_state=0).fit(rows, Y)
    trees = np.mean([tree.tree_.predict(rows) for tree in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(rows), trees, rtol=1e-14 if dtype is np.float64 else 1e-6)


@pytest.mark.catalogue("TE-15")
def test_without_draws_every_tree_is_the_decision_tree():
    model = RandomForestClassifier(3, bootstrap=False, max_features=None, random_state=0).fit(X[:200], Y[:200])
    alone = DecisionTreeClassifier().fit(X[:200], Y[:200]).tree_
    for tree in model.estimators_:
        np.testing.assert_array_equal(tree.tree_.feature, alone.feature)
        np.testing.assert_array_equal(tree.tree_.threshold, alone.threshold)


@pytest.mark.catalogue("TE-16")
def test_out_of_bag_predictions_are_those_of_trees_that_did_not_see_a_row():
    model = RandomForestClassifier(60, oob_score=True, random_state=1).fit(X, Y)
    sums, counts = np.zeros((len(X), 2)), np.zeros(len(X))
    for tree, rows in zip(model.estimators_, model.estimators_samples_):
        unseen = np.setdiff1d(np.arange(len(X)), rows)
        sums[unseen] += tree.predict_proba(X[unseen])
        counts[unseen] += 1
    np.testing.assert_allclose(model.oob_decision_function_, sums / counts[:, None])
    assert model.oob_score_ == np.mean(sums.argmax(axis=1) == Y)
    assert counts.mean() / 60 == pytest.approx(np.exp(-1), abs=0.01)
    assert model.history_["oob_error"][-1] == pytest.approx(1 - model.oob_score_)
    assert len(model.history_["oob_error"]) == 60


@pytest.mark.catalogue("TE-15")
def test_a_forest_is_as_good_as_scikit_learns_and_better_than_a_tree():
    rows, y = make_friedman1(3000, noise=2.0, random_state=0)
    train, test = slice(0, 2000), slice(2000, None)
    settings = {"n_estimators": 40, "random_state": 0, "max_features": 0.4}
    for name, ours in (("RandomForestRegressor", RandomForestRegressor), ("ExtraTreesRegressor", ExtraTreesRegressor)):
        theirs = getattr(sklearn.ensemble, name)(**settings).fit(rows[train], y[train]).score(rows[test], y[test])
        model = ours(**settings).fit(rows[train], y[train])
        assert model.score(rows[test], y[test]) > theirs - 0.02
        assert model.score(rows[test], y[test]) > model.estimators_[0].score(rows[test], y[test]) + 0.1


def test_weights_decide_how_often_rows_are_drawn():
    weight = np.where(Y == 1, 3.0, 0.0)
    weight[:5] = 1.0
    model = RandomForestClassifier(5, random_state=0).fit(X, Y, sample_weight=weight)
    drawn = np.concatenate(model.estimators_samples_)
    assert weight[drawn].min() > 0
    assert np.mean(Y[drawn] == 1) > 0.98


def test_warm_start_grows_the_trees_that_are_missing():
    whole = RandomForestClassifier(8, random_state=0).fit(X, Y)
    model = RandomForestClassifier(3, random_state=0, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=8).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(ParameterError, match=r"n_estimators=2 must be larger or equal to len\(estimators_\)=8"):
        model.set_params(n_estimators=2).fit(X, Y)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.set_params(n_estimators=8).fit(X, Y)


def test_proximities_are_shares_of_trees_where_rows_meet():
    model = RandomForestClassifier(10, random_state=0).fit(X, Y)
    near = model.proximity(X[:40])
    leaves = model.apply(X[:40])
    assert near[3, 7] == np.mean(leaves[3] == leaves[7])
    np.testing.assert_array_equal(near, near.T)
    assert np.linalg.eigvalsh(near).min() > -1e-10
    assert (np.diag(near) == 1).all()


def test_shuffling_a_column_of_noise_costs_nothing():
    random = np.random.default_rng(0)
    rows = np.column_stack([random.integers(0, 2, 1000), random.normal(size=1000)])
    y = np.where(random.random(1000) < 0.2, 1 - rows[:, 0], rows[:, 0]).astype(int)
    model = RandomForestClassifier(40, random_state=0).fit(rows, y)
    assert model.feature_importances_[1] > 0.3
    signal, noise = model.permutation_importance(rows, y)
    assert signal > 0.1
    assert abs(noise) < 0.05
    with pytest.raises(DataError, match="permutation_importance needs rows that trees did not see"):
        model.permutation_importance(rows[:10], y[:10])


@pytest.mark.parametrize("forest", [*FORESTS, RandomForestRegressor])
def test_sparse_rows_and_one_row_get_the_same_answer(forest):
    rows = np.where(np.median(X, axis=0) > X, 0.0, X)
    model = forest(5, random_state=0).fit(csr_array(rows), Y)
    dense = forest(5, random_state=0).fit(rows, Y)
    np.testing.assert_array_equal(model.predict(csr_array(rows)), dense.predict(rows))
    np.testing.assert_array_equal(model.predict(rows[5:6]), dense.predict(rows)[5:6])


@pytest.mark.parametrize("n_trees", [3, 700])
def test_few_rows_that_go_down_many_trees_at_a_time_get_the_same_bits(n_trees):
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 4))
    X[random.random(X.shape) < 0.1] = np.nan
    forest = RandomForestClassifier(n_trees, max_depth=5, random_state=0).fit(X[:200], X[:200, 0] > 0)
    together = forest.predict_proba(X)
    for count in (1, 31, 32, 513):
        np.testing.assert_array_equal(forest.predict_proba(X[:count]), together[:count])


class Hurried(RandomForestClassifier):
    """A forest whose clock advances by a second whenever it is read."""

    looks = 0

    def _make_growth(self, *arguments):
        growth = super()._make_growth(*arguments)
        growth.clock = self.look
        return growth

    def look(self):
        self.looks += 1
        return float(self.looks)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("settings", [{}, {"max_leaf_nodes": 8}])
def test_when_the_time_is_over_trees_that_still_grow_are_thrown_away(settings):
    whole = RandomForestClassifier(6, random_state=0, **settings).fit(X, Y)
    ends = []
    for seconds in range(0, 100, 7):
        model = Hurried(6, n_jobs=1, max_time=float(seconds), random_state=0, **settings).fit(X, Y)
        ends.append(len(model))
        # The tree in growth stops at its first look, and each of those who ask for more trees looks once.
        assert model.looks <= seconds + 5 or ends[-1] in (1, 6)
        assert model.converged_ == (ends[-1] == 6)
        for mine, theirs in zip(model, whole):
            np.testing.assert_array_equal(mine.tree_.threshold, theirs.tree_.threshold)
    assert ends[0] == 1
    assert ends == sorted(ends)
    assert len(set(ends)) > 2


def test_wishes_that_exclude_each_other_are_refused():
    with pytest.raises(ParameterError, match="oob_score needs bootstrap=True"):
        RandomForestClassifier(bootstrap=False, oob_score=True).fit(X, Y)
    with pytest.raises(ParameterError, match="`max_sample` cannot be set if `bootstrap=False`"):
        ExtraTreesClassifier(max_samples=0.5).fit(X, Y)
    with pytest.raises(DataError, match="X holds NaN only"):
        RandomForestClassifier().fit(np.full((4, 2), np.nan), [0, 1, 0, 1])

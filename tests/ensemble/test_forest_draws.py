"""What a forest draws: rows by bootstrap, columns at each split, and the rows that each tree has not seen."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.model_selection import cross_val_predict

from mercer.ensemble import RandomForestClassifier, RandomForestRegressor
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor

X = np.random.default_rng(0).normal(size=(150, 4)) * [1.0, 50.0, 0.01, 1.0]
NUMBERS = X[:, 0] + np.sin(X[:, 1] / 25) + 0.3 * np.random.default_rng(1).normal(size=150)
LABELS = np.where(NUMBERS > 0.5, "high", np.where(NUMBERS < -0.5, "low", "mid"))


@pytest.mark.catalogue("TE-15")
@pytest.mark.parametrize("min_samples_leaf", [1, 7])
@pytest.mark.parametrize(
    ("forest", "tree", "y"),
    [
        (RandomForestClassifier, DecisionTreeClassifier, LABELS),
        (RandomForestRegressor, DecisionTreeRegressor, NUMBERS),
    ],
)
def test_with_all_columns_the_trees_are_bagged_trees(forest, tree, y, min_samples_leaf):
    """Each tree is the one that grows alone on its rows, as often as they were drawn; none is pruned."""
    settings = {"max_features": None, "min_samples_leaf": min_samples_leaf}
    model = forest(6, random_state=3, **settings).fit(X, y)
    answers = []
    for grown, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        assert len(rows) == 150
        counts = np.bincount(rows, minlength=150)
        alone = tree(**settings).fit(X[counts > 0], y[counts > 0], sample_weight=counts[counts > 0])
        np.testing.assert_array_equal(grown.tree_.feature, alone.tree_.feature)
        np.testing.assert_allclose(grown.tree_.threshold, alone.tree_.threshold)
        np.testing.assert_allclose(grown.tree_.value, alone.tree_.value, rtol=1e-9, atol=1e-12)
        answers.append(alone.predict_proba(X) if forest is RandomForestClassifier else alone.predict(X))
    mean = np.mean(answers, axis=0)
    if forest is RandomForestRegressor:
        np.testing.assert_allclose(model.predict(X), mean, rtol=1e-9)
    else:
        np.testing.assert_array_equal(model.predict(X), model.classes_[mean.argmax(axis=1)])
    # Draws differ between trees, and are with replacement: a row is missed with (1 - 1/n)^n, about 36.8 %.
    assert len({tuple(np.sort(rows)) for rows in model.estimators_samples_}) == 6


@pytest.mark.catalogue("TE-15")
@pytest.mark.parametrize("m", [1, 2, 3])
def test_a_split_takes_the_best_of_m_columns_drawn_for_it(m):
    """One column of four tells the class and the others nothing: it is at the root where it was drawn, m times in 4."""
    random = np.random.default_rng(1)
    rows = random.normal(size=(200, 4))
    y = (rows[:, 2] > 0).astype(int)
    model = RandomForestClassifier(600, max_features=m, max_depth=1, random_state=0).fit(rows, y)
    roots = np.bincount([tree.tree_.feature[0] for tree in model.estimators_], minlength=4) / 600
    # Four standard errors of a share of 600 draws.
    assert roots[2] == pytest.approx(m / 4, abs=4 * np.sqrt(m / 4 * (1 - m / 4) / 600))
    if m == 1:
        assert np.abs(roots - 0.25).max() < 4 * np.sqrt(0.1875 / 600)
    by_share = RandomForestClassifier(20, max_features=m / 4, max_depth=1, random_state=0).fit(rows, y)
    assert all(tree.max_features_ == m for tree in by_share.estimators_)


@pytest.mark.catalogue("TE-15")
def test_more_trees_err_less_and_a_forest_less_than_a_tree():
    rows, y = make_friedman1(1200, noise=2.0, random_state=1)
    train, test = slice(0, 400), slice(400, None)
    errors = np.zeros(4)
    for seed in range(6):
        model = RandomForestRegressor(64, max_features=0.4, random_state=seed).fit(rows[train], y[train])
        answers = np.array([tree.predict(rows[test]) for tree in model.estimators_])
        errors += [np.mean((answers[:count].mean(axis=0) - y[test]) ** 2) for count in (1, 4, 16, 64)]
        np.testing.assert_allclose(model.predict(rows[test]), answers.mean(axis=0))
    assert (np.diff(errors) < 0).all()
    alone = DecisionTreeRegressor().fit(rows[train], y[train])
    assert errors[-1] / 6 < 0.6 * np.mean((alone.predict(rows[test]) - y[test]) ** 2)


@pytest.mark.catalogue("TE-16")
@pytest.mark.parametrize("columns", [1, 2])
def test_numbers_out_of_bag_are_the_means_of_trees_that_did_not_see_the_row(columns):
    y = NUMBERS if columns == 1 else np.column_stack([NUMBERS, 100 * X[:, 3]])
    model = RandomForestRegressor(80, oob_score=True, random_state=2).fit(X, y)
    sums, counts = np.zeros((150, columns)), np.zeros(150)
    for tree, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        unseen = np.setdiff1d(np.arange(150), rows)
        sums[unseen] += tree.predict(X[unseen]).reshape(len(unseen), columns)
        counts[unseen] += 1
    expected = (sums / counts[:, None])[:, 0] if columns == 1 else sums / counts[:, None]
    np.testing.assert_allclose(model.oob_prediction_, expected, rtol=1e-9)
    truth = y.reshape(150, columns)
    shares = ((truth - sums / counts[:, None]) ** 2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)
    assert model.oob_score_ == pytest.approx(1 - shares.mean())
    # A row is out of the bag of (1 - 1/n)^n of the trees.
    assert counts.mean() / 80 == pytest.approx((1 - 1 / 150) ** 150, abs=0.01)


@pytest.mark.catalogue("TE-16")
def test_the_error_out_of_bag_is_close_to_that_of_cross_validation_and_far_from_that_of_training():
    rows, y = make_friedman1(300, noise=2.0, random_state=3)
    labels = np.where(y > np.median(y), "above", "below")
    model = RandomForestClassifier(120, oob_score=True, random_state=0).fit(rows, labels)
    crossed = np.mean(cross_val_predict(RandomForestClassifier(120, random_state=0), rows, labels, cv=5) == labels)
    assert model.oob_score_ == pytest.approx(crossed, abs=0.04)
    assert model.score(rows, labels) > model.oob_score_ + 0.1
    classes = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_score_ == np.mean(classes == labels)
    np.testing.assert_allclose(model.oob_decision_function_.sum(axis=1), 1.0)

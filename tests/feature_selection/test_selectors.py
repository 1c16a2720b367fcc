"""Selectors by scores of single columns: scores as sums against scikit-learn's functions, rules, places."""

import numpy as np
import pytest
from scipy.stats import f_oneway, linregress
from sklearn import feature_selection as theirs

import mercer.feature_selection as ours
from mercer.errors import DataError

SCORES = [theirs.f_classif, theirs.chi2, theirs.f_regression, theirs.r_regression]
RULES = [
    ("SelectKBest", {"k": 3}),
    ("SelectPercentile", {"percentile": 40}),
    ("SelectFpr", {"alpha": 0.3}),
    ("SelectFdr", {"alpha": 0.5}),
    ("SelectFwe", {"alpha": 0.5}),
    ("GenericUnivariateSelect", {"mode": "fdr", "param": 0.5}),
    ("GenericUnivariateSelect", {"mode": "k_best", "param": 4}),
]


def draw(n=300, d=8, seed=0):
    random = np.random.default_rng(seed)
    rows = random.gamma(2.0, size=(n, d))
    labels = random.integers(0, 3, n)
    rows[:, 1] += 0.3 * labels
    return rows, labels


def test_scores_are_those_of_the_textbook():
    rows, labels = draw()
    found = ours.SelectKBest(theirs.f_classif, k=2).fit(rows, labels)
    wanted = f_oneway(*(rows[labels == one] for one in range(3)))
    np.testing.assert_allclose([found.scores_, found.pvalues_], wanted, rtol=1e-9)
    found = ours.SelectKBest(theirs.f_regression, k=2).fit(rows, labels)
    line = linregress(rows[:, 1], labels)
    np.testing.assert_allclose(found.scores_[1], (line.slope / line.stderr) ** 2, rtol=1e-9)
    np.testing.assert_allclose(found.pvalues_[1], line.pvalue, rtol=1e-8)


@pytest.mark.parametrize("score", SCORES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_scores_are_those_of_scikit_learn_in_any_units(score, scale):
    rows, labels = draw()
    peer = theirs.SelectKBest(score, k=3).fit(rows * scale, labels)
    model = ours.SelectKBest(score, k=3).fit(rows * scale, labels)
    np.testing.assert_allclose(model.scores_, peer.scores_, rtol=1e-8)
    np.testing.assert_array_equal(model.get_support(), peer.get_support())
    assert (model.pvalues_ is None) == (peer.pvalues_ is None)


def test_columns_far_from_zero_keep_their_scores():
    rows, labels = draw()
    near = ours.SelectKBest(k=3).fit(rows, labels).scores_
    np.testing.assert_allclose(ours.SelectKBest(k=3).fit(rows + 1e7, labels).scores_, near, rtol=1e-6)


@pytest.mark.parametrize(("name", "rule"), RULES)
def test_rules_keep_the_columns_that_scikit_learn_keeps(name, rule):
    rows, labels = draw()
    rows[:, 5] = rows[:, 4]
    peer, model = (getattr(library, name)(**rule).fit(rows, labels) for library in (theirs, ours))
    np.testing.assert_array_equal(model.get_support(), peer.get_support())
    np.testing.assert_array_equal(model.transform(rows), peer.transform(rows))


@pytest.mark.parametrize("score", SCORES, ids=lambda one: one.__name__)
def test_streams_and_files_give_the_scores_of_memory(score, tmp_path):
    rows, labels = draw()
    wanted = ours.SelectKBest(score, k=3).fit(rows, labels)
    np.save(tmp_path / "rows.npy", rows)
    blocks = [(rows[i : i + 70], labels[i : i + 70]) for i in range(0, 300, 70)]
    for model in (
        ours.SelectKBest(score, k=3).fit(tmp_path / "rows.npy", labels),
        ours.SelectKBest(score, k=3).fit(iter(blocks)),
    ):
        np.testing.assert_allclose(model.scores_, wanted.scores_, rtol=1e-10)


def test_other_functions_are_given_the_rows():
    rows, labels = draw()
    model = ours.SelectKBest(theirs.mutual_info_classif, k=2).fit(rows, labels)
    assert model.pvalues_ is None
    spread = ours.SelectKBest(lambda X, y: X.std(axis=0), k=1).fit(rows * np.arange(1, 9))
    assert spread.get_support(indices=True).tolist() == [int((rows * np.arange(1, 9)).std(axis=0).argmax())]
    with pytest.raises(DataError, match="is no sum over rows, and needs all of them in memory"):
        ours.SelectKBest(theirs.mutual_info_classif).fit(iter([(rows, labels)]))


def test_what_cannot_be_scored_is_said():
    rows, labels = draw()
    with pytest.raises(DataError, match="Input X must be non-negative for chi2"):
        ours.SelectKBest(theirs.chi2).fit(-rows, labels)
    with pytest.raises(DataError, match="gives no p-values"):
        ours.SelectFdr(theirs.r_regression).fit(rows, labels).get_support()
    with pytest.warns(UserWarning, match="k=9 is greater than n_features=8"):
        ours.SelectKBest(k=9).fit(rows, labels)
    rows[:, 0] = 3.0
    with pytest.warns(UserWarning, match=r"Features \[0\] are constant"):
        ours.SelectKBest(k=2).fit(rows, labels)

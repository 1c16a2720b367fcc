"""Pruning: brute force over subtrees, nested sequences, validation errors, pessimism."""

import itertools

import numpy as np
import pytest
import sklearn.tree
from scipy.stats import binom
from sklearn.naive_bayes import GaussianNB

from mercer.errors import DataError, ParameterError
from mercer.tree import (
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    MultiwayTreeClassifier,
    prune_cost_complexity,
    prune_pessimistic,
    prune_reduced_error,
)
from mercer.tree._node_view import cut_model, view_nodes
from mercer.tree._pruning_choice import find_weakest_links


def data(n=120, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)).astype(np.float32).astype(np.float64)
    return X, ((X[:, 0] > 0) ^ (random.random(n) < 0.2)).astype(int)


TREES = [
    DecisionTreeClassifier(random_state=0),
    sklearn.tree.DecisionTreeClassifier(random_state=0),
    MultiwayTreeClassifier(),
]


def every_pruning(nodes, node=0):
    """All subtrees that share a root: sets of nodes made leaves."""
    yield frozenset([node])
    below = nodes.children[node]
    if below:
        for parts in itertools.product(*(list(every_pruning(nodes, child)) for child in below)):
            yield frozenset().union(*parts)


@pytest.mark.catalogue("TE-08")
@pytest.mark.parametrize("tree", TREES, ids=lambda one: type(one).__module__)
def test_no_subtree_costs_less_at_any_penalty(tree):
    X, y = data(24)
    nodes = view_nodes(tree.fit(X, y))
    subtrees = list(every_pruning(nodes))
    alphas, cuts = find_weakest_links(nodes)
    cost = nodes.cost
    for alpha in np.concatenate([alphas, alphas[1:] * 0.999, [10.0]]):
        least = min(cost[list(leaves)].sum() + alpha * len(leaves) for leaves in subtrees)
        cut = cuts[np.searchsorted(alphas, alpha, side="right") - 1]
        leaves = list(set(nodes.ends(cut)[nodes.leaves].tolist()))
        assert cost[leaves].sum() + alpha * len(leaves) == pytest.approx(least, abs=1e-12)


@pytest.mark.catalogue("TE-08")
@pytest.mark.fixed_seed("scikit-learn's tree breaks ties between splits at random")
def test_the_sequence_is_nested_from_the_whole_tree_to_the_root():
    X, y = data()
    nodes = view_nodes(DecisionTreeClassifier(random_state=0).fit(X, y))
    alphas, cuts = find_weakest_links(nodes)
    assert (np.diff(alphas) > 0).all()
    assert alphas[0] == 0
    assert cuts[-1][0]
    for smaller, larger in itertools.pairwise(cuts):
        assert (larger | ~smaller).all()
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0).fit(X, y).cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(alphas, np.unique(theirs.ccp_alphas.round(13)), atol=1e-12)


@pytest.mark.catalogue("TE-08")
@pytest.mark.parametrize("tree", TREES, ids=lambda one: type(one).__module__)
def test_cross_validation_prunes_a_noisy_tree_in_one_call(tree):
    X, y = data(300)
    found = prune_cost_complexity(tree, X[:150], y[:150], cv=5)
    strict = prune_cost_complexity(tree, X[:150], y[:150], cv=5, one_standard_error=True)
    whole = tree.fit(X[:150], y[:150])
    assert found.n_leaves[0] == whole.get_n_leaves()
    assert found.n_leaves[-1] == 1
    assert strict.estimator.get_n_leaves() <= found.estimator.get_n_leaves() < whole.get_n_leaves()
    assert strict.alpha >= found.alpha
    assert strict.estimator.score(X[150:], y[150:]) > whole.score(X[150:], y[150:])
    assert found.estimator.get_n_leaves() == found.n_leaves[np.flatnonzero(found.alphas == found.alpha)[0]]


def test_the_pruned_tree_is_the_one_that_the_penalty_grows():
    X, y = data()
    for kind in (DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier):
        found = prune_cost_complexity(kind(random_state=0), X, y)
        grown = kind(random_state=0, ccp_alpha=found.alpha + 1e-9).fit(X, y)
        assert found.estimator.ccp_alpha == found.alpha
        np.testing.assert_array_equal(found.estimator.predict_proba(X), grown.predict_proba(X))
        assert found.estimator.get_depth() == grown.get_depth()
    random = np.random.default_rng(0)
    target = X[:, 0] + 0.5 * random.normal(size=len(X))
    smooth = prune_cost_complexity(DecisionTreeRegressor(random_state=0), X, target)
    assert smooth.errors.min() < smooth.errors[0]


@pytest.mark.catalogue("TE-08")
@pytest.mark.parametrize("tree", TREES, ids=lambda one: type(one).__module__)
def test_reduced_error_pruning_is_the_smallest_of_the_most_accurate(tree):
    X, y = data(24)
    X_val, y_val = data(40, seed=9)
    model = tree.fit(X, y)
    nodes = view_nodes(model)
    best = (np.inf, 0)
    for leaves in every_pruning(nodes):
        cut = np.isin(np.arange(len(nodes.parent)), list(leaves)) & ~nodes.leaves
        wrong = (nodes.classes[nodes.answers(nodes.parts(X_val), 40, cut).argmax(axis=1)] != y_val).sum()
        best = min(best, (wrong, len(leaves)))
    pruned = prune_reduced_error(model, X_val, y_val)
    assert ((pruned.predict(X_val) != y_val).sum(), pruned.get_n_leaves()) == best
    assert model.get_n_leaves() == nodes.leaves.sum()


def test_pessimistic_errors_are_upper_ends_of_binomial_intervals():
    X, y = data()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    sizes = [prune_pessimistic(model, confidence=one).get_n_leaves() for one in (0.9, 0.25, 0.01)]
    assert model.get_n_leaves() >= sizes[0] >= sizes[1] >= sizes[2]
    # C4.5's example: no error among 6 rows counts 6 x 0.206.
    stump = cut_model(view_nodes(DecisionTreeClassifier().fit([[0.0]] * 6, [0] * 6)), np.zeros(1, dtype=bool))
    assert prune_pessimistic(stump).get_n_leaves() == 1
    assert binom.cdf(0, 6, 0.2063) == pytest.approx(0.25, abs=1e-3)


def test_what_is_no_tree_is_refused():
    X, y = data()
    with pytest.raises(ParameterError, match="confidence must be a number in"):
        prune_pessimistic(DecisionTreeClassifier().fit(X, y), confidence=1.5)
    with pytest.raises(DataError, match="must be a classification tree; got DecisionTreeRegressor"):
        prune_pessimistic(DecisionTreeRegressor().fit(X, y))
    with pytest.raises(DataError, match="a stump has one split; there is nothing to prune"):
        prune_pessimistic(DecisionStump().fit(X, y))
    with pytest.raises(DataError, match="is not a decision tree: it has no tree_"):
        prune_pessimistic(GaussianNB().fit(X, y))

"""Shapley values and interactions by their definition: sums over all coalitions of what a game is worth."""

from itertools import combinations
from math import factorial

import numpy as np


def list_coalitions(players):
    """Yield all sets of players, as sorted tuples."""
    for size in range(len(players) + 1):
        yield from combinations(players, size)


def solve_game(worth, n_players):
    """Return the Shapley values and the interaction indices of a game: `worth` maps a tuple of players to a number."""
    players = range(n_players)
    worths = {coalition: worth(coalition) for coalition in list_coalitions(players)}
    single, pairs = np.zeros(n_players), np.zeros((n_players, n_players))
    for coalition, value in worths.items():
        size, others = len(coalition), [player for player in players if player not in coalition]
        for j in others:
            with_j = worths[tuple(sorted((*coalition, j)))]
            single[j] += factorial(size) * factorial(n_players - size - 1) / factorial(n_players) * (with_j - value)
            for i in (other for other in others if other != j):
                both, with_i = worths[tuple(sorted((*coalition, i, j)))], worths[tuple(sorted((*coalition, i)))]
                weight = factorial(size) * factorial(n_players - size - 2) / factorial(n_players - 1)
                pairs[i, j] += weight * (both - with_i - with_j + value)
    return single, pairs


def expect_tree(tree, x, known, node=0):
    """Return the value of a tree with scikit-learn's arrays where only some columns of a row are known."""
    if tree.children_left[node] < 0:
        return tree.value[node].ravel()
    left, right = tree.children_left[node], tree.children_right[node]
    column = tree.feature[node]
    if column in known:
        goes_left = tree.missing_go_to_left[node] if np.isnan(x[column]) else x[column] <= tree.threshold[node]
        return expect_tree(tree, x, known, left if goes_left else right)
    weight = tree.weighted_n_node_samples
    parts = [weight[child] * expect_tree(tree, x, known, child) for child in (left, right)]
    return sum(parts) / weight[node]


def play_trees(trees, x, output=0, scale=1.0):
    """Return the game of a row: what the mean or the sum over trees is worth where only some columns are known."""
    return lambda known: scale * sum(expect_tree(tree, x, known)[output] for tree in trees)


def play_mixtures(predict, x, background, output=None):
    """Return the game of a row: the mean answer to background rows that have some of its columns."""

    def worth(known):
        mixed = background.copy()
        mixed[:, list(known)] = x[list(known)]
        answers = predict(mixed)
        return (answers if output is None else answers[:, output]).mean()

    return worth

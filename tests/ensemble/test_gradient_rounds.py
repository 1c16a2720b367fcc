"""Gradient boosting round by round: what a tree is fitted to, the value of each leaf, and the fall of the loss."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

from mercer.ensemble import AdaBoostClassifier, GradientBoostingClassifier, GradientBoostingRegressor
from mercer.tree import DecisionTreeRegressor, split_gain

X = np.random.default_rng(0).normal(size=(101, 3)) * [1.0, 50.0, 0.01]
Y = np.sin(X[:, 0]) + 0.02 * X[:, 1] + np.random.default_rng(1).standard_t(2, size=101)
SIDE = np.where(Y + np.random.default_rng(2).normal(size=101) > 0.3, 1, -1)
WEIGHT = np.random.default_rng(3).uniform(0.5, 2.0, size=101)


def replay(model, staged, start):
    """Yield the scores before each round, and the leaf of each row and the leaves' values in it."""
    scores = start
    for (tree,), after in zip(model.estimators_, staged, strict=True):
        leaves = tree.apply(X)
        yield scores, leaves, tree
        np.testing.assert_allclose(
            after, scores + model.learning_rate * tree.tree_.value[leaves, 0, 0], rtol=1e-9, atol=1e-12
        )
        scores = after


def gain_of_root(tree, target, weight):
    """The gain of the tree's first split for a target, by the definition."""
    left = X[:, tree.tree_.feature[0]] <= tree.tree_.threshold[0]
    return split_gain(target, left, "squared_error", sample_weight=weight)


def best_gain(target, weight):
    gains = []
    for column in X.T:
        for threshold in np.sort(column)[:-1]:
            gains.append(split_gain(target, column <= threshold, "squared_error", sample_weight=weight))
    return max(gains)


def huber_leaf(residual, width):
    """Friedman's leaf: the median, and the mean of what deviates from it, clipped at the width."""
    median = np.median(residual)
    rest = residual - median
    return median + np.mean(np.sign(rest) * np.minimum(np.abs(rest), width))


@pytest.mark.catalogue("TE-22")
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_each_tree_splits_the_negative_gradient_and_its_leaves_minimise_the_loss(loss, rate):
    model = GradientBoostingRegressor(loss=loss, n_estimators=6, learning_rate=rate, max_depth=2).fit(X, Y)
    first = np.mean(Y) if loss == "squared_error" else np.median(Y)
    for scores, leaves, tree in replay(model, model.staged_predict(X), np.full(101, first)):
        residual = Y - scores
        # 0.9 of 101 rows is the 91st residual, by every definition of a quantile.
        width = np.sort(np.abs(residual))[90]
        gradient = {
            "squared_error": residual,
            "absolute_error": np.sign(residual),
            "huber": np.clip(residual, -width, width),
        }[loss]
        # At a residual of zero, as the median row of a leaf has at rate one, |r| has no one slope.
        if loss != "absolute_error" or np.abs(residual).min() > 1e-9:
            best = best_gain(gradient, np.ones(101))
            assert gain_of_root(tree, gradient, np.ones(101)) == pytest.approx(best, rel=1e-9)
        for leaf in np.unique(leaves):
            own = residual[leaves == leaf]
            values = {"squared_error": own.mean(), "absolute_error": np.median(own), "huber": huber_leaf(own, width)}
            value = values[loss]
            assert tree.tree_.value[leaf, 0, 0] == pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.catalogue("TE-22")
@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_leaves_of_labels_are_newton_steps_with_weights(loss):
    model = GradientBoostingClassifier(loss=loss, n_estimators=6, learning_rate=0.7, max_depth=2)
    model.fit(X, np.where(SIDE > 0, "up", "down"), sample_weight=WEIGHT)
    share = WEIGHT[SIDE > 0].sum() / WEIGHT.sum()
    odds = np.log(share / (1 - share))
    first = odds if loss == "log_loss" else odds / 2
    for scores, leaves, tree in replay(model, model.staged_decision_function(X), np.full(101, first)):
        if loss == "log_loss":
            gradient = (SIDE > 0) - expit(scores)
            curvature = expit(scores) * expit(-scores)
        else:
            # The size of the gradient is AdaBoost's weight of the row, e^(-y F).
            curvature = np.exp(-SIDE * scores)
            gradient = SIDE * curvature
        assert gain_of_root(tree, gradient, WEIGHT) == pytest.approx(best_gain(gradient, WEIGHT), rel=1e-9)
        for leaf in np.unique(leaves):
            own = leaves == leaf
            step = (WEIGHT * gradient)[own].sum() / (WEIGHT * curvature)[own].sum()
            assert tree.tree_.value[leaf, 0, 0] == pytest.approx(step, rel=1e-7)


@pytest.mark.catalogue("TE-22")
def test_one_full_tree_without_shrinkage_is_the_tree():
    model = GradientBoostingRegressor(n_estimators=1, learning_rate=1.0, max_depth=None).fit(X, Y, WEIGHT)
    tree = DecisionTreeRegressor(random_state=0).fit(X, Y, WEIGHT)
    new = np.random.default_rng(4).normal(size=(200, 3)) * [1.0, 50.0, 0.01]
    np.testing.assert_allclose(model.predict(new), tree.predict(new), rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), Y, rtol=1e-9)


@pytest.mark.catalogue("TE-22")
@pytest.mark.parametrize("rate", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "log_loss", "exponential"])
def test_the_training_loss_falls_at_any_rate_up_to_one(loss, rate):
    options = {"loss": loss, "n_estimators": 25, "learning_rate": rate, "max_depth": 2}
    if loss in ("squared_error", "absolute_error"):
        model = GradientBoostingRegressor(**options).fit(X, Y)
        power = 2 if loss == "squared_error" else 1
        losses = [np.mean(np.abs(Y - scores) ** power) for scores in model.staged_predict(X)]
    else:
        model = GradientBoostingClassifier(**options).fit(X, SIDE)
        margins = [SIDE * scores for scores in model.staged_decision_function(X)]
        losses = [np.mean(np.log1p(np.exp(-m)) if loss == "log_loss" else np.exp(-m)) for m in margins]
        losses = [2 * one for one in losses] if loss == "log_loss" else losses
    np.testing.assert_allclose(model.train_score_, losses, rtol=1e-9)
    assert (np.diff(losses) < 1e-12).all()
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.catalogue("TE-22")
def test_the_exponential_loss_on_one_forced_split_is_gentle_adaboost():
    """Two values of one column leave one split; with equal classes both start from zero and add weighted means of y."""
    x = np.repeat([0.0, 1.0], 20)[:, None]
    y = np.repeat([1, -1, 1, -1], [13, 7, 7, 13])
    boosted = GradientBoostingClassifier(loss="exponential", n_estimators=5, learning_rate=1.0, max_depth=1).fit(x, y)
    gentle = AdaBoostClassifier(n_estimators=5, algorithm="gentle").fit(x, y)
    scores = np.array([0.0, 0.0])
    for after in boosted.staged_decision_function([[0.0], [1.0]]):
        for side in (0, 1):
            labels = y[x[:, 0] == side]
            weight = np.exp(-labels * scores[side])
            scores[side] += (weight @ labels) / weight.sum()
        np.testing.assert_allclose(after, scores, rtol=1e-9)
    np.testing.assert_array_equal(boosted.predict(x), gentle.predict(x))
    # The limit is half the log-odds of each side, the minimiser of the exponential loss.
    best = minimize_scalar(lambda f: 13 * np.exp(-f) + 7 * np.exp(f)).x
    assert scores[0] == pytest.approx(best, abs=1e-6)
    assert best == pytest.approx(0.5 * np.log(13 / 7), abs=1e-6)

"""Every loss and every penalty in every place that takes one, found by type.

The truth is the objective itself, written down with the public values of loss and penalty: no small move of the fitted
coefficients lowers it.
"""

import inspect

import numpy as np
import pytest

from mercer.errors import MercerError
from mercer.linear_model import GeneralizedLinearEstimator
from mercer.objectives import L2, Loss, Penalty, PenaltySum, Squared
from mercer.optim import RowObjective, check_gradient
from tests.vocabulary.public_names import list_classes, list_consumers

X = np.random.default_rng(0).normal(size=(40, 3))
ARGUMENTS = {
    "groups": [0, 0, 1],
    "slopes": np.eye(3),
    "differences": np.array([[1.0, -1.0, 0.0]]),
    "parts": (L2(0.3), L2(0.2)),
}


def make(cls):
    needed = [name for name, one in inspect.signature(cls).parameters.items() if one.default is one.empty]
    unknown = set(needed) - set(ARGUMENTS)
    assert not unknown, f"teach the grid how to make {cls.__name__}: give ARGUMENTS a value for {unknown}"
    return cls(**{name: ARGUMENTS[name] for name in needed})


LOSSES = {name: make(cls) for name, cls in list_classes(lambda cls: issubclass(cls, Loss) and cls is not Loss).items()}
PENALTIES = {
    name: make(cls)
    for name, cls in list_classes(lambda cls: issubclass(cls, Penalty) and cls not in (Penalty, PenaltySum)).items()
}


def targets(loss):
    """Targets that a loss is defined for, with noise: numbers, counts, or classes that overlap."""
    score = X @ [1.0, -1.0, 0.5] + np.random.default_rng(2).normal(size=40)
    if loss.target == "labels":
        k = getattr(loss, "n_classes", 2)
        return np.digitize(score, np.quantile(score, np.arange(1, k) / k))
    return np.exp(0.3 * score).round() + 0.5 * loss.above_least if loss.least_target == 0 else score


def test_the_grid_finds_losses_penalties_and_who_takes_them():
    assert len(LOSSES) >= 15
    assert len(PENALTIES) >= 10
    accepting = [
        name
        for kind, names, example in (("Loss", ("loss",), Squared()), ("Penalty", ("penalty",), L2()))
        for name, thing in list_consumers(rf"\\b{kind}\\b", names=names).items()
        if getattr(thing, "_parameters", {}).get(names[0]) is not None and thing._parameters[names[0]].accepts(example)
    ]
    perceptrons = {"neural_network.MLPClassifier", "neural_network.MLPRegressor"}
    boosting = {"ensemble.GradientBoostingRegressor", "ensemble.HistGradientBoostingRegressor"}
    linear = {"linear_model.GeneralizedLinearEstimator", "linear_model.SGDRegressor"}
    assert set(accepting) == linear | boosting | perceptrons


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_with_plain_arguments(name):
    loss = LOSSES[name]
    y = targets(loss)
    scores = np.random.default_rng(1).normal(size=(40, loss.n_scores))
    value = loss.value(scores.tolist(), y.tolist())
    assert value.shape == (40,)
    np.testing.assert_allclose(loss.value(scores, y, np), value)
    if loss.target == "labels" and loss.n_scores == 1:
        np.testing.assert_allclose(loss.value(scores[:, 0], 2 * y - 1), value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_with_every_penalty_is_minimised(name, penalty):
    random = np.random.default_rng(1)
    loss, weight = LOSSES[name], PENALTIES[penalty]
    y = targets(loss)
    model = GeneralizedLinearEstimator(loss, weight, alpha=0.1, tol=1e-5, max_iter=2000)
    try:
        model.fit(X, y)
    except MercerError:
        # A loss with corners or more than one minimum may be refused, in words; one that is smooth and convex may not.
        assert not (loss.is_smooth and loss.is_convex)
        return
    coef = np.atleast_2d(model.coef_)
    intercept = np.atleast_1d(model.intercept_)

    def objective(w, b):
        return loss.value(X @ w.T + b, y).mean() + 0.1 * weight.value(w)

    least = objective(coef, intercept)
    assert np.isfinite(least)
    if not loss.is_convex:
        return
    for scale in (1e-2, 1e-1):
        for _ in range(8):
            steps = (scale * random.normal(size=part.shape) for part in (coef, intercept))
            moved = [part + step for part, step in zip((coef, intercept), steps, strict=True)]
            assert not _is_inside(weight, moved[0]) or objective(*moved) >= least - 1e-4 * (1 + abs(least))


def _is_inside(penalty, w):
    """Whether coefficients are inside the walls of a penalty that has walls: its proximal map leaves them."""
    try:
        return np.allclose(penalty.prox(w, 1e-12), w, atol=1e-9)
    except NotImplementedError:
        return True


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_as_an_objective_of_rows(name):
    loss = LOSSES[name]
    if not loss.is_smooth or name == "objectives.ZeroOne":
        return
    objective = RowObjective(loss, X, targets(loss), penalty=L2(0.1))
    start = np.random.default_rng(1).normal(size=4 * loss.n_scores)
    assert check_gradient(objective, objective.gradient, start, tolerance=1e-4).passed

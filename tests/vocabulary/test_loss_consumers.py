"""Every named loss in every consumer: native functions against the definitions, and fits of a constant."""

import numpy as np
import pytest

from mercer._native.shared import row_losses
from mercer._objective import list_losses
from mercer._objective.constants import find_root
from mercer.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from mercer.linear_model import GeneralizedLinearEstimator, SGDRegressor
from mercer.neural_network import MLPRegressor

NAMES = {loss: name for name, loss in list_losses().items()}
LOSSES = list(NAMES)
NUMBERS = [loss for loss in LOSSES if loss.target == "numbers"]
# Of these only the boosting of rounds adapts to the residuals, which no fixed loss says.
CONSUMERS = {
    "glm": lambda loss: GeneralizedLinearEstimator(loss, alpha=1e6, tol=1e-9),
    "sgd": lambda loss: SGDRegressor(loss, alpha=0, eta0=0.05, max_iter=80, tol=None, average=8_000, random_state=0),
    "histogram": lambda loss: HistGradientBoostingRegressor(loss, max_iter=1, max_leaf_nodes=2, min_samples_leaf=400),
    "exact trees": lambda loss: GradientBoostingRegressor(loss=loss, n_estimators=1, max_depth=1, min_samples_leaf=400),
    "perceptron": lambda loss: MLPRegressor(loss, (), solver="lbfgs", alpha=0, max_iter=500, tol=1e-9, random_state=0),
}
# How far the predicted constant may be from the best one: steps of single rows only come near.
CLOSE = {"glm": 1e-3, "sgd": 0.1, "histogram": 1e-6, "exact trees": 1e-6, "perceptron": 1e-3}


def draw(loss, n=300):
    random = np.random.default_rng(3)
    if loss.target == "labels":
        return random.normal(size=n), random.integers(0, 2, n).astype(float)
    return random.normal(size=n), random.gamma(2.0, 0.6, size=n)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_native_functions_of_a_row_are_those_of_the_definition(loss):
    scores, y = draw(loss)
    expected = (
        loss.value(scores, y),
        loss.residual(scores, y),
        loss.curvature(scores, y),
    )
    functions = (row_losses.find_value, row_losses.find_slope, row_losses.find_curvature)
    for function, truth in zip(functions, expected, strict=True):
        found = [float(function(loss.native, loss.shape, t, np.float64(z))) for t, z in zip(y, scores, strict=True)]
        np.testing.assert_allclose(found, truth, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.is_smooth], ids=repr)
def test_slopes_are_differences_of_values_and_curvatures_of_slopes(loss):
    scores, y = draw(loss)
    up, down = scores + 1e-6, scores - 1e-6
    slope = (loss.value(up, y) - loss.value(down, y)) / 2e-6
    bend = (loss.residual(up, y) - loss.residual(down, y)) / 2e-6
    np.testing.assert_allclose(loss.residual(scores, y), slope, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(loss.curvature(scores, y), bend, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [loss for loss in NUMBERS if loss.is_smooth], ids=repr)
def test_closed_forms_of_the_best_constant_are_roots_of_the_summed_slopes(loss, weighted):
    scores, y = draw(loss)
    weight = np.random.default_rng(4).uniform(0.5, 2.0, len(y)) if weighted else None
    root = find_root(loss, np.zeros((len(y), 1)), y, weight)
    assert loss.find_constant(y, weight)[0] == pytest.approx(root, rel=1e-9)
    shift = find_root(loss, scores[:, None], y, weight)
    assert loss.find_shift(scores[:, None], y, weight) == pytest.approx(shift, rel=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("loss", NUMBERS, ids=repr)
def test_every_consumer_predicts_the_best_constant_where_columns_say_nothing(loss, consumer):
    _, y = draw(loss)
    X = np.zeros((len(y), 1))
    model = CONSUMERS[consumer](loss).fit(X, y)
    constant = loss.find_constant(y, None)
    value = loss.value(np.broadcast_to(constant, y.shape), y).mean()
    predicted = model.predict(X[:1])
    # The prediction is the mean that a score stands for; its loss is compared, since a quantile may be an interval.
    score = loss.link(predicted.astype(np.float64), np)
    reached = loss.value(np.broadcast_to(score, y.shape), y).mean()
    assert abs(reached - value) <= CLOSE[consumer] * max(1.0, abs(value))


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("loss", [loss for loss in NUMBERS if loss.predicts_exponentials], ids=repr)
def test_targets_in_another_unit_move_the_intercept_of_a_loss_of_log_means_only(loss, factor):
    random = np.random.default_rng(5)
    X = random.normal(size=(200, 2))
    y = np.exp(X @ [0.3, -0.2]) * random.gamma(3.0, 1 / 3, size=200)
    fits = [GeneralizedLinearEstimator(loss, None, tol=1e-10).fit(X, y * unit) for unit in (1.0, factor)]
    np.testing.assert_allclose(fits[1].coef_, fits[0].coef_, atol=1e-5)
    assert fits[1].intercept_ - fits[0].intercept_ == pytest.approx(np.log(factor), abs=1e-5)

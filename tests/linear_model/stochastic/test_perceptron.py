"""The perceptron: worked by hand, its bound on mistakes, and what it does where no boundary separates."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron as TheirPerceptron

from mercer.linear_model import Perceptron
from mercer.metrics import empirical_error
from mercer.objectives import PerceptronLoss

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def separable(margin, n=500, d=4, seed=0):
    """Draw rows on both sides of a plane through zero, none nearer to it than the margin."""
    random = np.random.default_rng(seed)
    normal = random.normal(size=d)
    normal /= np.linalg.norm(normal)
    X = random.normal(size=(n, d))
    side = np.where(X @ normal > 0, 1, -1)
    X += np.outer(side * np.maximum(margin - np.abs(X @ normal), 0.0), normal)
    return X, side, np.abs(X @ normal).min()


@pytest.mark.catalogue("LM-13")
def test_three_rows_by_hand():
    """Follow by hand: (1, 0), t = 1 gives w = (1, 0), b = 1; then (0, 1), t = -1 gives w = (1, -1), b = 0."""
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), [1, -1, 1]
    model = Perceptron(shuffle=False).fit(X, y)
    assert model.coef_.tolist() == [[1.0, -1.0]]
    assert model.intercept_.tolist() == [0.0]
    assert model.history_["updates"].tolist() == [2.0, 0.0]
    assert model.converged_
    assert model.certificate_.value == 0.0
    assert model.certificate_.satisfied


@pytest.mark.catalogue("LM-13")
@pytest.mark.parametrize("margin", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_mistakes_on_separable_rows_stay_below_the_bound_and_then_end(margin, seed):
    X, y, gamma = separable(margin, seed=seed)
    model = Perceptron(fit_intercept=False, random_state=seed, tol=None).fit(X, y)
    radius = np.linalg.norm(X, axis=1).max()
    assert model.history_["updates"].sum() <= (radius / gamma) ** 2
    assert model.history_["updates"][-1] == 0
    assert model.n_iter_ < model.max_iter
    assert model.score(X, y) == 1.0
    assert model.certificate_.satisfied


@pytest.mark.catalogue("LM-13")
def test_a_larger_margin_takes_fewer_mistakes():
    """In the mean: the bound falls with the margin, the number itself is a matter of one table's rows."""
    mistakes = []
    for margin in (0.02, 0.2, 1.0):
        tables = [separable(margin, seed=seed)[:2] for seed in range(20)]
        counts = [Perceptron(fit_intercept=False, tol=None).fit(*one).history_["updates"].sum() for one in tables]
        mistakes.append(np.mean(counts))
    assert mistakes[0] > mistakes[1] > mistakes[2]


@pytest.mark.catalogue("LM-13")
def test_xor_stops_at_the_cap_and_the_certificate_says_why():
    model = Perceptron(max_iter=50, tol=None).fit(XOR, [0, 1, 1, 0])
    assert model.n_iter_ == 50
    assert (model.history_["updates"] > 0).all()
    assert not model.certificate_.satisfied
    assert model.certificate_.value >= 1
    with pytest.warns(UserWarning, match="stopped by max_iter after 3 steps"):
        Perceptron(max_iter=3).fit(XOR, [0, 1, 1, 0])


@pytest.mark.catalogue("LM-13")
def test_an_update_is_a_gradient_step_down_the_perceptron_loss_of_that_row():
    """Count only mistakes: summed over all rows, -t z would have no minimum."""
    random = np.random.default_rng(0)
    x, w, b = random.normal(size=(1, 3)), random.normal(size=(1, 3)), random.normal(size=1)
    loss = PerceptronLoss()
    for target, sign in ((0, -1.0), (1, 1.0)):
        z = x @ w.T + b
        slope = loss.residual(z, np.array([float(target)]), np)[0, 0]
        # The second row is far on its side, after the first has moved the plane too, and moves nothing.
        moved = w - 0.5 * slope * x
        start = {"coef_init": w, "intercept_init": b}
        model = Perceptron(shuffle=False, max_iter=1, tol=None, eta0=0.5)
        model.fit(np.concatenate([x, 100 * np.sign(moved) * (-sign)]), [target, 1 - target], **start)
        # Entries of the difference may cancel: the rounding is that of its terms.
        np.testing.assert_allclose(model.coef_, moved, rtol=0, atol=1e-15 * np.abs([w, x]).max())
        assert loss.value(z, np.array([float(target)]), np)[0] == max(0.0, -sign * z[0, 0])


def test_parameters_equal_scikit_learns_in_the_order_of_the_rows():
    X, y = load_iris(return_X_y=True)
    for penalty in (None, "l2", "l1"):
        given = {"shuffle": False, "max_iter": 12, "tol": None, "penalty": penalty, "alpha": 1e-3}
        model, theirs = Perceptron(**given).fit(X, y), TheirPerceptron(**given).fit(X, y)
        np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.intercept_, theirs.intercept_, rtol=1e-9)


def test_the_learning_rate_scales_parameters_and_changes_no_label():
    X, y = load_iris(return_X_y=True)
    first, second = (Perceptron(eta0=eta0, max_iter=20, tol=None).fit(X, y) for eta0 in (1.0, 0.25))
    np.testing.assert_allclose(first.coef_, 4 * second.coef_, rtol=1e-9)
    assert empirical_error(first.predict(X), second.predict(X)) == 0


def test_rows_of_weight_zero_are_as_if_absent():
    X, y, _ = separable(0.3)
    weight = np.random.default_rng(1).integers(0, 2, len(y)).astype(float)
    model = Perceptron().fit(X, y, sample_weight=weight)
    without = Perceptron().fit(X[weight > 0], y[weight > 0])
    assert model.coef_.tolist() == without.coef_.tolist()
    assert model.t_ == without.t_


def test_there_is_no_certificate_with_a_penalty_and_no_probability_at_all():
    X, y, _ = separable(0.3)
    assert Perceptron(penalty="l2").fit(X, y).certificate_.kind == "none"
    assert not hasattr(Perceptron(), "predict_proba")

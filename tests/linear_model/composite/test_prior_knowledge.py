"""Prior knowledge as penalties on any training error: none, some, much, and as much as validation asks for."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.special import expit
from sklearn.base import clone

from mercer.linear_model import GeneralizedLinearEstimator, LinearRegression, LogisticRegression
from mercer.model_selection import search_settings
from mercer.objectives import (
    L1,
    L2,
    Logistic,
    Monotonicity,
    PowerPenalty,
    Symmetry,
    measure_asymmetry,
    measure_falls,
)
from mercer.optim import RowObjective, minimize
from mercer.preprocessing import PolynomialBasis, SplineBasis


@pytest.fixture(scope="module")
def even():
    """Draw few noisy rows of an even function on a lopsided interval far from unit scale."""
    random = np.random.default_rng(0)
    x = random.uniform(-20, 60, size=(30, 1))
    return x, np.cos(x[:, 0] / 20) + 0.3 * random.normal(size=30)


@pytest.mark.catalogue("LM-21")
@pytest.mark.parametrize("loss", ["squared", "huber", "absolute"])
def test_a_symmetry_penalty_of_a_basis_makes_any_loss_symmetric_and_zero_strength_nothing(loss, even):
    x, y = even
    basis = PolynomialBasis(4, basis="chebyshev").fit(np.array([[-60.0], [60.0]]))
    X = basis.transform(x)
    grid = np.linspace(-60, 60, 41)[:, None]
    penalty = Symmetry.of(basis, grid, np.negative)
    free = GeneralizedLinearEstimator(loss, None, alpha=1.0, tol=1e-8, max_iter=20_000).fit(X, y)
    none = GeneralizedLinearEstimator(loss, penalty, alpha=0.0, tol=1e-8, max_iter=20_000).fit(X, y)
    np.testing.assert_allclose(none.predict(X), free.predict(X), atol=1e-4)
    tied = GeneralizedLinearEstimator(loss, penalty, alpha=1e6, tol=1e-8, max_iter=20_000).fit(X, y)

    def odd(model):
        return np.abs(model.predict(basis.transform(grid)) - model.predict(basis.transform(-grid))).max()

    assert odd(tied) < 1e-3
    assert odd(tied) < 0.02 * odd(free)
    if loss == "squared":
        # In the limit it is least squares on the even columns alone.
        columns = np.array([1, 3])  # degrees 2 and 4
        exact = LinearRegression().fit(X[:, columns], y)
        np.testing.assert_allclose(tied.predict(X), exact.predict(X[:, columns]), atol=1e-3)


@pytest.mark.catalogue("LM-21")
@pytest.mark.parametrize("falling", [False, True])
def test_a_monotonicity_penalty_bends_a_logistic_model_too(falling):
    random = np.random.default_rng(1)
    x = random.uniform(0, 1, size=(300, 2)) * [1.0, 1000.0]
    sign = -1.0 if falling else 1.0
    chance = expit(sign * (3 * x[:, 0] - 1.5) + 1.5 * np.sin(15 * x[:, 0]))
    y = np.where(random.random(300) < chance, "yes", "no")
    basis = SplineBasis().fit(x)
    grid = np.column_stack([np.linspace(0, 1, 60), np.full(60, 500.0)])
    penalty = Monotonicity.of(basis, grid, 0, falling=falling)
    free, tied = (
        GeneralizedLinearEstimator(Logistic(), p, alpha=a).fit(basis.transform(x), y)
        for p, a in ((0.001 * L2(), 1.0), (penalty + 1e-9 * L2(), 1e5))
    )
    step = np.array([1e-5, 0.0])
    slopes = [
        sign * np.subtract(*(model.decision_function(basis.transform(grid + side * step)) for side in (1, -1))) / 2e-5
        for model in (free, tied)
    ]
    assert slopes[0].min() < -1.0
    # At the minimum alpha / (2 m) times the sum of their squares is at most the loss of no coefficients, log(2).
    assert slopes[1].min() > -np.sqrt(2 * 60 * np.log(2) / 1e5)


@pytest.mark.catalogue("LM-21")
def test_slopes_of_a_basis_are_its_derivatives():
    basis = PolynomialBasis(3).fit(np.array([[-1.0, 1.0], [2.0, 5.0]]))
    rows = np.array([[0.5, 2.0], [-1e-3, 4.0]])
    made = Monotonicity.of(basis, rows, 1)
    step = np.array([0.0, 1e-4])
    exact = (basis.transform(rows + step) - basis.transform(rows - step)) / 2e-4
    np.testing.assert_allclose(made.slopes, exact, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(Monotonicity.of(basis, rows, 1, falling=True).slopes, -made.slopes)
    assert Monotonicity.of(basis, rows, strength=3.0).strength == 3.0


@pytest.mark.catalogue("LM-21")
@pytest.mark.parametrize("q", [1.0, 1.5, 2.0])
def test_powers_added_to_the_logistic_error_have_the_minimum_that_a_search_finds(q):
    random = np.random.default_rng(2)
    X = random.normal(size=(80, 3)) * [1.0, 5.0, 0.2]
    y = (X[:, 0] + random.normal(size=80) > 0.3).astype(int)
    model = GeneralizedLinearEstimator(Logistic(), PowerPenalty(q), alpha=0.1, fit_intercept=False, tol=1e-10).fit(X, y)

    def cost(w):
        z = (2 * y - 1) * (X @ w)
        return np.mean(np.logaddexp(0, -z)) + 0.1 * np.sum(np.abs(w) ** q) / q

    found = np.ravel(model.coef_)
    best = min(
        scipy_minimize(cost, start, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-14}).fun
        for start in (found, np.zeros(3), np.ones(3))
    )
    assert cost(found) <= best + 1e-8
    if q == 1.0:
        assert (found == 0).any()


@pytest.mark.catalogue("LM-21")
def test_penalties_are_added_to_functions_of_any_kind():
    """A training error of two parameters that no estimator of the library has: the penalty shifts its minimum."""
    x = np.linspace(0, 2, 40)
    y = 3.0 * np.exp(-1.3 * x)

    def error(p):
        return float(np.mean((p[0] * np.exp(-p[1] * x) - y) ** 2))

    plain = minimize(error, [1.0, 1.0], method="lbfgs")
    np.testing.assert_allclose(plain.x, [3.0, 1.3], atol=1e-3)
    for strength in (0.0, 0.05, 1e4):
        penalty = strength * L2()
        result = minimize(lambda p, penalty=penalty: error(p) + penalty.value(p[None]), [1.0, 1.0], method="lbfgs")
        best = scipy_minimize(lambda p, s=strength: error(p) + s * (p @ p) / 2, [1.0, 1.0], tol=1e-12)
        assert result.value == pytest.approx(best.fun, rel=1e-4, abs=1e-8)
    objective = RowObjective(Logistic(), x[:, None], (x > 1).astype(float), penalty=0.1 * L2())
    sparse = minimize(objective, objective.start, grad=objective.gradient, method="lbfgs")
    same = LogisticRegression(C=1 / (0.1 * 40), tol=1e-10).fit(x[:, None], x > 1)
    np.testing.assert_allclose(sparse.x, np.append(same.coef_, same.intercept_), atol=1e-3)
    assert L1().value(np.array([[1.0, -2.0]])) == 3.0


@pytest.mark.catalogue("LM-21")
def test_the_strength_is_chosen_by_folds_and_helps_on_fresh_rows():
    random = np.random.default_rng(0)
    basis = PolynomialBasis(9, basis="chebyshev").fit(np.array([[-60.0], [60.0]]))
    penalty = Symmetry.of(basis, np.linspace(-60, 60, 41)[:, None], np.negative)
    model = GeneralizedLinearEstimator("squared", penalty, tol=1e-8)
    space = {"alpha": [0.0, 1e-2, 1.0, 1e4]}
    scoring = {"scoring": "neg_mean_squared_error", "random_state": 0}
    fresh, strengths, errors = np.linspace(-60, 60, 200)[:, None], [], []
    # Folds of 24 rows decide on single tables by chance.
    for _ in range(9):
        x = random.uniform(-60, 60, size=(24, 1))
        y = np.cos(x[:, 0] / 20) + 0.3 * random.normal(size=24)
        found = search_settings(model, basis.transform(x), y, space, method="grid", **scoring)
        strengths.append(found.settings[int(np.argmax(found.scores.mean(axis=1)))]["alpha"])
        fits = [clone(model).set_params(alpha=alpha).fit(basis.transform(x), y) for alpha in (strengths[-1], 0.0)]
        errors.append([np.mean((one.predict(basis.transform(fresh)) - np.cos(fresh[:, 0] / 20)) ** 2) for one in fits])
    assert np.median(strengths) >= 1.0
    chosen, none = np.median(errors, axis=0)
    assert chosen < 0.7 * none


def bend(rows, p):
    """Return the output of a network of one hidden unit: p0 tanh(p1 x + p2) + p3."""
    return p[0] * np.tanh(p[1] * rows[:, 0] + p[2]) + p[3]


@pytest.mark.catalogue("LM-21")
def test_a_network_is_tied_to_the_constant_that_alone_is_symmetric_and_left_alone_without_the_penalty():
    """p0 tanh(p1 x + p2) + p3 is even for constants only, and the best constant is the mean."""
    random = np.random.default_rng(0)
    x = random.uniform(-1, 3, size=(40, 1))
    y = np.tanh(2 * x[:, 0] - 1) + 0.1 * random.normal(size=40)
    grid = np.linspace(-3, 3, 31)[:, None]

    def error(p, strength):
        training = np.mean((bend(x, p) - y) ** 2) / 2
        return training + strength * measure_asymmetry(lambda rows: bend(rows, p), grid, np.negative)

    start = np.array([0.5, 0.5, 0.1, 0.0])
    free = minimize(lambda p: error(p, 0.0), start, method="lbfgs")
    peer = scipy_minimize(lambda p: np.mean((bend(x, p) - y) ** 2) / 2, start, tol=1e-12)
    assert free.value == pytest.approx(peer.fun, rel=1e-5)
    tied = minimize(lambda p: error(p, 1e4), start, method="lbfgs")
    np.testing.assert_allclose(bend(grid, tied.x), y.mean(), atol=1e-2)
    assert measure_asymmetry(lambda rows: bend(rows, tied.x), grid, np.negative) < 1e-6
    strengths = (0.0, 0.1, 1.0, 100.0)
    left = [
        measure_asymmetry(
            lambda rows, s=s: bend(rows, minimize(lambda p: error(p, s), start, method="lbfgs").x), grid, np.negative
        )
        for s in strengths
    ]
    assert left == sorted(left, reverse=True)


@pytest.mark.catalogue("LM-21")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_wave_on_a_line_rises_where_the_line_is_steeper_than_the_wave(unit):
    """p0 x + p1 sin(4 x) has slopes p0 + 4 p1 cos(4 x), never negative exactly if p0 >= 4 |p1|: a cone."""
    random = np.random.default_rng(1)
    x = random.uniform(0, 3, size=60)
    y = 0.3 * x + np.sin(4 * x) + 0.05 * random.normal(size=60)
    basis = np.column_stack([x, np.sin(4 * x)])
    grid = unit * np.linspace(0, 3, 241)[:, None]

    def wave(rows, p):
        return p[0] * rows[:, 0] / unit + p[1] * np.sin(4 * rows[:, 0] / unit)

    def error(p):
        # Slopes by rows in this unit are that many times smaller.
        wrong = unit**2 * measure_falls(lambda rows: wave(rows, p), grid)
        return np.mean((wave(unit * x[:, None], p) - y) ** 2) / 2 + 1e5 * wrong

    found = minimize(error, [2.0, 0.1], method="lbfgs")
    cone = {"type": "ineq", "fun": lambda p: np.array([p[0] - 4 * p[1], p[0] + 4 * p[1]])}
    best = scipy_minimize(lambda p: np.mean((basis @ p - y) ** 2) / 2, [2.0, 0.1], constraints=cone, tol=1e-12)
    assert best.x[0] == pytest.approx(4 * best.x[1], abs=1e-6)  # the constraint is felt
    np.testing.assert_allclose(found.x, best.x, atol=5e-3)
    # Of a linear model both forms of the penalty are one number, in any unit.
    made = Monotonicity.of(lambda rows: np.column_stack([rows[:, 0] / unit, np.sin(4 * rows[:, 0] / unit)]), grid)
    p = np.array([0.3, 1.0])
    exact = np.mean(np.minimum(0.3 + 4 * np.cos(4 * grid[:, 0] / unit), 0) ** 2) / 2 / unit**2
    assert made.value(p[None]) == pytest.approx(exact, rel=1e-6)
    assert measure_falls(lambda rows: wave(rows, p), grid) == pytest.approx(exact, rel=1e-6)
    assert measure_falls(lambda rows: -wave(rows, p), grid, falling=True) == pytest.approx(exact, rel=1e-6)

"""Multipliers: the KKT system, the KKT conditions, Slater's condition, strong duality of quadratic programs."""

import numpy as np
import pytest
import scipy.optimize

from mercer.errors import DataError
from mercer.optim import MaxIter, check_kkt, check_slater, minimize_quadratic, solve_equality


def program(d, m, k, seed):
    """A convex program that is feasible at the origin's neighbour."""
    random = np.random.default_rng(seed)
    B = random.normal(size=(d, d))
    A, E, inside = random.normal(size=(m, d)), random.normal(size=(k, d)), random.normal(size=d)
    return {
        "H": B @ B.T, "c": random.normal(size=d), "A": A, "b": A @ inside + random.uniform(0, 1, size=m), "A_eq": E,
        "b_eq": E @ inside,
    }  # fmt: skip


@pytest.mark.catalogue("OP-15")
def test_the_largest_circle_value_on_a_line():
    found = solve_equality(2.0 * np.eye(2), [0.0, 0.0], [[1.0, 1.0]], [1.0])
    np.testing.assert_allclose(found.x, 0.5)
    assert 1.0 - found.value == pytest.approx(0.5)
    # For min -f the multiplier has the other sign: L = f + lambda (x + y - 1) has lambda = 1.
    np.testing.assert_allclose(-found.multipliers, 1.0)
    assert found.is_minimum
    report = check_kkt(
        lambda x: -(1.0 - x @ x), found.x, equalities=lambda x: x.sum() - 1.0, equality_multipliers=found.multipliers
    )
    assert report.satisfied


@pytest.mark.catalogue("OP-15")
def test_the_objective_as_printed_has_no_maximum_on_the_line():
    # 1 - x^2 + y^2 is 2 - 2 x on x + y = 1: the KKT system has no solution.
    with pytest.raises(DataError, match=r"no point meets the KKT system .* or the quadratic falls for ever along them"):
        solve_equality(np.diag([2.0, -2.0]), [0.0, 0.0], [[1.0, 1.0]], [1.0])


@pytest.mark.catalogue("OP-15")
@pytest.mark.parametrize("seed", range(4))
def test_primal_and_dual_value_agree_on_equality_programs(seed):
    p = program(6, 0, 2, seed)
    found = solve_equality(p["H"], p["c"], p["A_eq"], p["b_eq"])
    assert found.value == pytest.approx(found.dual_value, rel=1e-9)
    np.testing.assert_allclose(p["A_eq"] @ found.x, p["b_eq"], atol=1e-9)
    result = minimize_quadratic(p["H"], p["c"], A_eq=p["A_eq"], b_eq=p["b_eq"])
    np.testing.assert_allclose(result.x, found.x, atol=1e-7)
    np.testing.assert_allclose(result.state.equality_multipliers, found.multipliers, atol=1e-6)


@pytest.mark.catalogue("OP-15")
@pytest.mark.parametrize(("d", "m", "k", "seed"), [(4, 6, 0, 0), (8, 12, 2, 1), (15, 40, 5, 2), (3, 20, 1, 3)])
def test_strong_duality_holds_on_convex_programs(d, m, k, seed):
    p = program(d, m, k, seed)
    result = minimize_quadratic(**p)
    y, z = result.state.equality_multipliers, result.state.inequality_multipliers
    slope = p["c"] + p["A"].T @ z + p["A_eq"].T @ y
    lowest = -np.linalg.solve(p["H"], slope)
    dual = 0.5 * lowest @ p["H"] @ lowest + slope @ lowest - z @ p["b"] - y @ p["b_eq"]
    assert result.converged
    assert result.value == pytest.approx(dual, rel=1e-7, abs=1e-7)
    assert result.certificate.kind == "duality gap"
    report = check_kkt(
        lambda x: 0.5 * x @ p["H"] @ x + p["c"] @ x, result.x, grad=lambda x: p["H"] @ x + p["c"],
        equalities=lambda x: p["A_eq"] @ x - p["b_eq"], inequalities=lambda x: p["A"] @ x - p["b"],
        equality_multipliers=y, inequality_multipliers=z,
    )  # fmt: skip
    assert report.satisfied
    expected = scipy.optimize.minimize(
        lambda x: 0.5 * x @ p["H"] @ x + p["c"] @ x, result.x + 0.01, jac=lambda x: p["H"] @ x + p["c"], method="SLSQP",
        constraints=[{"type": "ineq", "fun": lambda x: p["b"] - p["A"] @ x},
                     {"type": "eq", "fun": lambda x: p["A_eq"] @ x - p["b_eq"]}][: 2 if k else 1],
    )  # fmt: skip
    assert result.value <= expected.fun + 1e-6


@pytest.mark.parametrize(("d", "m", "k"), [(3, 20, 1), (15, 60, 5)])
def test_no_program_makes_steps_turn_in_circles_or_lose_their_digits(d, m, k):
    for seed in range(30):
        assert minimize_quadratic(**program(d, m, k, seed)).converged


@pytest.mark.catalogue("OP-15")
def test_each_broken_condition_shows_in_its_own_number():
    arguments = {"inequalities": lambda x: [x[0] - 1.0, -x[1]], "grad": lambda x: 2 * (x - [2.0, 0.5])}

    def check(x, multipliers):
        return check_kkt(
            lambda x: (x[0] - 2.0) ** 2 + (x[1] - 0.5) ** 2, x, inequality_multipliers=multipliers, **arguments
        )

    assert check([1.0, 0.5], [2.0, 0.0]).satisfied
    assert check([1.0, 0.5], [0.0, 0.0]).stationarity == pytest.approx(2.0)
    assert check([1.3, 0.5], [1.4, 0.0]).feasibility == pytest.approx(0.3)
    assert check([2.0, 0.5], [-1.0, 0.0]).dual_sign == pytest.approx(1.0)
    assert check([1.0, 0.5], [2.0, 0.4]).slackness == pytest.approx(0.2)
    assert not check([1.0, 0.5], [2.0, 0.4]).satisfied


@pytest.mark.catalogue("OP-15")
def test_slater_asks_for_room_and_linear_constraints_for_a_point_only():
    square = check_slater([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [1.0, 1.0, 1.0, 1.0])
    assert square.strictly_feasible
    assert square.room == pytest.approx(1.0)
    segment = check_slater([[1.0, 1.0], [-1.0, -1.0], [-1.0, 0.0]], [1.0, -1.0, 0.0])
    assert segment.feasible
    assert not segment.strictly_feasible
    assert check_slater([[-1.0, 0.0]], [0.0], A_eq=[[1.0, 1.0]], b_eq=[1.0]).strictly_feasible
    nothing = check_slater([[1.0], [-1.0]], [0.0, -1.0])
    assert not nothing.feasible
    assert nothing.room == pytest.approx(-0.5)
    assert not check_slater(A_eq=[[1.0], [1.0]], b_eq=[0.0, 1.0]).feasible


def test_a_stationary_point_that_is_no_minimum_is_called_so():
    found = solve_equality(np.diag([1.0, -1.0, 1.0]), np.zeros(3), [[0.0, 0.0, 1.0]], [2.0])
    assert not found.is_minimum
    assert found.dual_value == -np.inf


def test_programs_that_cannot_be_solved_do_not_pretend():
    nowhere = minimize_quadratic([[1.0]], [0.0], A=[[1.0], [-1.0]], b=[0.0, -1.0], stop=MaxIter(60))
    assert not nowhere.converged
    with pytest.raises(DataError, match=r"H must be positive semi-definite; got the eigenvalue -1"):
        minimize_quadratic([[-1.0]], [0.0])
    with pytest.raises(DataError, match=r"A must have shape \(2, 1\); got \(1, 1\)"):
        minimize_quadratic([[1.0]], [0.0], A=[[1.0]], b=[0.0, 1.0])

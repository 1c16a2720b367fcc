"""Risks: estimates tend to the integral, minimisers are minimal, gaps close for finite capacity only."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import norm

from mercer.errors import DataError, ParameterError
from mercer.theory import (
    empirical_risk,
    estimate_risk,
    integrate_risk,
    minimise_empirical_risk,
    simulate_uniform_gap,
)

TWO_CLASSES = {-1: lambda x: 0.5 * norm.pdf(x, -1.0), 1: lambda x: 0.5 * norm.pdf(x, 1.0)}


def draw_classes(n, generator):
    y = generator.choice([-1, 1], size=n)
    return generator.normal(y), y


def above(t, x):
    return np.where(np.asarray(x) > t, 1, -1)


@pytest.mark.catalogue("LT-01")
def test_losses_are_those_of_the_formulas_and_each_error_counts_once():
    y, predicted = np.array([1, -1, 1, -1]), np.array([1, 1, -1, -1])
    assert empirical_risk(y, predicted) == 0.5
    assert empirical_risk(y, predicted, loss="half_squared") == 1.0
    assert empirical_risk(y, predicted, loss=lambda f, t: 0.5 * np.abs(f - t)) == 0.5
    assert empirical_risk([1.0, 4.0], [2.0, 2.0], loss="squared") == 2.5
    assert empirical_risk([1.0, 4.0], [2.0, 2.0], loss="absolute", sample_weight=[2, 1]) == pytest.approx(4 / 3)
    assert empirical_risk(["a", "b"], ["a", "a"]) == 0.5


@pytest.mark.catalogue("LT-01")
@pytest.mark.parametrize("threshold", [0.0, 0.7])
def test_the_integral_is_the_closed_form_and_draws_come_near_to_it(threshold):
    exact = 0.5 * norm.cdf(threshold - 1.0) + 0.5 * norm.sf(threshold + 1.0)
    f = partial(above, threshold)
    assert integrate_risk(f, TWO_CLASSES, -12, 12, breaks=[threshold]) == pytest.approx(exact, abs=1e-12)
    found = estimate_risk(f, draw_classes, n_draws=40_000, random_state=0)
    assert abs(found.value - exact) < 4 * found.standard_error
    # The variance of a 0-1 loss is R (1 - R).
    assert found.standard_error == pytest.approx(np.sqrt(exact * (1 - exact) / 40_000), rel=0.02)


@pytest.mark.catalogue("LT-01")
def test_the_error_of_the_empirical_risk_falls_as_one_over_the_root_of_the_rows():
    exact, errors = norm.cdf(-1.0), []
    for n in (100, 10_000):
        values = []
        for seed in range(100):
            x, y = draw_classes(n, np.random.default_rng(seed))
            values.append(empirical_risk(y, above(0.0, x)))
        errors.append(np.sqrt(np.mean((np.array(values) - exact) ** 2)))
    assert 7 < errors[0] / errors[1] < 14


@pytest.mark.catalogue("LT-01")
def test_the_minimiser_has_the_least_risk_of_its_class():
    x, y = draw_classes(200, np.random.default_rng(1))
    class_ = [partial(above, t) for t in np.linspace(-2, 2, 41)]
    found = minimise_empirical_risk(class_, x, y)
    assert found.risks[found.place] == min(empirical_risk(y, f(x)) for f in class_)
    assert found.hypothesis is class_[found.place]


@pytest.mark.catalogue("LT-14")
def test_the_largest_gap_closes_for_half_planes_and_not_for_a_memory():
    directions = np.random.default_rng(0).normal(size=(50, 3))
    half_planes = [lambda X, w=w: np.where(X @ w[:2] > w[2], 1, -1) for w in directions]

    def draw(n, generator):
        # Labels are coin tosses: no hypothesis has a risk below one half.
        return generator.normal(size=(n, 2)), generator.choice([-1, 1], size=n)

    def remember(X, y):
        table = {tuple(row): label for row, label in zip(X, y, strict=True)}
        return [lambda rows: np.array([table.get(tuple(row), 1) for row in rows])]

    options = {"n_repeats": 5, "n_draws": 2_000, "random_state": 0}
    finite = simulate_uniform_gap(lambda X, y: half_planes, draw, [20, 200, 20_000], **options)
    assert (np.diff(finite.gaps) < 0).all()
    assert finite.gaps[-1] < 0.06
    memory = simulate_uniform_gap(remember, draw, [20, 2_000], **options)
    np.testing.assert_allclose(memory.gaps, 0.5, atol=5 * memory.standard_errors.max() + 0.01)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: empirical_risk([1], [1], loss="hinge"), "loss must be a function or one of zero_one"),
        (lambda: minimise_empirical_risk([], [1], [1]), "hypotheses must have a member"),
        (lambda: integrate_risk(above, TWO_CLASSES, 1, 0), "low must be below high"),
        (lambda: estimate_risk(above, draw_classes, n_draws=1), r"n_draws must be an integer in \[2, inf\)"),
        (lambda: simulate_uniform_gap(lambda X, y: [], draw_classes, [5]), "choose must return a hypothesis"),
    ],
)
def test_arguments_out_of_range_are_refused(call, words):
    with pytest.raises((DataError, ParameterError), match=words):
        call()

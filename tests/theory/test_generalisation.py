"""Bounds by counting, by VC dimension and by margins; structural risk; no free lunch."""

import numpy as np
import pytest

from mercer.errors import DataError
from mercer.linear_model import Ridge
from mercer.neighbors import KNeighborsClassifier
from mercer.theory import (
    agnostic_error_bound,
    average_unseen_error,
    boosting_margin_term,
    hoeffding_gap,
    hoeffding_probability,
    hoeffding_sample_size,
    margin_error,
    margin_risk_term,
    minimise_structural_risk,
    solve_in_ball,
    vc_bound,
    vc_confidence,
)
from mercer.tree import DecisionTreeClassifier


@pytest.mark.catalogue("LT-02")
def test_hoeffdings_bound_has_the_numbers_of_the_notes_and_its_inverses():
    found = [hoeffding_probability(0.1, 100), hoeffding_probability(0.05, 1000), hoeffding_probability(0.1, 500, 10)]
    np.testing.assert_allclose(found, [0.270671, 0.013476, 9.08e-4], rtol=5e-5)
    assert hoeffding_probability(0.05, 1000, 100) == pytest.approx(1.3476, abs=5e-5)
    assert (hoeffding_sample_size(0.1), hoeffding_sample_size(0.05, n_hypotheses=100)) == (185, 1659)
    gap = hoeffding_gap(300, 0.01, 7)
    assert hoeffding_probability(gap, 300, 7) == pytest.approx(0.01)
    # One side of it, for one hypothesis, is the bound for a finite class.
    assert hoeffding_gap(100, 0.1) == pytest.approx(agnostic_error_bound(0.0, 0, 100, 0.05))


@pytest.mark.catalogue("LT-02")
def test_frequencies_of_coins_obey_hoeffding():
    tosses = np.random.default_rng(0).binomial(100, 0.5, size=20_000) / 100
    for epsilon in (0.05, 0.1, 0.15):
        assert np.mean(np.abs(tosses - 0.5) > epsilon) <= hoeffding_probability(epsilon, 100)


@pytest.mark.catalogue("LT-07")
def test_vapniks_bound_has_the_numbers_of_the_notes_and_their_order():
    found = [vc_confidence(n, 3) for n in (100, 1000, 10_000)] + [vc_confidence(1000, d) for d in (11, 50)]
    np.testing.assert_allclose(found, [0.447003, 0.163978, 0.058135, 0.269472, 0.488698], atol=5e-7)
    assert found[0] > found[1] > found[2]
    assert (np.diff([vc_confidence(1000, d) for d in range(1, 900)]) > 0).all()
    assert vc_bound(0.2, 1000, 11) == 0.2 + vc_confidence(1000, 11)


@pytest.mark.catalogue("LT-08")
def test_structural_risk_takes_the_least_sum_of_a_falling_and_a_rising_term():
    random = np.random.default_rng(0)
    X = random.uniform(size=(2000, 1))
    y = ((X[:, 0] > 0.25) & (X[:, 0] < 0.75)) ^ (random.uniform(size=2000) < 0.1)
    leaves = [2, 3, 5, 20, 100]
    trees = {str(n): DecisionTreeClassifier(max_leaf_nodes=n) for n in leaves}
    found = minimise_structural_risk(trees, X, y, leaves)
    assert (np.diff(found.empirical) <= 0).all()
    assert (np.diff(found.confidence) > 0).all()
    assert found.best == np.argmin(found.empirical + found.confidence)
    assert found.names[found.best] == "3"
    head, *lines = str(found).splitlines()
    assert head.split() == ["class", "empirical", "capacity", "bound"]
    assert [line.split()[1] for line in lines] == [f"{risk:.4f}" for risk in found.empirical]
    assert [line.endswith("<- chosen") for line in lines] == [False, True, False, False, False]


@pytest.mark.catalogue("LT-08")
def test_least_squares_in_balls_are_ridge_solutions_and_the_error_falls_with_the_radius():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 5))
    y = X @ random.normal(size=5) + random.normal(size=40)
    errors = []
    for radius in (0.2, 0.8, 1.5, 100.0):
        found = solve_in_ball(X, y, radius)
        errors.append(np.sum((X @ found.coef - y) ** 2))
        if found.alpha > 0:
            assert np.linalg.norm(found.coef) == pytest.approx(radius)
            np.testing.assert_allclose(found.coef, Ridge(found.alpha, fit_intercept=False).fit(X, y).coef_, rtol=1e-8)
    assert found.alpha == 0.0
    np.testing.assert_allclose(found.coef, np.linalg.lstsq(X, y, rcond=None)[0])
    assert errors == sorted(errors, reverse=True)


@pytest.mark.catalogue("LT-13")
def test_margin_terms_fall_with_rows_and_margins_and_count_rows_within_the_margin():
    # Beyond N theta^2 = e the first falls, beyond N = e^2 d the second.
    for theta in (0.1, 0.5):
        rows = np.geomspace(np.e / theta**2 + 1, 1e6, 50).astype(int)
        assert (np.diff([margin_risk_term(n, theta) for n in rows]) < 0).all()
    for d in (1, 20):
        rows = np.geomspace(np.e**2 * d + 1, 1e6, 50).astype(int)
        assert (np.diff([boosting_margin_term(n, 0.3, d) for n in rows]) < 0).all()
    margins = np.linspace(0.1, 1.0, 20)
    assert (np.diff([margin_risk_term(1000, m) for m in margins]) < 0).all()
    assert (np.diff([boosting_margin_term(1000, m, 5) for m in margins]) < 0).all()
    # With eta = delta = 1/e both formulas by hand.
    assert margin_risk_term(100, 1.0, np.exp(-1)) == pytest.approx(np.sqrt((np.log(100) + 1) / 100))
    assert boosting_margin_term(100, 1.0, 10, np.exp(-1)) == pytest.approx(np.sqrt((10 * np.log(10) ** 2 + 1) / 100))
    assert margin_error([-0.5, 0.1, 0.1, 0.3], 0.1) == 0.75


@pytest.mark.catalogue("LT-19")
def test_every_learner_averages_one_half_on_unseen_inputs_unless_functions_are_not_equally_likely():
    seen = [0, 2, 3, 5, 6]

    def vote(X, y, X_new):
        return np.full(len(X_new), int(y.mean() > 0.5))

    learners = [vote, lambda X, y, X_new: np.ones(len(X_new)), KNeighborsClassifier(1)]
    assert [average_unseen_error(learner, 3, seen) for learner in learners] == [0.5, 0.5, 0.5]
    # If functions with few ones are more likely, the vote is better than the constant one.
    uneven = [average_unseen_error(learner, 3, seen, prior=lambda labels: 0.1 ** labels.sum()) for learner in learners]
    assert uneven[0] < 0.2 < 0.8 < uneven[1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hoeffding_probability(0.0, 10), r"epsilon must be in \(0, inf\)"),
        (lambda: hoeffding_gap(10, 1.0), r"delta must be a number in \(0, 1\); got 1\.0\. It is"),
        (lambda: hoeffding_gap(0), "n_samples must be an integer"),
        (lambda: hoeffding_sample_size(0.1, n_hypotheses=0.5), "n_hypotheses must be in"),
        (lambda: vc_confidence(10, 21), "dimension must be at most 2 n_samples = 20; got 21"),
        (lambda: vc_bound(30, 100, 3), r"risk must be in \[0, 1\]; got 30. Divide the number of errors"),
        (lambda: margin_error([], 0.1), "margins must have an entry"),
        (lambda: margin_risk_term(10, 0.1), "n_samples theta.2 must be at least 1"),
        (lambda: boosting_margin_term(10, 0.1, 11), "dimension must be at most n_samples=10"),
        (lambda: solve_in_ball([[1.0]], [1.0, 2.0], 1.0), "y must have one target for each of the 1 rows"),
        (lambda: minimise_structural_risk({"a": None}, [[1]], [1], [2, 1]), "dimensions must be 1 rising numbers"),
        (lambda: average_unseen_error(None, 5, [0]), "n_bits must be at most 4; got 5"),
        (lambda: average_unseen_error(None, 1, [0, 1]), "not none and not all"),
    ],
)
def test_arguments_out_of_range_are_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()

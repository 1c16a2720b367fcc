"""What a search says at its end: by the slope, by the expected gain beside rounding, or that nothing is known."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer._source.threads import one_blas_thread
from mercer.gaussian_process import GaussianProcessRegressor
from mercer.gaussian_process._evidence import ExactEvidence
from mercer.gaussian_process._trust_region import certify_maximum, predict_gain
from mercer.kernels import RBF, Matern, White

BOX = np.array([[-9.0, 9.0], [-9.0, 9.0]])
LINE = np.linspace(0, 6, 40)[:, None]
PLANE = np.random.default_rng(3).uniform(-2, 2, (120, 2))
WIDE = np.random.default_rng(0).normal(size=(250, 5))
HEIGHTS = np.sin(PLANE[:, 0]) * PLANE[:, 1]
SMOOTH = np.sin(WIDE[:, 0]) + 0.5 * WIDE[:, 1] * WIDE[:, 2] + 0.1 * np.random.default_rng(1).normal(size=250)
WIDTHS = np.ones(2)
# Rows, targets, the prior and the noise added: where conditions are bad, slopes end above the tolerance.
PROBLEMS = {
    "well conditioned": (
        PLANE,
        HEIGHTS + 0.2 * np.random.default_rng(2).normal(size=120),
        1.0 * RBF(WIDTHS) + White(0.1),
        1e-10,
    ),
    "few rows": (PLANE[:5], HEIGHTS[:5], 1.0 * RBF(1.0) + White(0.1), 1e-10),
    "widths at a bound": (WIDE, SMOOTH, 1.0 * RBF(np.ones(5)) + White(0.1), 1e-10),
    "noise at a bound": (LINE, np.sin(LINE[:, 0]), 1.0 * RBF() + White(0.1), 1e-10),
    "no noise": (LINE, np.sin(LINE[:, 0]), 1.0 * RBF(), 1e-10),
    "no noise, rough": (PLANE, HEIGHTS, 1.0 * Matern(WIDTHS, nu=1.5), 1e-10),
    "rows twice": (np.repeat(PLANE, 2, axis=0), np.repeat(HEIGHTS, 2), 1.0 * RBF(WIDTHS) + White(0.1), 1e-10),
    "rows twice, no noise": (np.repeat(PLANE[:30], 2, axis=0), np.repeat(HEIGHTS[:30], 2), 1.0 * RBF(WIDTHS), 1e-7),
}


def fitted(name, **options):
    X, y, kernel, noise = PROBLEMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GaussianProcessRegressor(kernel, alpha=noise, n_jobs=1, **options).fit(X, y)


def evidence_of(name):
    X, y, _, noise = PROBLEMS[name]
    return ExactEvidence(X, y[:, None], np.full(len(y), noise))


def test_the_expected_gain_is_that_of_newtons_move_and_the_greater_of_two_models():
    slope, H = np.array([2.0, -1.0]), np.diag([4.0, 1.0])
    assert predict_gain(np.zeros(2), slope, [H], BOX) == pytest.approx(0.5 * (2.0**2 / 4.0 + 1.0))
    assert predict_gain(np.zeros(2), slope, [H, 0.5 * H], BOX) == pytest.approx(2.0**2 / 4.0 + 1.0)
    assert predict_gain(np.zeros(2), slope, [], BOX) == np.inf
    # The first is held by its bound, the second may go half of its way.
    at = np.array([9.0, -8.5])
    assert predict_gain(at, slope, [H], BOX) == pytest.approx(0.5 - 0.5 * 0.5**2)


def test_a_slope_above_the_tolerance_is_excused_by_a_gain_below_rounding_alone():
    slope = np.array([[1e-3, 0.0]])
    assert certify_maximum(slope, [1e-9], [1e-8], 1e-2).kind == "gradient norm"
    excused = certify_maximum(slope, [1e-9], [1e-8], 1e-4)
    assert (excused.kind, excused.value, excused.tolerance, excused.satisfied) == ("expected gain", 1e-9, 1e-8, True)
    for gain, rounding in ((1e-7, 1e-8), (1e-9, 0.0), (0.0, 0.0), (1e-9, 1.0), (np.inf, 1e-8)):
        refused = certify_maximum(slope, [gain], [rounding], 1e-4)
        assert (refused.kind, refused.value, refused.satisfied) == ("gradient norm", 1e-3, False)
    assert "Rounding leaves 1 of the likelihood unknown" in certify_maximum(slope, [1e-9], [1.0], 1e-4).statement


def test_of_several_problems_the_worst_is_certified():
    slopes = np.array([[1e-6, 0.0], [1e-3, 0.0], [0.0, 2e-3]])
    found = certify_maximum(slopes, [1.0, 1e-10, 2e-9], [0.0, 1e-8, 1e-8], 1e-4)
    assert (found.value, found.tolerance, found.satisfied) == (2e-9, 1e-8, True)
    assert not certify_maximum(slopes, [1.0, 1e-10, 2e-8], [0.0, 1e-8, 1e-8], 1e-4).satisfied


@pytest.mark.parametrize("name", PROBLEMS)
def test_values_scatter_by_less_than_the_rounding_that_is_stated(name):
    evidence, model = evidence_of(name), fitted(name)
    theta, random = model.kernel_.theta, np.random.default_rng(1)
    with one_blas_thread():
        found = evidence.measure(model.kernel_)
        moves = 1e-10 * random.normal(size=(20, len(theta)))
        values = [evidence.evaluate(model.kernel_.with_theta(theta + move), False)[0] for move in moves]
    scatter = np.abs(np.array(values) - found.value - moves @ found.slope).max()
    assert 1e-3 * found.rounding < scatter < found.rounding


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_search_ends_certified_and_another_finds_no_more_than_that(name):
    model, evidence = fitted(name), evidence_of(name)
    theta, kernel, best = model.kernel_.theta, model.kernel_, -np.inf

    def loss(theta):
        nonlocal best
        value, slope = evidence.evaluate(kernel.with_theta(theta))
        best = max(best, value)
        return -value, -slope

    with one_blas_thread():
        other = minimize(
            loss, theta, jac=True, method="L-BFGS-B", bounds=kernel.bounds, options={"ftol": 0, "gtol": 1e-9}
        )
    certificate = model.certificate_
    assert model.converged_
    assert certificate.satisfied
    # Where the evidence is concave between the two ends, no more is gained than the slope times the way.
    way = np.abs(other.x - theta).sum()
    stated = certificate.tolerance * (1.0 if certificate.kind == "expected gain" else way) + 1e-9 * max(1.0, abs(best))
    assert best - model.log_marginal_likelihood_value_ <= stated


def test_both_kinds_of_end_are_met():
    assert {fitted(name).certificate_.kind for name in ("few rows", "no noise")} == {"gradient norm", "expected gain"}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_search_that_is_cut_short_is_not_certified(name):
    whole = fitted(name)
    for evaluations in (1, 3, whole.n_iter_ // 2):
        short = fitted(name, max_iter=evaluations)
        assert not short.converged_
        assert short.certificate_.kind == "gradient norm"
        assert not short.certificate_.satisfied


@pytest.mark.parametrize("times", [1, 2])
def test_an_evidence_that_is_lost_in_rounding_is_not_certified(times):
    X, y = np.repeat(PLANE, times, axis=0), np.repeat(HEIGHTS, times)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianProcessRegressor(1.0 * RBF(WIDTHS), alpha=1e-12).fit(X, y)
    assert not model.certificate_.satisfied
    assert "raise alpha" in model.certificate_.statement


def test_where_an_optimizer_of_ones_own_ends_is_certified_by_the_same_rule():
    end, start = fitted("no noise").kernel_.theta, PROBLEMS["no noise"][2].theta
    for theta, satisfied in ((end, True), (start, False)):
        model = fitted("no noise", optimizer=lambda objective, first, bounds, at=theta: (at, objective(at)[0]))
        assert model.certificate_.satisfied is satisfied
    assert (
        fitted("no noise", optimizer=lambda objective, first, bounds: (end, 0.0)).certificate_.kind == "expected gain"
    )

"""Bounds at the ends of their ranges, and the loose form of the boosting bound."""

import math

import numpy as np
import pytest

from mercer.errors import DataError, ParameterError
from mercer.kernels import Linear
from mercer.svm import SVC, SVDD, margin_width
from mercer.theory import (
    agnostic_error_bound,
    consistent_error_bound,
    consistent_failure_probability,
    consistent_sample_size,
    edge_error_bound,
    expected_in_sample_error,
    expected_out_of_sample_error,
    margin_bound,
    rounds_to_zero_error,
    training_error_bound,
    vc_dimension,
)


def test_members_that_are_always_right_or_always_wrong_leave_no_error():
    assert training_error_bound([0.0, 0.3]).tolist() == [0.0, 0.0]
    assert training_error_bound([1.0]).tolist() == [0.0]
    assert training_error_bound([0.5]).tolist() == [1.0]
    for errors in ([-0.01], [1.01], [[0.2]]):
        with pytest.raises(DataError, match="errors must be a list of numbers"):
            training_error_bound(errors)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.35, 1.0])
@pytest.mark.parametrize("rounds", [0, 1, 7, 40])
def test_the_loose_bound_is_an_exponential_above_the_tight_one(gamma, rounds):
    loose, tight = edge_error_bound(gamma, rounds, loose=True), edge_error_bound(gamma, rounds)
    assert loose == pytest.approx(math.exp(-gamma * gamma * rounds / 2))
    assert tight == pytest.approx(np.prod([math.sqrt(1 - gamma * gamma)] * rounds))
    assert tight <= loose <= 1.0
    # The tight bound is that of rounds with equal errors.
    if rounds:
        assert tight == pytest.approx(training_error_bound([(1 - gamma) / 2] * rounds)[-1])


def test_edges_of_zero_need_for_ever_and_others_are_refused():
    assert rounds_to_zero_error(0.0, 10) == math.inf
    assert rounds_to_zero_error(1.0, 1) == 0.0
    for gamma in (-0.1, 1.1, math.nan):
        with pytest.raises(DataError, match="gamma must be a number"):
            edge_error_bound(gamma, 3)


def test_one_hypothesis_is_a_class_and_its_bounds_are_those_of_one_test():
    assert consistent_error_bound(0, 100, 0.05) == pytest.approx(-math.log(0.05) / 100)
    assert agnostic_error_bound(0.1, 0, 200, 0.05) == pytest.approx(0.1 + math.sqrt(-math.log(0.05) / 400))
    assert consistent_failure_probability(0, 0.1, 30) == pytest.approx(math.exp(-3))
    assert consistent_sample_size(0, 0.5, 0.5) == math.ceil(2 * math.log(2))
    with pytest.raises(DataError, match="log2_size must be a number"):
        consistent_error_bound(-0.5, 10)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1])
def test_probabilities_at_the_ends_are_refused(share):
    for call in (
        lambda: consistent_failure_probability(10, share, 50),
        lambda: consistent_sample_size(10, share),
        lambda: consistent_sample_size(10, 0.1, share),
        lambda: consistent_error_bound(10, 50, share),
    ):
        with pytest.raises(DataError, match=r"in \(0, 1\)"):
            call()


def test_expected_errors_without_features_are_the_noise():
    assert expected_in_sample_error(10, 0, 2.0) == expected_out_of_sample_error(10, 0, 2.0) == 2.0
    assert expected_out_of_sample_error(10, 0, 2.0, design="gaussian") == 2.0
    # One degree of freedom is left, which the inverse of a Gaussian design needs.
    assert expected_out_of_sample_error(10, 8, 2.0, design="gaussian") == pytest.approx(2.0 * (1 + 8 / 1))
    for features in (-1, 10):
        with pytest.raises(ParameterError, match="more samples than features are needed"):
            expected_out_of_sample_error(10, features, 1.0)


def test_whole_ratios_are_not_rounded_up_and_the_sphere_holds_every_row():
    X, y = [[-1.0, 0.0], [1.0, 0.0]], [0, 1]
    model = SVC(C=1e6, kernel="linear", tol=1e-10).fit(X, y)
    # Two rows at distance 2: radius 1 and margin 1, so that the ratio is exactly one.
    assert margin_bound(model, X) == 2.0
    rows = np.random.default_rng(0).normal(size=(30, 2))
    labels = (rows[:, 0] > 0).astype(int)
    wide = SVC(C=10.0, kernel="linear").fit(rows, labels)
    radius = SVDD(1.0, kernel=Linear(), tol=1e-6).fit(rows).radius_
    wanted = min((radius / margin_width(wide)) ** 2, 2.0) + 1.0
    assert margin_bound(wide, rows, ceiling=False) == pytest.approx(wanted, rel=1e-4)
    assert vc_dimension("boxes") == 2
    assert vc_dimension("hyperplanes") == 2

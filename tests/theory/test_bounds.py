"""Bounds of learning theory, against the numbers of the notes."""

import itertools
import math

import numpy as np
import pytest

from mercer.ensemble import AdaBoostClassifier
from mercer.errors import DataError
from mercer.theory import (
    agnostic_error_bound,
    consistent_error_bound,
    consistent_failure_probability,
    consistent_sample_size,
    count_boolean_functions,
    edge_error_bound,
    log2_tree_count,
    rounds_to_zero_error,
    training_error_bound,
)


@pytest.mark.catalogue("LT-15")
def test_a_consistent_learner_out_of_1024_hypotheses_needs_a_hundred_rows_for_a_tenth():
    assert consistent_error_bound(10, 100, 0.05) == pytest.approx(0.099272, abs=5e-7)
    assert (10 * math.log(2) + math.log(20)) / 0.1 == pytest.approx(99.27, abs=5e-3)
    assert consistent_sample_size(10, 0.1, 0.05) == 100
    assert 2**10 * math.exp(-100 * consistent_error_bound(10, 100, 0.05)) == pytest.approx(0.05)


@pytest.mark.catalogue("LT-15")
def test_the_bound_for_consistent_learners_refuses_training_errors():
    with pytest.raises(DataError) as caught:
        consistent_error_bound(10, 100, training_error=0.1)
    assert str(caught.value) == (
        "consistent_error_bound: training_error must be 0 for this bound; got 0.1. Use agnostic_error_bound."
    )


@pytest.mark.catalogue("LT-15")
def test_the_probability_of_a_larger_error_is_the_size_times_the_exponential():
    """The bound solved for the probability, for the number of rows and for the error are one relation."""
    assert consistent_failure_probability(math.log2(15), 0.3, 20) == pytest.approx(15 * math.exp(-6), rel=1e-12)
    for delta in (0.5, 0.05, 1e-9):
        epsilon = consistent_error_bound(17, 400, delta)
        assert consistent_failure_probability(17, epsilon, 400) == pytest.approx(delta, rel=1e-9)
        rows = consistent_sample_size(17, 0.1, delta)
        assert (
            consistent_failure_probability(17, 0.1, rows) <= delta < consistent_failure_probability(17, 0.1, rows - 1)
        )
    assert consistent_failure_probability(1e6, 0.1, 5) == 1.0
    assert consistent_failure_probability(3, 0.9, 10**6) == 0.0


@pytest.mark.catalogue("LT-15")
@pytest.mark.parametrize("n_samples", [3, 4, 5, 6])
def test_the_bound_holds_for_all_samples_of_a_small_world(n_samples):
    """Six equally likely points, all labelled 0; hypotheses say 1 on two of them, so that each errs with 1/3."""
    hypotheses = list(itertools.combinations(range(6), 2))
    failures = 0
    for sample in itertools.product(range(6), repeat=n_samples):
        failures += any(not set(sample) & set(points) for points in hypotheses)
    bound = consistent_failure_probability(math.log2(len(hypotheses)), 1 / 3 - 1e-9, n_samples)
    assert 0.05 < failures / 6**n_samples <= bound


@pytest.mark.catalogue("LT-16")
def test_a_training_error_adds_the_root_of_half_the_consistent_bound():
    assert agnostic_error_bound(0.0, 10, 100, 0.05) == pytest.approx(0.222791, abs=5e-7)
    assert agnostic_error_bound(0.1, 10, 100) == pytest.approx(0.1 + math.sqrt(consistent_error_bound(10, 100) / 2))


@pytest.mark.catalogue("LT-17")
def test_the_number_of_trees_follows_its_recursion_and_the_table():
    assert [log2_tree_count(4, k) for k in range(4)] == [1, 4, 10, 22]
    np.testing.assert_allclose(
        [log2_tree_count(10, k) for k in range(4)], [1, 5.321928, 13.965784, 31.253497], atol=5e-7
    )
    for n in (1, 3, 7):
        for k in range(4):
            assert log2_tree_count(n, k + 1) == pytest.approx(math.log2(n) + 2 * log2_tree_count(n, k))
    assert [count_boolean_functions(n) for n in range(5)] == [2, 4, 16, 256, 65536]


@pytest.mark.catalogue("LT-17")
def test_sample_sizes_for_trees_grow_exponentially_with_depth():
    sizes = np.array([consistent_sample_size(log2_tree_count(10, k), 0.1) for k in range(4, 9)])
    np.testing.assert_allclose(sizes[1:] / sizes[:-1], 2.0, atol=0.05)


@pytest.mark.catalogue("LT-18")
def test_an_edge_gives_the_factors_and_the_rounds_of_the_notes():
    np.testing.assert_allclose(
        [edge_error_bound(gamma, 1) for gamma in (0.1, 0.2, 0.3)], [0.994987, 0.979796, 0.953939], atol=5e-7
    )
    np.testing.assert_allclose(
        [rounds_to_zero_error(gamma, 1000) for gamma in (0.1, 0.2, 0.3)], [1381.6, 345.4, 153.5], atol=0.05
    )
    assert edge_error_bound(0.2, 50) <= edge_error_bound(0.2, 50, loose=True)


@pytest.mark.catalogue("LT-18")
def test_the_training_error_stays_below_the_product_of_the_normalisers():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)
    model = AdaBoostClassifier(n_estimators=60).fit(X, y)
    bound = training_error_bound(model.estimator_errors_)
    errors = np.array([(found != y).mean() for found in model.staged_predict(X)])
    assert (errors <= bound + 1e-12).all()
    np.testing.assert_allclose(bound, model.history_["objective"], rtol=1e-9)
    gamma = (1 - 2 * model.estimator_errors_).min()
    assert bound[-1] <= edge_error_bound(gamma, len(bound)) + 1e-12


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: consistent_error_bound(-1, 10), "log2_size must be a number in [0, inf); got -1"),
        (lambda: consistent_error_bound(3, 0), "n_samples must be an integer in [1, inf); got 0"),
        (lambda: consistent_error_bound(3, 10, 1.0), "delta must be a number in (0, 1); got 1.0"),
        (lambda: agnostic_error_bound(1.2, 3, 10), "training_error must be a number in [0, 1]; got 1.2"),
        (lambda: consistent_sample_size(3, 0.0), "epsilon must be a number in (0, 1); got 0.0"),
        (lambda: consistent_failure_probability(3, 1.0, 10), "epsilon must be a number in (0, 1); got 1.0"),
        (lambda: consistent_failure_probability(3, 0.1, 10, training_error=0.2), "training_error must be 0 for this"),
        (lambda: edge_error_bound(1.5, 3), "gamma must be a number in [0, 1]; got 1.5"),
        (lambda: log2_tree_count(0, 1), "n_features must be an integer in [1, inf); got 0"),
        (lambda: log2_tree_count(4, 2.5), "depth must be an integer in [0, inf); got 2.5. A leaf alone has depth 0."),
        (lambda: log2_tree_count(4, -1), "depth must be an integer in [0, inf); got -1"),
        (lambda: log2_tree_count(float("nan"), 1), "n_features must be an integer in [1, inf); got nan"),
        (lambda: count_boolean_functions(2.5), "n_features must be an integer in [0, 24]; got 2.5"),
        (lambda: edge_error_bound(0.5, -1), "n_rounds must be an integer in [0, inf); got -1"),
        (lambda: rounds_to_zero_error(0.5, 0), "n_samples must be an integer in [1, inf); got 0"),
        (lambda: consistent_error_bound(3, 2.5), "n_samples must be an integer in [1, inf); got 2.5"),
        (lambda: count_boolean_functions(30), "n_features must be an integer in [0, 24]; got 30"),
        (lambda: training_error_bound([0.5, 1.5]), "errors must be a list of numbers in [0, 1]"),
    ],
)
def test_arguments_out_of_range_are_refused(call, words):
    with pytest.raises(DataError) as caught:
        call()
    assert words in str(caught.value)

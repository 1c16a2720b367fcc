"""Approximations: exact where they must be, within their standard errors elsewhere, the same for the same seed."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.bayesnet import load_burglary, load_sprinkler, random_network
from mercer.errors import DataError, ParameterError


def test_loopy_propagation_is_exact_on_trees():
    random = np.random.default_rng(0)
    for _ in range(10):
        network = random_network(12, 11, n_states=3, max_parents=1, random_state=random)
        evidence = {"x11": "s0", "x5": "s1"}
        answer = network.approximate(evidence, method="loopy")
        assert answer.converged
        assert answer.residual <= 1e-8
        for name, table in network.marginals(evidence).items():
            np.testing.assert_allclose(answer.marginals[name].values, table.values, atol=1e-7)


def test_loopy_propagation_with_loops_is_close_and_says_when_it_has_not_settled():
    network = load_sprinkler()
    answer = network.approximate({"wet_grass": "yes"}, method="loopy", damping=0.2)
    exact = network.marginals({"wet_grass": "yes"})
    assert max(np.abs(answer.marginals[name].values - exact[name].values).max() for name in exact) < 0.1
    with pytest.warns(ConvergenceWarning, match="did not settle in 1 iterations"):
        assert not network.approximate({"wet_grass": "yes"}, method="loopy", max_iter=1).converged


@pytest.mark.parametrize("method", ["likelihood_weighting", "gibbs"])
def test_samplers_are_within_their_standard_errors_and_depend_on_the_seed_alone(method):
    network = random_network(10, 14, n_states=3, random_state=3)
    evidence = {"x9": "s0", "x4": "s2"}
    exact = network.marginals(evidence)
    answer = network.approximate(evidence, method=method, n_samples=20_000, random_state=0)
    deviations = []
    for name, table in exact.items():
        difference = np.abs(answer.marginals[name].values - table.values)
        error = answer.standard_errors[name]
        if name in evidence:
            assert difference.max() == error.max() == 0
        else:
            assert error.max() < 0.02
            deviations.extend(difference / error)
    # Of some twenty standardised deviations hardly one exceeds three, and their mean square is near one.
    assert max(deviations) < 4.5
    assert 0.2 < np.mean(np.square(deviations)) < 3
    again = network.approximate(evidence, method=method, n_samples=20_000, random_state=0)
    for name in exact:
        np.testing.assert_array_equal(again.marginals[name].values, answer.marginals[name].values)


def test_weights_of_rare_evidence_lower_the_effective_size():
    answer = load_burglary().approximate(
        {"john": "yes", "mary": "yes"}, method="likelihood_weighting", n_samples=5000, random_state=1
    )
    assert answer.effective_size < 2500
    assert answer.n_iter == 5000


def test_a_network_too_wide_to_compile_can_be_sampled():
    wide = random_network(120, 340, n_states=4, max_parents=3, random_state=0)
    answer = wide.approximate({"x0": "s1"}, method="likelihood_weighting", n_samples=2000, random_state=0)
    assert answer.marginals["x119"].total() == pytest.approx(1)


def test_wrong_options_and_impossible_evidence_are_refused():
    network = load_sprinkler()
    with pytest.raises(ParameterError, match=r"`method` must be one of \['loopy', 'gibbs', 'likelihood_weighting'\]"):
        network.approximate(method="magic")
    with pytest.raises(ParameterError, match="has no such option"):
        network.approximate(method="gibbs", n_steps=3)
    with pytest.raises(ParameterError, match="`n_samples` must be a whole number of at least 2; got 0"):
        network.approximate(method="likelihood_weighting", n_samples=0)
    impossible = {"sprinkler": "no", "rain": "no", "wet_grass": "yes"}
    for method in ("gibbs", "likelihood_weighting"):
        with pytest.raises(DataError, match="rows agrees with the evidence"):
            network.approximate(impossible, method=method, random_state=0)

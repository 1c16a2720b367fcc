"""Markov chains: their means are those of the model, and their errors are honest."""

import numpy as np
import pytest

from mercer.energy import IsingModel, PottsModel, autocorrelation_time, effective_sample_size
from mercer.errors import ParameterError, UnsupportedError
from tests.energy.models import KNOT

GLASS = IsingModel.lattice((3, 3), np.random.default_rng(0).normal(size=18), 0.2, beta=0.6)
MIXED = PottsModel.lattice((3, 3), 0.9, [0.1, 0.0, -0.2], n_states=3, beta=0.8)
# Bonds of one size: single sites cross the barriers between states often in 8000 sweeps.
SIGNED = IsingModel(
    KNOT,
    0.6 * np.sign(np.random.default_rng(7).normal(size=8)),
    0.3 * np.random.default_rng(8).normal(size=6),
    beta=1.3,
)
METHODS = ("heat bath", "metropolis", "swendsen-wang", "wolff")


@pytest.mark.catalogue("GM-16")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", [GLASS, MIXED, SIGNED], ids=["glass", "potts", "graph"])
def test_means_agree_with_the_exact_ones(model, method):
    exact = model.solve(marginals=False)
    chain = model.simulate(8000, method=method, n_chains=2, random_state=5)
    # Twelve cases with four means each: none is beyond 4.5 standard errors by chance once in a thousand runs.
    for name, truth in (
        ("energy", exact.mean_energy),
        ("magnetisation", exact.magnetisation),
        ("heat_capacity", exact.heat_capacity),
        ("susceptibility", exact.susceptibility),
    ):
        estimate = getattr(chain, name)
        assert abs(estimate.mean - truth) < 4.5 * estimate.standard_error, name
        assert estimate.effective_samples == pytest.approx(16_000 / estimate.autocorrelation_time)
    assert chain.discrepancy < 1.05


@pytest.mark.parametrize("method", METHODS)
def test_states_have_the_frequencies_of_the_gibbs_distribution(method):
    model = IsingModel.ring(3, 0.7, [0.3, 0.0, -0.1], beta=1.0)
    listed = model.enumerate()
    drawn = model.simulate(20_000, method=method, thin=3, random_state=1).samples
    place = np.array([4, 2, 1])
    counts = np.bincount((drawn > 0) @ place, minlength=8)
    expected = np.zeros(8)
    expected[(listed.states > 0) @ place] = listed.probabilities
    np.testing.assert_allclose(counts / 20_000, expected, atol=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_states_do_not_depend_on_threads(method):
    model = IsingModel.lattice((6, 5), beta=0.4)
    runs = [model.simulate(30, method=method, n_chains=3, n_jobs=jobs, random_state=2).states for jobs in (1, 3)]
    np.testing.assert_array_equal(*runs)
    assert not np.array_equal(runs[0], model.simulate(30, method=method, n_chains=3, random_state=3).states)


def test_clusters_are_faster_than_sweeps_at_the_critical_point():
    model = IsingModel.lattice((24, 24), beta=0.4406868)
    times = {
        method: model.simulate(3000, method=method, random_state=0).order.autocorrelation_time
        for method in ("heat bath", "swendsen-wang")
    }
    assert times["swendsen-wang"] < 0.3 * times["heat bath"]


def test_without_interaction_a_metropolis_chain_still_mixes():
    chain = IsingModel.lattice((4, 4), beta=0.0).simulate(4000, method="metropolis", random_state=0)
    assert abs(chain.magnetisation.mean) < 4 * chain.magnetisation.standard_error
    assert chain.susceptibility.mean == 0.0
    assert np.std(chain.magnetisations) == pytest.approx(0.25, rel=0.1)


def test_the_autocorrelation_time_of_an_autoregressive_series_is_known():
    random, x = np.random.default_rng(0), np.zeros(60_000)
    noise = random.normal(size=len(x))
    for t in range(1, len(x)):
        x[t] = 0.9 * x[t - 1] + noise[t]
    assert autocorrelation_time(x) == pytest.approx(19.0, rel=0.15)
    assert autocorrelation_time(noise) == pytest.approx(1.0, abs=0.1)
    assert autocorrelation_time(np.ones(100)) == 1.0
    assert effective_sample_size(x) == pytest.approx(60_000 / 19.0, rel=0.15)


def test_a_start_is_where_a_chain_begins():
    frozen = IsingModel.lattice((4, 4), beta=50.0)
    chain = frozen.simulate(5, start=-np.ones((4, 4)), burn_in=0, random_state=0)
    assert np.all(chain.states == -1)
    with pytest.raises(ParameterError, match="one for each of 3 chains; got 2"):
        frozen.simulate(5, n_chains=3, start=np.ones((2, 16)))


def test_clusters_of_potts_states_that_repel_are_refused():
    with pytest.raises(UnsupportedError, match="couplings of at least 0"):
        PottsModel.ring(4, -1.0).simulate(10, method="wolff")

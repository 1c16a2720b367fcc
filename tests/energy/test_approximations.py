"""The mean field bounds log Z from below, belief propagation is exact on forests."""

import numpy as np
import pytest

from mercer.energy import IsingModel
from tests.energy.models import MODELS


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_mean_field_bound_rises_and_stays_below_log_z(name):
    model = MODELS[name]
    field, exact = model.mean_field(), model.solve().log_partition
    assert np.all(np.diff(field.bounds) >= -1e-11)
    assert field.log_partition_bound == pytest.approx(field.bounds[-1])
    assert field.log_partition_bound <= exact + 1e-12


def test_the_mean_field_is_exact_without_couplings():
    model = IsingModel([(0, 1)], 0.0, [0.4, -1.0], beta=0.7)
    field = model.mean_field()
    assert field.log_partition_bound == pytest.approx(model.solve().log_partition)
    assert field.marginals[:, 1] - field.marginals[:, 0] == pytest.approx(np.tanh(0.7 * model.fields))


def test_the_mean_field_of_a_large_lattice_solves_its_equation():
    field = IsingModel.lattice((30, 40), beta=0.4, field=0.01).mean_field()
    m = field.magnetisation
    assert field.converged
    assert m == pytest.approx(np.tanh(0.4 * (4 * m + 0.01)), abs=1e-8)


@pytest.mark.parametrize("name", [name for name in sorted(MODELS) if "forest" in name or "chain" in name])
def test_belief_propagation_is_exact_on_forests(name):
    model = MODELS[name]
    bethe, exact = model.propagate(), model.solve()
    assert bethe.converged
    assert bethe.log_partition == pytest.approx(exact.log_partition, rel=1e-9)
    np.testing.assert_allclose(bethe.marginals, exact.marginals, atol=1e-9)
    np.testing.assert_allclose(bethe.pair_probabilities, exact.pair_probabilities, atol=1e-9)


def test_belief_propagation_is_nearer_than_the_mean_field_on_a_warm_lattice():
    model = IsingModel.lattice((5, 5), 1.0, 0.1, beta=0.25, periodic=False)
    exact = model.solve()
    bethe, field = model.propagate(damping=0.3), model.mean_field()
    assert abs(bethe.log_partition - exact.log_partition) < 0.1 * abs(field.log_partition_bound - exact.log_partition)
    assert np.abs(bethe.marginals - exact.marginals).max() < 0.01

"""Pictures of energy models show the state and the exact observables, and refuse what they cannot draw."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer.energy import IsingModel, PottsModel
from mercer.errors import DataError, ParameterError
from mercer.inspection import SpinLatticeDisplay, ThermodynamicsDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_a_lattice_is_drawn_site_by_site():
    model = PottsModel.lattice((3, 5), n_states=4)
    state = np.arange(15) % 4
    display = SpinLatticeDisplay.from_model(model, state)
    np.testing.assert_array_equal(np.asarray(display.image_.get_array()), state.reshape(3, 5))


def test_observables_are_those_of_the_exact_solution():
    model, temperature = IsingModel.lattice((3, 3)), np.array([1.0, 2.0, 4.0])
    display = ThermodynamicsDisplay.from_model(model, temperature, name="heat_capacity")
    exact = [model.with_beta(1 / t).solve(marginals=False).heat_capacity / 9 for t in temperature]
    np.testing.assert_allclose(display.lines_[0].get_ydata(), exact)
    assert display.ax_.get_ylabel() == "heat capacity per site"


def test_what_cannot_be_drawn_is_named():
    with pytest.raises(DataError, match="must be a two-dimensional lattice"):
        SpinLatticeDisplay.from_model(IsingModel.chain(4), np.ones(4))
    with pytest.raises(DataError, match="two dimensions"):
        SpinLatticeDisplay(np.ones(4))
    with pytest.raises(ParameterError, match="name must be one of 'energy'"):
        ThermodynamicsDisplay([1.0], [1.0], name="pressure")

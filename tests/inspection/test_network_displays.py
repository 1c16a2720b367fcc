"""Pictures of neural networks: what they compute, and that they draw it."""

import numpy as np
import pytest

from mercer.errors import DataError
from mercer.inspection import (
    LayeredNetworkDisplay,
    LayerHealthDisplay,
    LearningRatePilotDisplay,
    LossSurfaceDisplay,
    PreActivationDisplay,
)
from mercer.neural_network import Activation, Dense, Network, examine_layers
from mercer.optim import pilot_learning_rates

pyplot = pytest.importorskip("matplotlib.pyplot")
pyplot.switch_backend("Agg")

NETWORK = Network([Dense(4), Activation("relu"), Dense(3), Activation("tanh"), Dense(1)], (2,))
THETA, _ = NETWORK.initialise(0)
X = np.random.default_rng(0).normal(size=(20, 2))
Y = X.sum(axis=1)


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def test_layer_health_draws_a_bar_for_each_layer():
    display = LayerHealthDisplay.from_network(NETWORK, THETA, X, Y)
    reports = {report.name: report for report in examine_layers(NETWORK, THETA, X, Y)}
    assert list(display.gradient_norms_) == ["0 Dense", "2 Dense", "4 Dense"]
    widths = [bar.get_width() for bar in display.bars_[0]]
    assert widths == pytest.approx([reports[name].gradient_norm for name in display.gradient_norms_])
    assert [bar.get_width() for bar in display.bars_[1]] == pytest.approx(list(display.saturated_.values()))
    with pytest.raises(DataError, match="at least one layer"):
        LayerHealthDisplay([])


def test_pre_activations_are_counted():
    display = PreActivationDisplay.from_network(NETWORK, THETA, X, Y, bins=10)
    assert [int(counts.sum()) for counts, _ in display.counts_.values()] == [80, 60]
    assert len(display.axes_) == 2
    with pytest.raises(DataError, match="must have an Activation layer"):
        PreActivationDisplay.compute(Network([Dense(1)], (2,)), np.zeros(3), X, Y)


def test_a_loss_surface_is_drawn_around_the_weights():
    display = LossSurfaceDisplay.from_network(NETWORK, THETA, X, Y, steps=np.linspace(-1, 1, 5))
    assert display.surface.losses[2, 2] == pytest.approx(NETWORK.evaluate(THETA, X, Y)[0])
    assert display.ax_.get_xlabel() == "first direction"


def test_a_pilot_run_marks_the_best_and_the_largest_stable_rate():
    pilot = pilot_learning_rates(lambda x: 2.0 * x @ x, [1.0, 1.0], grad=lambda x: 4.0 * x)
    display = LearningRatePilotDisplay(pilot).plot()
    assert display.line_.get_ydata().max() <= 2 * pilot.start_value
    assert len(display.ax_.get_legend().get_texts()) == 3


@pytest.mark.catalogue("PL-21")
def test_the_drawing_has_the_units_and_weights_of_the_network():
    display = LayeredNetworkDisplay.from_network(NETWORK, THETA, names=["in", "first", "second", "out"])
    assert display.sizes == [2, 4, 3, 1]
    assert len(display.nodes_) == 10
    assert len(display.edges_) == 8 + 12 + 3
    dropped = LayeredNetworkDisplay([2, 4, 1], dropped=[[], [0, 3], []]).plot()
    assert len(dropped.edges_) == 4 + 2
    assert all(unit not in (0, 3) for edge in dropped.edges_ for layer, unit in edge if layer == 1)
    large = LayeredNetworkDisplay([3, 100, 2], most_units=6).plot()
    assert [unit for layer, unit in large.nodes_ if layer == 1] == [0, 1, 2, 97, 98, 99]


def test_drawings_of_nothing_are_refused():
    with pytest.raises(DataError, match="two or more positive integers"):
        LayeredNetworkDisplay([3])
    with pytest.raises(DataError, match=r"weights must have the shapes \[\(2, 3\)\]; got \[\(3, 2\)\]"):
        LayeredNetworkDisplay([2, 3], weights=[np.zeros((3, 2))])
    with pytest.raises(DataError, match="for each of 2 layers; got 1 lists"):
        LayeredNetworkDisplay([2, 3], dropped=[[0]])
    with pytest.raises(DataError, match="must have a Dense layer"):
        LayeredNetworkDisplay.from_network(Network([Activation("relu")], (2,)))

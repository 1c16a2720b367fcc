"""Pictures of neural networks: what they compute, and that they draw it."""

import numpy as np
import pytest

from mercer.errors import DataError, ParameterError
from mercer.inspection import (
    ApproximationDisplay,
    FilterDisplay,
    LayeredNetworkDisplay,
    LayerHealthDisplay,
    LearningRatePilotDisplay,
    LossSurfaceDisplay,
    PreActivationDisplay,
)
from mercer.neural_network import (
    Activation,
    Autoencoder,
    ConvClassifier,
    Dense,
    MLPClassifier,
    MLPRegressor,
    Network,
    RecurrentClassifier,
    RecurrentRegressor,
    examine_layers,
    unfold_estimator,
)
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


def make_estimators():
    """Fitted networks of each kind, with rows, targets and the predictions that the unfolded network must give."""
    signs = np.where(Y > 0, "up", "down")
    images = np.concatenate([X, X, X, X], axis=1)
    short = {"max_iter": 2, "random_state": 0}
    return {
        "classes": (MLPClassifier((4,), batch_norm=True, **short).fit(X, signs), X, signs),
        "numbers": (MLPRegressor(hidden_layer_sizes=(4, 3), **short).fit(X, Y), X, Y),
        "codes": (Autoencoder(1, hidden_layer_sizes=(3,), **short).fit(X), X, None),
        "images": (ConvClassifier((2, 4), filters=(3,), **short).fit(images, signs), images, signs),
        "labels of sequences": (RecurrentClassifier(3, cell="lstm", **short).fit(images, signs), images, signs),
        "numbers of sequences": (RecurrentRegressor(3, **short).fit(images, Y), images, Y),
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_estimators_of_every_kind_are_unfolded_and_drawn():
    for name, (model, rows, y) in make_estimators().items():
        case = unfold_estimator(model, rows, y)
        output = case.network.forward(case.theta, case.X, case.statistics).output
        if hasattr(model, "predict_proba"):
            shares = np.exp(output) / np.exp(output).sum(axis=1, keepdims=True)
            own = 1 / (1 + np.exp(-output[:, 0])) if output.shape[1] == 1 else shares[:, 1]
            np.testing.assert_allclose(own, model.predict_proba(rows)[:, 1], rtol=1e-9, err_msg=name)
        elif name == "codes":
            np.testing.assert_allclose(output, model.inverse_transform(model.transform(rows)), rtol=1e-9)
        else:
            scale, mean = getattr(model, "y_scale_", 1.0), getattr(model, "y_mean_", 0.0)
            np.testing.assert_allclose(output[:, 0] * scale + mean, model.predict(rows), rtol=1e-9)
        health = LayerHealthDisplay.from_estimator(model, rows, y)
        assert all(norm > 0 for norm in health.gradient_norms_.values()), name
        surface = LossSurfaceDisplay.from_estimator(model, rows, y, steps=[-0.5, 0.0, 0.5]).surface
        assert surface.losses[1, 1] == pytest.approx(case.measure(case.theta))
        if "sequences" not in name:
            assert PreActivationDisplay.from_estimator(model, rows, y).counts_
            assert LayeredNetworkDisplay.from_estimator(model).sizes[-1] == case.network.output_shape[0]
    pilot = LearningRatePilotDisplay.from_estimator(model, rows, y, n_steps=3, learning_rates=[1e-3, 1e-1]).pilot
    assert pilot.best in (1e-3, 1e-1)
    with pytest.raises(DataError, match="model must be a perceptron, an Autoencoder"):
        LayerHealthDisplay.from_estimator(object(), X, Y)
    with pytest.raises(DataError, match="y must hold labels of the fit"):
        unfold_estimator(make_estimators()["classes"][0], X, np.full(20, "left"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_filters_are_drawn_as_images():
    model = make_estimators()["images"][0]
    display = FilterDisplay.from_estimator(model)
    assert display.filters.shape == (3, 3, 3)
    W = model.network_.split(model.weights_)["0 Conv2d"]["W"]
    np.testing.assert_allclose(display.filters[1].ravel(), W[:, 1])
    with pytest.raises(DataError, match="layer must be below the number of convolutions, 1; got 1"):
        FilterDisplay.from_estimator(model, layer=1)
    with pytest.raises(DataError, match="must have the shape"):
        FilterDisplay(np.zeros(3))


@pytest.mark.catalogue("NN-17")
def test_more_units_approximate_better_and_the_picture_shows_each_error():
    display = ApproximationDisplay.from_function(np.sin, [4, 8, 16], high=3.0)
    # The slope of the sine is at most 1, so that a staircase of n pieces of [0, 3] is off by at most 3 / (2 n).
    assert (display.errors <= 1.5 / np.array([4, 8, 16]) + 1e-12).all()
    assert (np.diff(display.errors) < 0).all()
    drawn = display.axes_[1].lines[0]
    np.testing.assert_array_equal(drawn.get_xdata(), [3, 7, 15])
    np.testing.assert_array_equal(drawn.get_ydata(), display.errors)
    assert len(display.axes_[0].lines) == 4


def test_cosines_are_drawn_over_the_unit_square():
    display = ApproximationDisplay.from_function(
        lambda p: np.cos(2 * np.pi * p[:, 0]) * np.cos(np.pi * p[:, 1]), [2, 3], kind="cosine"
    )
    assert display.errors[1] < 1e-12 < display.errors[0]
    assert display.axes_[0].get_title() == "18 units"


def test_sigmoids_are_smooth_and_other_kinds_are_refused():
    display = ApproximationDisplay.compute(np.sin, [8], kind="sigmoid", high=3.0)
    assert display.sums[0].kind == "sigmoid"
    with pytest.raises(ParameterError, match=r"kind must be 'step', 'sigmoid' or 'cosine'.*got 'spline'"):
        ApproximationDisplay.compute(np.sin, [8], kind="spline")

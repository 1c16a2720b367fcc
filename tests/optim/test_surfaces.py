"""All methods on the standard surfaces from one start, and the pictures of it."""

import numpy as np
import pytest

from mercer.errors import DataError
from mercer.inspection import (
    AcceptanceDisplay,
    EnergyTraceDisplay,
    GibbsDisplay,
    LearningRateDisplay,
    TrajectoryDisplay,
)
from mercer.optim import (
    HIMMELBLAU,
    ROSENBROCK,
    SADDLE,
    SURFACES,
    VALLEY,
    Adam,
    GibbsDistribution,
    GradientDescent,
    MaxIter,
    Momentum,
    Nesterov,
    RMSprop,
    anneal,
    check_gradient,
    compare_methods,
    minimize,
    minimize_stochastic,
    numerical_hessian,
)

matplotlib = pytest.importorskip("matplotlib", reason="the displays draw with matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot", reason="the displays draw with matplotlib")
METHODS = {
    "descent": GradientDescent(0.002), "momentum": Momentum(0.002), "nesterov": Nesterov(0.002),
    "rmsprop": RMSprop(0.01), "adam": Adam(0.05), "rprop": "rprop", "conjugate": "conjugate_gradient",
    "lbfgs": "lbfgs", "newton": "newton",
}  # fmt: skip


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    pyplot.close("all")


@pytest.mark.parametrize("surface", SURFACES.values(), ids=lambda surface: surface.name)
def test_the_derivatives_of_each_surface_are_right_and_its_minima_are_minima(surface):
    place = np.array([0.37, -0.81])
    assert check_gradient(surface, surface.gradient, place).passed
    np.testing.assert_allclose(
        surface.hessian(place), numerical_hessian(surface, place, grad=surface.gradient), atol=1e-5
    )
    for minimum in surface.minima:
        assert np.abs(surface.gradient(minimum)).max() < 1e-4
        assert np.linalg.eigvalsh(surface.hessian(minimum)).min() > 0


@pytest.mark.catalogue("OP-22")
@pytest.mark.parametrize("surface", [VALLEY, ROSENBROCK, HIMMELBLAU], ids=lambda surface: surface.name)
def test_every_method_goes_down_from_the_same_start(surface):
    results = compare_methods(surface, METHODS, stop=MaxIter(60))
    assert list(results) == list(METHODS)
    for result in results.values():
        np.testing.assert_array_equal(result.path[0], surface.start)
        assert result.value < surface(np.array(surface.start))
    assert results["newton"].value < 1e-6
    assert results["lbfgs"].value < 1e-6


@pytest.mark.catalogue("OP-22")
def test_descent_stays_on_the_stable_axis_of_a_saddle_and_noise_leaves_it():
    start = [1.0, 0.0]
    plain = minimize(SADDLE, start, grad=SADDLE.gradient, method=GradientDescent(0.1), stop=MaxIter(500))
    np.testing.assert_allclose(plain.x, [0.0, 0.0], atol=1e-12)
    assert plain.x[1] == 0.0
    # Samples pull to either side; their mean pull is zero, so the function is the same saddle.
    pulls = np.tile([0.3, -0.3], 50)
    noisy = minimize_stochastic(
        lambda x, rows: float(SADDLE(x) + np.mean(pulls[rows]) * x[1]), start, n_samples=100, batch_size=5,
        grad=lambda x, rows: SADDLE.gradient(x) + np.array([0.0, np.mean(pulls[rows])]), method=GradientDescent(0.1),
        stop=MaxIter(30), random_state=0,
    )  # fmt: skip
    assert abs(noisy.x[1]) == pytest.approx(1.0, abs=0.2)
    assert SADDLE(noisy.x) < -0.2


@pytest.mark.catalogue("OP-22", "PL-17")
def test_trajectories_are_drawn_over_contours():
    results = compare_methods(VALLEY, {"momentum": Momentum(0.018), "newton": "newton"}, stop=MaxIter(30))
    display = TrajectoryDisplay.from_results(VALLEY, results)
    assert [line.get_label() for line in display.lines_] == ["momentum", "newton"]
    np.testing.assert_array_equal(np.transpose(display.lines_[0].get_data()), results["momentum"].path)
    assert display.ax_.get_xlim() == VALLEY.window[:2]
    free = TrajectoryDisplay(lambda x: x[0] ** 2 + x[1] ** 2, {"a": [[0.0, 0.0], [1.0, 2.0]]}).plot()
    assert free.ax_.get_ylim() == (-0.2, 2.2)
    with pytest.raises(DataError, match=r"results must have their path; got none for 'x'\. Set keep_path=True"):
        TrajectoryDisplay.from_results(VALLEY, {"x": minimize(VALLEY, [1.0, 1.0])})
    with pytest.raises(DataError, match=r"a path must have shape \(n, 2\); got \(4, 3\) for 'x'"):
        TrajectoryDisplay(VALLEY, {"x": np.zeros((4, 3))})


@pytest.mark.catalogue("PL-17")
def test_learning_rate_regimes_are_drawn_as_steps_on_a_parabola():
    displays = LearningRateDisplay.from_rates([0.2, 0.5, 0.8, 1.0, 1.1], curvature=2.0)
    names = ["monotone", "one step", "oscillating", "cycling", "diverging"]
    assert [display.regime_ for display in displays] == names
    x, height = displays[2].line_.get_data()
    np.testing.assert_allclose(height, x**2)
    np.testing.assert_allclose(x[1:] / x[:-1], 1.0 - 0.8 * 2.0)


@pytest.mark.catalogue("PL-30")
def test_acceptance_curves_pass_one_half_at_zero_and_the_trace_shows_the_best():
    display = AcceptanceDisplay().plot()
    for line in display.lines_:
        x, p = line.get_data()
        assert p[x == 0.0] == 0.5
        assert np.all(np.diff(p) <= 0)
    result = anneal(
        lambda s: float(abs(s.sum())), lambda s, random: random.permutation(s) * random.choice([-1, 1], len(s)),
        np.ones(6), stop=MaxIter(20), random_state=0,
    )  # fmt: skip
    trace = EnergyTraceDisplay.from_result(result)
    np.testing.assert_array_equal(trace.lines_[1].get_ydata(), np.minimum.accumulate(trace.best))
    assert np.all(trace.lines_[0].get_ydata() >= trace.lines_[1].get_ydata())
    with pytest.raises(DataError, match="the result must be one of anneal; got a history of step, objective"):
        EnergyTraceDisplay.from_result(minimize(VALLEY, [1.0, 1.0]))


@pytest.mark.catalogue("PL-31")
def test_the_gibbs_display_shows_the_distribution_for_each_temperature():
    x = np.linspace(-2.0, 2.0, 81)
    display = GibbsDisplay((x**2 - 1.0) ** 2 + 0.2 * x, betas=(1.0, 20.0), positions=x).plot()
    for line, beta in zip(display.lines_, (1.0, 20.0), strict=True):
        np.testing.assert_allclose(line.get_ydata(), GibbsDistribution(display.energies, beta).probabilities)
    assert display.lines_[1].get_ydata().max() > 2 * display.lines_[0].get_ydata().max()

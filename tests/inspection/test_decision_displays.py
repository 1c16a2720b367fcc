"""Displays of decisions and beliefs show what was computed."""

import numpy as np
import pytest

from mercer.datasets import load_fish
from mercer.decision import ClassDensities
from mercer.errors import DataError, ParameterError
from mercer.estimation import BetaGeometric, GaussianDensity, MixtureDensity, MultivariateGaussianDensity
from mercer.inspection import (
    ClassDensityDisplay,
    CostCurveDisplay,
    GaussianContourDisplay,
    ParameterPosteriorDisplay,
    ThresholdCurveDisplay,
)
from mercer.linear_model import LogisticRegression

matplotlib = pytest.importorskip("matplotlib", reason="the displays draw with matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")
FISH = load_fish()
SALMON = np.asarray(FISH.species) == "salmon"
MODEL = LogisticRegression().fit(FISH.data, SALMON)


@pytest.fixture(autouse=True)
def _closed():
    yield
    matplotlib.pyplot.close("all")


def test_thresholds_cost_what_counting_says():
    costs = np.array([[0.0, 9.0], [1.0, -0.5]])
    display = ThresholdCurveDisplay.from_estimator(MODEL, FISH.data, SALMON, costs=costs)
    shares = MODEL.predict_proba(FISH.data)[:, 1]
    for i in (0, 50, 200, -1):
        action = (shares > display.thresholds[i]).astype(int)
        assert display.mean_costs[i] == pytest.approx(costs[action, SALMON.astype(int)].mean())
    assert display.optimal_threshold == pytest.approx(1 / 10.5)
    action = (shares > display.best_threshold_).astype(int)
    assert costs[action, SALMON.astype(int)].mean() == pytest.approx(display.mean_costs.min())
    np.testing.assert_array_equal(display.line_.get_ydata(), display.mean_costs)


def test_cost_curves_are_lower_envelopes_below_the_triangle():
    display = CostCurveDisplay.from_estimator(MODEL, FISH.data, SALMON)
    x = display.conditions_
    assert (display.costs_ <= np.minimum(x, 1 - x) + 1e-12).all()
    for alarm, miss in zip(display.false_alarms, display.misses, strict=True):
        assert (display.costs_ <= (1 - x) * alarm + x * miss + 1e-12).all()
    assert 0 < display.area_ < 0.25
    blind = CostCurveDisplay.from_predictions(SALMON, np.zeros(len(SALMON)))
    assert blind.area_ == pytest.approx(0.25, abs=1e-3)


@pytest.mark.catalogue("PL-01")
def test_posteriors_sum_to_one_and_boundaries_are_crossings():
    salmon = MixtureDensity([GaussianDensity(56.0, 12.0), GaussianDensity(78.0, 20.0)], [0.55, 0.45])
    world = ClassDensities([salmon, GaussianDensity(66.0, 25.0)], [0.5, 0.5])
    display = ClassDensityDisplay(world, np.linspace(40.0, 95.0, 300), names=["salmon", "bass"]).plot()
    np.testing.assert_allclose(display.posterior_.sum(axis=1), 1.0)
    assert len(display.boundaries_) == 2
    np.testing.assert_allclose(world.posterior(display.boundaries_), 0.5, atol=1e-9)
    assert [line.get_label() for line in display.axes_[0].lines[:2]] == ["salmon", "bass"]


@pytest.mark.catalogue("PL-04")
@pytest.mark.parametrize(("data", "peak"), [([0, 2], 1 / 2), ([0, 2, 0, 1], 4 / 7)])
def test_beliefs_peak_where_the_geometric_example_says(data, peak):
    theta = np.linspace(0.0005, 0.9995, 2000)
    display = ParameterPosteriorDisplay.from_belief(BetaGeometric(), data, theta)
    assert display.mode_ == pytest.approx(peak, abs=1e-3)
    assert display.most_likely_ == display.mode_
    for line in display.lines_:
        assert np.trapezoid(line.get_ydata(), theta) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.catalogue("PL-03")
def test_ellipses_have_the_roots_of_the_eigenvalues_for_axes_and_equal_density():
    covariance = np.array([[3.0, 1.0], [1.0, 2.0]])
    one = MultivariateGaussianDensity([1.0, -1.0], covariance)
    display = GaussianContourDisplay(one, deviations=[1.5]).plot(one.sample(20, random_state=0))
    np.testing.assert_allclose(display.half_axes_[0] ** 2, np.linalg.eigvalsh(covariance))
    outline = display.lines_[0].get_xydata()
    np.testing.assert_allclose(one.squared_distance(outline), 1.5**2)
    reach = np.linalg.norm(outline - [1.0, -1.0], axis=1)
    assert reach.max() == pytest.approx(1.5 * display.half_axes_[0, 1], rel=1e-3)
    mixture = MixtureDensity([one, MultivariateGaussianDensity([5.0, 5.0], np.eye(2))], [0.5, 0.5])
    assert len(GaussianContourDisplay(mixture).plot().lines_) == 4


def test_what_cannot_be_drawn_is_refused():
    three = LogisticRegression().fit(FISH.data, FISH.species)
    with pytest.raises(DataError, match="a threshold is between two classes; got 3"):
        ThresholdCurveDisplay.from_estimator(three, FISH.data, FISH.species)
    with pytest.raises(DataError, match="a cost curve is of two classes; got 3"):
        CostCurveDisplay.from_estimator(three, FISH.data, FISH.species)
    with pytest.raises(DataError, match=r"must hold both classes; got one alone"):
        CostCurveDisplay.from_predictions([1, 1], [0.2, 0.3])
    with pytest.raises(ParameterError, match=r"costs must have shape \(n_actions, 2\)"):
        ThresholdCurveDisplay.from_predictions([0, 1], [0.2, 0.3], costs=[[1, 2, 3]])
    with pytest.raises(DataError, match=r"rows with two columns. Take marginals"):
        GaussianContourDisplay(GaussianDensity())
    with pytest.raises(DataError, match="x must have increasing numbers"):
        ClassDensityDisplay(ClassDensities([GaussianDensity()], [1.0]), [1.0, 0.0])
    with pytest.raises(DataError, match="all curves must have the shape of parameter"):
        ParameterPosteriorDisplay([0.0, 1.0], [1.0], [1.0, 1.0], [1.0, 1.0])

"""Pictures of explanations: what they show adds up to the answer, and is what the explanation holds."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from mercer.errors import DataError, ParameterError
from mercer.explain import column_importance, dependence, shapley
from mercer.inspection import (
    BeeswarmDisplay,
    DependenceDisplay,
    ForceDisplay,
    ImportanceDisplay,
    ShapleyDependenceDisplay,
    WaterfallDisplay,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


@pytest.fixture
def explanation():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 6))
    model = RandomForestRegressor(10, max_depth=4, random_state=0).fit(X, X[:, 0] * X[:, 3] + X[:, 1])
    return shapley(model, X)


def test_a_waterfall_leads_from_the_base_value_to_the_answer(explanation):
    display = WaterfallDisplay.from_explanation(explanation, 5, max_columns=3)
    assert len(display.names) == 4
    assert display.names[-1] == "3 others"
    assert display.ends[0] == explanation.base_values[5]
    assert display.ends[-1] == pytest.approx(explanation.predictions[5], abs=1e-12)
    assert len(display.bars_) == 4


def test_one_column_left_over_is_shown_by_itself(explanation):
    assert len(WaterfallDisplay.compute(explanation, 0, max_columns=5).values) == 6


def test_forces_end_at_the_answer(explanation):
    display = explanation.plot_force(3)
    assert isinstance(display, ForceDisplay)
    assert display.answer == pytest.approx(explanation.predictions[3], abs=1e-12)
    ends = [bar.get_x() + max(bar.get_width(), 0) for bar in display.bars_ if bar.get_width() > 0]
    assert max(ends) == pytest.approx(display.answer, abs=1e-12)


def test_a_bee_swarm_has_the_most_important_columns_first(explanation):
    display = explanation.plot_beeswarm(max_columns=3)
    assert isinstance(display, BeeswarmDisplay)
    order = np.argsort(-explanation.importances)[:3]
    assert display.names == [explanation.feature_names[j] for j in order]
    np.testing.assert_array_equal(np.sort(display.points_[0].get_offsets()[:, 0]), np.sort(display.values[:, 0]))


def test_dependence_is_coloured_by_the_column_that_interacts():
    X = np.random.default_rng(0).normal(size=(500, 4))
    model = RandomForestRegressor(20, min_samples_leaf=5, random_state=0).fit(X, X[:, 0] * X[:, 3] + X[:, 1])
    display = shapley(model, X).plot_dependence("x0")
    assert isinstance(display, ShapleyDependenceDisplay)
    assert display.colour_name == "x3"
    assert len(display.points_.get_offsets()) == 500


def test_several_outputs_need_a_choice():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = RandomForestClassifier(5, random_state=0).fit(X, np.arange(60) % 3)
    found = shapley(model, X[:5])
    with pytest.raises(DataError, match=r"there are 3\. Choose one by select_output"):
        found.plot_waterfall()
    assert found.select_output(1).plot_waterfall().output == "probability of 1"


def test_unknown_columns_are_refused(explanation):
    with pytest.raises(ParameterError, match="got 'z'"):
        explanation.plot_dependence("z")
    with pytest.raises(DataError, match="must be ShapleyValues; got 3"):
        WaterfallDisplay.compute(3)


def test_dependence_is_drawn_with_its_band_and_few_curves():
    X = np.random.default_rng(0).uniform(size=(120, 2))
    found = dependence(lambda rows: rows[:, 0] * rows[:, 1], X, 0, grid=6)
    display = DependenceDisplay.from_dependence(found, max_curves=10)
    assert len(display.curves) == 10
    np.testing.assert_array_equal(display.line_.get_ydata(), found.mean)
    with pytest.raises(DataError, match="one output; there are 2"):
        DependenceDisplay(dependence(lambda rows: rows, X, 0))


def test_importances_are_drawn_in_order():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = RandomForestRegressor(5, random_state=0).fit(X, X[:, 1])
    display = ImportanceDisplay.from_importances(column_importance(model, X, X[:, 1], random_state=0), max_columns=2)
    assert display.names[0] == "x1"
    assert len(display.values) == 2

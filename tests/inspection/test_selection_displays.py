"""Displays of model selection draw the numbers that the tools found."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, TimeSeriesSplit

from mercer.errors import DataError
from mercer.inspection import BiasVarianceDisplay, BullseyeDisplay, FoldsDisplay, ScoreCurveDisplay
from mercer.linear_model import Ridge
from mercer.model_selection import bias_variance, complexity_curve, score_by_rows

matplotlib = pytest.importorskip("matplotlib", reason="the displays draw with matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    matplotlib.pyplot.close("all")


@pytest.mark.catalogue("PL-14", "PL-16")
def test_curves_are_means_over_splits_and_the_best_is_marked():
    X, y = load_diabetes(return_X_y=True)
    grown = score_by_rows(Ridge(0.1), X, y, sizes=[50, 300], scoring="neg_mean_squared_error", random_state=0)
    display = ScoreCurveDisplay.from_result(grown, negate=True, level=2500.0)
    np.testing.assert_allclose(display.lines_[1].get_ydata(), -grown.test.mean(axis=1))
    assert display.ax_.get_ylabel() == "error"
    assert display.ax_.texts[0].get_text().startswith("gap ")
    tried = complexity_curve(Ridge(), X, y, name="alpha", values=[100.0, 1.0, 0.01], random_state=0)
    figure, ax = matplotlib.pyplot.subplots()
    drawn = ScoreCurveDisplay(tried).plot(ax=ax)
    assert drawn.ax_ is ax
    assert ax.lines[-1].get_xdata()[0] == tried.x[tried.best]
    assert figure is drawn.figure_


@pytest.mark.catalogue("PL-12")
def test_the_sum_line_is_the_sum_of_the_parts():
    def draw(random):
        X = random.normal(size=(20, 3))
        return X, X.sum(axis=1) + random.normal(size=20)

    parts = [
        bias_variance(Ridge(alpha), draw, np.eye(3), np.ones(3), noise=1.0, n_sets=20, random_state=0)
        for alpha in (1.0, 10.0)
    ]
    display = BiasVarianceDisplay(parts, [1.0, 10.0], label="alpha").plot()
    lines = {line.get_label(): np.array(line.get_ydata()) for line in display.lines_}
    np.testing.assert_allclose(lines["squared bias"] + lines["variance"] + lines["noise"], lines["sum"])
    with pytest.raises(DataError, match="x must have one number per part, 2; got 1"):
        BiasVarianceDisplay(parts, [1.0])


@pytest.mark.catalogue("PL-12")
def test_shots_at_the_bullseye_have_the_bias_and_the_variance_they_show():
    display = BullseyeDisplay(n_shots=400, random_state=0).plot()
    errors = display.errors_
    np.testing.assert_allclose(errors[..., 0] + errors[..., 1], errors[..., 2])
    assert errors[1, 0, 0] == pytest.approx(4.0, rel=0.05)
    assert errors[0, 1, 1] == pytest.approx(2.0, rel=0.15)
    assert display.axes_.shape == (2, 2)


@pytest.mark.catalogue("PL-15")
def test_the_diagram_shows_which_rows_train_and_which_are_judged():
    display = FoldsDisplay(KFold(5).split(np.arange(20)), scores=[0.1, 0.2, 0.3, 0.4, 0.5]).plot()
    assert (display.layout_ == 2).sum(axis=0).tolist() == [1] * 20
    assert [bar.get_width() for bar in display.bars_] == [0.1, 0.2, 0.3, 0.4, 0.5]
    forward = FoldsDisplay(TimeSeriesSplit(3).split(np.arange(8))).plot()
    assert forward.bars_ is None
    assert (forward.layout_[0] == 0).any()

"""The scree plot shows the shares of the variance and their running sum."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer.decomposition import PCA
from mercer.errors import DataError
from mercer.inspection import ScreeDisplay

matplotlib = pytest.importorskip("matplotlib", reason="the display draws with matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")


@pytest.mark.catalogue("PM-05", "PL-08")
def test_bars_are_the_shares_and_the_line_their_running_sum():
    model = PCA().fit(load_iris().data)
    display = ScreeDisplay.from_estimator(model, threshold=0.95)
    np.testing.assert_allclose([bar.get_height() for bar in display.bars_], model.explained_variance_ratio_)
    np.testing.assert_allclose(display.line_.get_ydata(), np.cumsum(model.explained_variance_ratio_))
    assert display.line_.get_ydata()[-1] == pytest.approx(1.0)
    assert display.n_reaching_ == PCA(0.95).fit(load_iris().data).n_components_ == 2
    matplotlib.pyplot.close(display.figure_)


@pytest.mark.catalogue("PL-08")
def test_the_error_curve_is_the_error_of_restoring_rows_from_the_first_components():
    X = load_iris().data
    display = ScreeDisplay(PCA().fit(X).explained_variance_ratio_).plot(show_error=True)
    total = ((X - X.mean(axis=0)) ** 2).sum()
    for count in (1, 2, 3, 4):
        model = PCA(count).fit(X)
        restored = model.inverse_transform(model.transform(X))
        assert display.error_[count - 1] == pytest.approx(((X - restored) ** 2).sum() / total, abs=1e-12)
    np.testing.assert_array_equal(display.error_line_.get_ydata(), display.error_)
    matplotlib.pyplot.close(display.figure_)


def test_it_draws_where_it_is_told_to():
    figure, ax = matplotlib.pyplot.subplots()
    display = ScreeDisplay([0.6, 0.4]).plot(ax=ax, color="red")
    assert display.ax_ is ax
    assert display.n_reaching_ is None
    matplotlib.pyplot.close(figure)


def test_an_estimator_without_variances_is_refused():
    from sklearn.preprocessing import StandardScaler

    with pytest.raises(DataError, match="must have explained_variance_ratio_; got StandardScaler"):
        ScreeDisplay.from_estimator(StandardScaler().fit([[0.0], [1.0]]))

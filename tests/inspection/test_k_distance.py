"""The curve of k-distances shows them sorted, and its knee."""

import numpy as np
import pytest

from mercer.cluster import k_distances, suggest_eps
from mercer.inspection import KDistanceDisplay

matplotlib = pytest.importorskip("matplotlib", reason="the display draws with matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")


def test_the_curve_is_sorted_and_its_knee_is_the_suggested_epsilon():
    X = np.random.default_rng(0).normal(size=(80, 2))
    display = KDistanceDisplay.from_rows(X, min_samples=5)
    np.testing.assert_array_equal(display.line_.get_ydata(), k_distances(X, 4))
    assert display.eps_ == suggest_eps(X, 5)
    assert display.n_beyond_ == np.count_nonzero(k_distances(X, 4) > display.eps_)
    matplotlib.pyplot.close(display.figure_)


def test_it_draws_where_it_is_told_to():
    figure, ax = matplotlib.pyplot.subplots()
    assert KDistanceDisplay([3.0, 1.0, 2.0], k=1).plot(ax=ax, color="red").ax_ is ax
    matplotlib.pyplot.close(figure)

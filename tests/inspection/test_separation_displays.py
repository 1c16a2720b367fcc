"""Pictures of separated sources: over time, at three stages, contrasts by angle, and matrices made diagonal."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from mercer.datasets import make_mixed_sources
from mercer.decomposition import ICA, negentropy
from mercer.errors import DataError
from mercer.inspection import (
    ContrastLandscapeDisplay,
    JointDiagonalDisplay,
    SeparationStagesDisplay,
    SourcesDisplay,
)

matplotlib = pytest.importorskip("matplotlib", reason="the displays draw with matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")

ROWS = make_mixed_sources(1500, sources=["uniform", "laplace"], random_state=1)
MODEL = ICA(random_state=0).fit(ROWS.data)


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_sources_are_drawn_over_the_true_ones_in_their_order_and_scale():
    display = SourcesDisplay.from_estimator(MODEL, ROWS.data, ROWS.sources)
    assert (display.correlation_ > 0.99).all()
    for number, panel in enumerate(display.axes_):
        true, estimated = (line.get_ydata() for line in panel.lines)
        np.testing.assert_allclose(true, ROWS.sources[:, number] - ROWS.sources[:, number].mean())
        assert np.corrcoef(true, estimated)[0, 1] > 0.99
    alone = SourcesDisplay(MODEL.transform(ROWS.data), names=["a", "b"]).plot()
    assert alone.correlation_ is None
    assert [panel.get_ylabel() for panel in alone.axes_] == ["a", "b"]


def test_stages_show_rows_white_rows_and_sources():
    display = SeparationStagesDisplay.from_estimator(MODEL, ROWS.data)
    np.testing.assert_allclose(np.cov(display.white, rowvar=False, bias=True), np.eye(2), atol=1e-10)
    np.testing.assert_allclose(display.sources, MODEL.transform(ROWS.data))
    assert [panel.get_title() for panel in display.axes_] == ["rows", "white rows", "sources"]
    with pytest.raises(DataError, match="must have whitening_; got StandardScaler"):
        SeparationStagesDisplay.from_estimator(StandardScaler().fit(ROWS.data), ROWS.data)
    with pytest.raises(DataError, match="two columns at least"):
        SeparationStagesDisplay(ROWS.data[:, :1], ROWS.data, ROWS.data)


@pytest.mark.catalogue("PM-16", "PM-17")
def test_the_landscape_has_its_extremes_at_the_sources():
    display = ContrastLandscapeDisplay(ROWS.data).plot()
    sources = MODEL.transform(ROWS.data)
    assert display.kurtosis_.min() == pytest.approx(-1.2, abs=0.1)
    assert display.kurtosis_.max() > 2.0
    # Two sources of a plane are 90 degrees apart.
    apart = abs(display.angles_[display.kurtosis_.argmax()] - display.angles_[display.kurtosis_.argmin()])
    assert apart == pytest.approx(90, abs=8)
    assert display.negentropy_.max() == pytest.approx(negentropy(sources).max(), abs=0.02)
    with pytest.raises(DataError, match="must have two columns; got 3"):
        ContrastLandscapeDisplay(np.zeros((20, 3)))
    with pytest.raises(DataError, match="must not be proportional"):
        ContrastLandscapeDisplay(np.outer(np.arange(20.0), [1.0, 2.0]))


def test_matrices_are_shown_before_and_after():
    random = np.random.default_rng(0)
    Q = np.linalg.qr(random.normal(size=(3, 3)))[0]
    matrices = np.array([Q @ np.diag(random.normal(size=3)) @ Q.T for _ in range(4)])
    display = JointDiagonalDisplay.from_matrices(matrices, names=list("abcd"))
    off = display.transformed_ * (1 - np.eye(3))
    assert np.abs(off).max() < 1e-12
    np.testing.assert_allclose(display.axes_[0, 2].images[0].get_array(), matrices[2])
    np.testing.assert_allclose(display.axes_[1, 2].images[0].get_array(), display.transformed_[2])
    with pytest.raises(DataError, match="Stack the matrices"):
        JointDiagonalDisplay(matrices[0], np.eye(3))

"""Pictures of feature spaces."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_circles

from mercer.decomposition import KernelPCA
from mercer.errors import DataError
from mercer.inspection import FeatureLiftDisplay, KernelComponentDisplay, SmoothnessFilterDisplay
from mercer.kernel_ridge import RegularizationNetwork


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.catalogue("PL-33")
def test_components_are_drawn_one_a_frame_at_their_values():
    X, _ = make_circles(60, factor=0.4, random_state=0)
    model = KernelPCA(3, kernel="rbf", gamma=2.0).fit(X)
    display = KernelComponentDisplay.from_estimator(model, X, n_points=12)
    assert len(display.axes_) == 3
    corner = np.array([[display.grid[0][0, 0], display.grid[1][0, 0]]])
    np.testing.assert_allclose(display.values[:, 0, 0], model.transform(corner)[0], atol=1e-12)
    with pytest.raises(DataError, match=r"rows must have two columns; got shape \(3, 3\)"):
        KernelComponentDisplay.from_estimator(model, np.eye(3))


@pytest.mark.catalogue("PL-33")
def test_a_plane_parts_rings_that_were_lifted():
    X, ring = make_circles(100, factor=0.4, noise=0.03, random_state=0)
    display = FeatureLiftDisplay.from_rows(X, ring)
    np.testing.assert_allclose(display.features @ display.features.T, (X @ X.T) ** 2, atol=1e-12)
    assert display.share_apart_ == 1.0
    with pytest.raises(DataError, match="two classes; got shape"):
        FeatureLiftDisplay.from_rows(X, np.zeros(100))


@pytest.mark.catalogue("PL-37")
@pytest.mark.parametrize("filter", ["gaussian", "lorentzian", "exponential"])
def test_filters_fall_their_bumps_peak_at_zero_and_the_fit_is_the_models(filter):
    X = np.linspace(0, 6, 25)[:, None]
    model = RegularizationNetwork(0.1, bandwidth=2.0, filter=filter).fit(X, np.sin(X[:, 0]))
    spectrum, bump, fit = SmoothnessFilterDisplay.from_estimator(model, X, np.sin(X[:, 0])).axes_
    response = spectrum.lines[0].get_ydata()
    assert response[0] == 1.0
    assert (np.diff(response) < 0).all()
    assert bump.lines[0].get_ydata().argmax() == 100
    x, y = fit.lines[0].get_data()
    np.testing.assert_allclose(y, model.predict(x[:, None]))
    wide = RegularizationNetwork().fit(np.eye(2), [0.0, 1.0])
    with pytest.raises(DataError, match="the model must have one column; got 2"):
        SmoothnessFilterDisplay.from_estimator(wide, np.eye(2), [0.0, 1.0])

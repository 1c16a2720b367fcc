"""Displays in figures of their own: no two texts overlap, whatever the labels and titles are."""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer.cluster import SoftKMeans
from mercer.decomposition import PCA, KernelPCA
from mercer.estimation import GaussianDensity, TransformedDensity
from mercer.inspection import (
    AnnealedCentresDisplay,
    CouplingDisplay,
    EMPanelsDisplay,
    FeatureLiftDisplay,
    KernelComponentDisplay,
    LeafRegionsDisplay,
    PrincipalAxesDisplay,
    SmoothnessFilterDisplay,
    TransformedDensityDisplay,
)
from mercer.kernel_ridge import RegularizationNetwork
from mercer.mixture import GaussianMixture
from mercer.tree import DecisionTreeClassifier


@pytest.fixture(autouse=True)
def figures():
    yield
    plt.close("all")


def list_shown_ticks(axis):
    """Return the labels of the ticks inside the limits; matplotlib keeps others that it does not draw."""
    low, high = sorted(axis.get_view_interval())
    room = 1e-6 * (high - low)
    for is_minor in (False, True):
        places, labels = axis.get_ticklocs(minor=is_minor), axis.get_ticklabels(minor=is_minor)
        yield from (text for place, text in zip(places, labels) if low - room <= place <= high + room)


def list_overlaps(figure):
    """Return pairs of texts of a figure that share more than a pixel."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    ticks, shown = set(), set()
    for ax in figure.axes:
        for axis in (getattr(ax, f"{name}axis") for name in "xyz" if hasattr(ax, f"{name}axis")):
            ticks |= {*axis.get_ticklabels(), *axis.get_ticklabels(minor=True)}
            # In three dimensions matplotlib draws numbers elsewhere than they say.
            shown |= {*list_shown_ticks(axis)} if ax.name != "3d" else set()
    texts = [text for text in figure.findobj(plt.Text) if text.get_visible() and text.get_text().strip()]
    boxes = [
        (text.get_text(), text.get_window_extent(renderer).padded(-1))
        for text in texts
        if text not in ticks or text in shown
    ]
    return [(one, other) for (one, a), (other, b) in combinations(boxes, 2) if a.overlaps(b)]


def draw_rows(n, d):
    return np.random.default_rng(0).normal(size=(n, d))


def draw_biplot():
    X = draw_rows(60, 2) @ np.array([[2.0, 0.5], [0.0, 0.4]])
    return PrincipalAxesDisplay.from_estimator(PCA(2).fit(X), X)


def draw_filter():
    X = np.linspace(0, 6, 30)[:, None]
    return SmoothnessFilterDisplay.from_estimator(
        RegularizationNetwork(0.1).fit(X, np.sin(X[:, 0])), X, np.sin(X[:, 0])
    )


def draw_transformed():
    density = TransformedDensity(GaussianDensity(), np.exp, np.log, np.exp)
    return TransformedDensityDisplay.from_densities({"exp": density}, np.linspace(-3, 3, 201))


def draw_regions():
    X = draw_rows(80, 2)
    y = (X[:, 0] > 0).astype(int)
    return LeafRegionsDisplay.from_estimator(DecisionTreeClassifier(max_depth=3).fit(X, y), X, y)


CASES = {
    "EM panels": lambda: EMPanelsDisplay.from_estimator(GaussianMixture(2, random_state=0), draw_rows(60, 2)),
    "principal axes": draw_biplot,
    "couplings": lambda: CouplingDisplay(draw_rows(10, 10)).plot(),
    "leaf regions": draw_regions,
    "annealed centres": lambda: AnnealedCentresDisplay.from_estimator(SoftKMeans(2, random_state=0), draw_rows(30, 1)),
    "kernel components": lambda: KernelComponentDisplay.from_estimator(
        KernelPCA(3, kernel="rbf").fit(draw_rows(40, 2)), draw_rows(40, 2)
    ),
    "feature lift": lambda: FeatureLiftDisplay.from_rows(draw_rows(40, 2), draw_rows(40, 2)[:, 0] > 0),
    "transformed density": draw_transformed,
    "smoothness filter": draw_filter,
}


@pytest.mark.parametrize("name", CASES)
def test_no_text_covers_another(name):
    assert list_overlaps(CASES[name]().figure_) == []

"""Pictures of projections: canonical variates, Shepard's diagram, grids of cells."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from mercer.cross_decomposition import CCA
from mercer.inspection import CanonicalVariatesDisplay, CellGridDisplay, ShepardDisplay
from mercer.manifold import MDS, Isomap, SpectralEmbedding

X = np.random.default_rng(0).normal(size=(40, 3))


def test_each_pair_of_variates_has_a_panel_with_its_correlation():
    Y = X[:, :2] + 0.5 * np.random.default_rng(1).normal(size=(40, 2))
    model = CCA(2).fit(X, Y)
    display = CanonicalVariatesDisplay.from_estimator(model, X, Y, labels=X[:, 0])
    np.testing.assert_allclose(display.correlations_, model.correlations_, atol=1e-10)
    assert display.axes_[0].get_title() == f"correlation {model.correlations_[0]:.2f}"
    np.testing.assert_allclose(
        display.points_[1].get_offsets(), np.column_stack([s[:, 1] for s in model.transform(X, Y)])
    )
    with pytest.raises(ValueError, match="must have one shape"):
        CanonicalVariatesDisplay(X, Y)


def test_the_diagram_shows_each_pair_and_a_rising_line():
    model = MDS().fit(X)
    display = ShepardDisplay.from_estimator(model)
    assert len(display.points_.get_offsets()) == 40 * 39 // 2
    assert np.all(np.diff(display.line_.get_ydata()) >= 0)
    raw = np.sum((display.distances_ - display.dissimilarities_) ** 2)
    assert raw == pytest.approx(model.stress_)
    assert ShepardDisplay.from_estimator(Isomap(n_neighbors=10).fit(X)).stress_ < 0.5
    with pytest.raises(ValueError, match="must have dissimilarity_matrix_"):
        ShepardDisplay.from_estimator(SpectralEmbedding(affinity="rbf").fit(X))
    with pytest.raises(ValueError, match="one row and column per point"):
        ShepardDisplay(np.eye(3), X)


@pytest.mark.catalogue("PL-11")
def test_grids_of_more_dimensions_are_emptier():
    points = np.random.default_rng(0).uniform(size=(8, 3))
    # All three cells of the first column hold points; eight points cannot be in all nine of two.
    points[:3, 0] = [0.1, 0.5, 0.9]
    display = CellGridDisplay(points, n_bins=3).plot()
    cells = np.floor(points * 3).astype(int)
    assert display.occupied_ == [len({tuple(cell[:d]) for cell in cells}) / 3**d for d in (1, 2, 3)]
    assert display.occupied_[0] > display.occupied_[1] > display.occupied_[2]
    assert "of 27 cells" in display.axes_[2].get_title()
    with pytest.raises(ValueError, match="points of the unit cube"):
        CellGridDisplay(X)

"""The dendrogram shows every merge at its height."""

import numpy as np
import pytest

from mercer.cluster import AgglomerativeClustering, PrototypeAgglomeration, linkage
from mercer.errors import DataError
from mercer.inspection import DendrogramDisplay

matplotlib = pytest.importorskip("matplotlib", reason="the display draws with matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")
X = np.random.default_rng(0).normal(size=(30, 2))


@pytest.mark.catalogue("PL-28")
@pytest.mark.parametrize("method", ["single", "average", "ward"])
def test_brackets_lie_at_the_heights_of_the_merges(method):
    model = AgglomerativeClustering(2, linkage=method, compute_distances=True).fit(X)
    display = DendrogramDisplay.from_estimator(model, height=1.0)
    np.testing.assert_allclose(np.sort(display.heights_), model.distances_)
    tops = [bracket[1, 1] for bracket in display.lines_.get_segments()]
    np.testing.assert_allclose(np.sort(tops), model.distances_)
    assert sorted(display.leaves_) == list(range(30))
    matplotlib.pyplot.close(display.figure_)


def test_the_last_merges_alone_are_shown_when_asked_for():
    Z = linkage(X, "average", sample_weight=np.full(30, 2.0))
    display = DendrogramDisplay(Z, n_merges=4)
    np.testing.assert_allclose(np.sort(display.heights_), Z[-4:, 2])
    assert len(display.leaves_) == 5


def test_prototypes_are_drawn_where_it_is_told_to():
    figure, ax = matplotlib.pyplot.subplots()
    model = PrototypeAgglomeration(2, n_prototypes=10, random_state=0).fit(X)
    display = DendrogramDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax
    np.testing.assert_allclose(np.sort(display.heights_), model.linkage_matrix_[:, 2])
    matplotlib.pyplot.close(figure)


def test_what_has_no_heights_is_refused():
    with pytest.raises(DataError, match="Fit it with compute_distances=True"):
        DendrogramDisplay.from_estimator(AgglomerativeClustering(2).fit(X))
    with pytest.raises(DataError, match=r"four columns; got shape \(2, 3\)"):
        DendrogramDisplay(np.zeros((2, 3)))

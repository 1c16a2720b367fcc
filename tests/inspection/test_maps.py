"""The pictures of self-organising maps show the numbers of the model."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer.cluster import KMeans, SelfOrganizingMap
from mercer.errors import DataError
from mercer.inspection import LatticeDisplay, MapDisplay

matplotlib = pytest.importorskip("matplotlib", reason="the display draws with matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")
X = load_iris().data


@pytest.fixture(scope="module")
def model():
    return SelfOrganizingMap(4, 3, topology="hexagonal").fit(X)


@pytest.mark.catalogue("PL-32")
@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({}, lambda model: model.u_matrix()),
        ({"X": X}, lambda model: model.hit_map(X)),
        ({"column": 2}, lambda model: model.component_planes()[2]),
    ],
)
def test_values_are_drawn_where_the_units_lie(model, options, values):
    display = MapDisplay.from_estimator(model, **options)
    np.testing.assert_array_equal(display.points_.get_offsets(), model.positions_)
    np.testing.assert_array_equal(display.points_.get_array(), values(model).ravel())
    matplotlib.pyplot.close(display.figure_)


@pytest.mark.catalogue("PL-32")
def test_the_lattice_joins_units_that_are_one_apart(model):
    figure, ax = matplotlib.pyplot.subplots()
    display = LatticeDisplay.from_estimator(model, X, columns=(2, 3), ax=ax)
    # Two joints in each of four rows, and five between each two rows.
    assert len(display.lines_.get_segments()) == 4 * 2 + 3 * 5
    places = model.positions_[display.edges]
    np.testing.assert_allclose(np.linalg.norm(places[:, 0] - places[:, 1], axis=1), 1.0)
    np.testing.assert_array_equal(display.segments_, model.cluster_centers_[:, 2:][display.edges])
    assert display.ax_ is ax
    matplotlib.pyplot.close(figure)


def test_other_models_and_shapes_are_refused():
    with pytest.raises(DataError, match="MapDisplay: the estimator must be a SelfOrganizingMap; got KMeans"):
        MapDisplay.from_estimator(KMeans(2).fit(X))
    with pytest.raises(DataError, match="a row for each of the 3 values"):
        MapDisplay([1.0, 2.0, 3.0], [[0.0, 0.0]])

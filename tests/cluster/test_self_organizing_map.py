"""SelfOrganizingMap: the grid unfolds among the rows, its neighbours stay neighbours, and sigma to zero is k-means."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

from mercer.cluster import KMeans, SelfOrganizingMap
from mercer.cluster._map.grid import Grid
from mercer.errors import DataError, ParameterError

GRIDS = [{"topology": topology, "torus": torus} for topology in ("rectangular", "hexagonal") for torus in (False, True)]


@pytest.fixture(scope="module")
def sheet():
    """A wide sheet in three dimensions: long, half as long, thin."""
    return np.random.default_rng(0).uniform(-1, 1, size=(3000, 3)) * [4.0, 2.0, 0.05]


def centres_after(model, X):
    """One batch step by the plainest formula."""
    winner = ((X[:, None] - model.init[None]) ** 2).sum(axis=2).argmin(axis=1)
    shares = np.exp(-(model._grid.distances[:, winner] ** 2) / (2 * model.sigma_end**2))
    return shares @ X / shares.sum(axis=1)[:, None]


@pytest.mark.catalogue("CL-17")
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_a_batch_step_is_the_mean_of_all_rows_weighted_by_the_neighbourhood(grid):
    X = load_iris().data
    model = SelfOrganizingMap(4, 3, init=X[:120:10], sigma=0.7, sigma_end=0.7, max_iter=1, **grid)
    with pytest.warns(UserWarning, match="not converged"):
        model.fit(X)
    np.testing.assert_allclose(model.cluster_centers_, centres_after(model, X), rtol=1e-12)


@pytest.mark.catalogue("CL-17")
def test_an_online_step_moves_each_unit_by_its_share_of_the_way():
    units = np.array([[0.0], [1.0], [5.0]])
    model = SelfOrganizingMap(
        1, 3, init=units, solver="online", sigma=1.0, sigma_end=1.0, learning_rate=0.5, learning_rate_end=0.5
    )
    model.set_params(annealing_iter=1).fit([[2.0]])
    share = 0.5 * np.exp(-0.5 * np.array([1.0, 0.0, 1.0]))
    np.testing.assert_allclose(model.cluster_centers_.ravel(), units.ravel() + share * (2.0 - units.ravel()))


@pytest.mark.catalogue("CL-17")
@pytest.mark.parametrize("solver", ["batch", "online"])
def test_without_a_neighbourhood_the_map_is_k_means(solver):
    X = make_blobs(400, 2, centers=4, cluster_std=0.3, random_state=1)[0]
    start = X[[0, 100, 200, 300]]
    means = KMeans(4, init=start, n_init=1, tol=0.0).fit(X)
    rates = {"learning_rate": 0.05, "learning_rate_end": 0.001, "random_state": 0}
    model = SelfOrganizingMap(2, 2, init=start, sigma=0.05, sigma_end=0.05, tol=0.0, solver=solver, **rates).fit(X)
    exact = 1e-9 if solver == "batch" else 0.02
    np.testing.assert_allclose(model.cluster_centers_, means.cluster_centers_, atol=exact)


@pytest.mark.catalogue("CL-17")
@pytest.mark.parametrize("solver", ["batch", "online"])
def test_the_map_lies_along_the_two_wide_directions(sheet, solver):
    model = SelfOrganizingMap(6, 12, sigma_end=1.0, solver=solver, random_state=0).fit(sheet)
    places, centres = model.positions_, model.cluster_centers_
    assert abs(np.corrcoef(places[:, 0], centres[:, 0])[0, 1]) > 0.97
    assert abs(np.corrcoef(places[:, 1], centres[:, 1])[0, 1]) > 0.97
    assert np.abs(centres[:, 2]).max() < 0.05
    assert model.topographic_error(sheet) < 0.05


@pytest.mark.catalogue("CL-17")
@pytest.mark.parametrize("solver", ["batch", "online"])
def test_annealing_unfolds_a_map_that_begins_in_disorder(sheet, solver):
    errors = []
    for start in range(3):
        settings = {"init": "random", "solver": solver, "random_state": start, "tol": 0.01}
        narrow = SelfOrganizingMap(8, 8, sigma=0.5, **settings).fit(sheet)
        annealed = SelfOrganizingMap(8, 8, sigma=4.0, annealing_iter=30, **settings).fit(sheet)
        errors.append((annealed.topographic_error(sheet), narrow.topographic_error(sheet)))
    # A narrow map happens to be in order from some starts.
    smooth, rough = np.mean(errors, axis=0)
    assert smooth < min(0.05, rough)


@pytest.mark.catalogue("CL-17", "PM-21")
def test_errors_and_pictures_are_what_their_names_say():
    X = load_iris().data
    model = SelfOrganizingMap(5, 4, topology="hexagonal").fit(X)
    lengths = np.linalg.norm(X[:, None] - model.cluster_centers_[None], axis=2)
    order = lengths.argsort(axis=1)
    apart = np.linalg.norm(model.positions_[order[:, 0]] - model.positions_[order[:, 1]], axis=1)
    assert model.quantization_error(X) == pytest.approx(lengths.min(axis=1).mean())
    assert model.topographic_error(X) == pytest.approx(np.mean(apart > 1.01))
    np.testing.assert_array_equal(model.transform(X), model.positions_[model.labels_])
    np.testing.assert_array_equal(model.hit_map(X).ravel(), np.bincount(model.labels_, minlength=20))
    np.testing.assert_array_equal(model.component_planes()[2].ravel(), model.cluster_centers_[:, 2])
    centres = model.cluster_centers_
    # The unit in the corner has the next in its row, and two in the row above or one, by the shift.
    assert model.u_matrix()[0, 0] == pytest.approx(np.linalg.norm(centres[[1, 4]] - centres[0], axis=1).mean())


@pytest.mark.catalogue("CL-17")
def test_grids_have_the_neighbours_that_their_shape_asks_for():
    counts = {str(grid): Grid(6, 6, **grid).neighbours.sum(axis=1) for grid in GRIDS}
    assert [counts[str(grid)].max() for grid in GRIDS] == [8, 8, 6, 6]
    assert [counts[str(grid)].min() for grid in GRIDS] == [3, 8, 2, 6]
    for grid in GRIDS:
        one = Grid(6, 6, **grid)
        np.testing.assert_allclose(one.neighbourhood(1.3), np.exp(-(one.distances**2) / (2 * 1.3**2)), rtol=1e-12)


def test_online_weights_show_a_row_so_many_times_in_succession():
    X, units = np.array([[2.0], [0.3]]), np.array([[0.0], [1.0], [5.0]])
    settings = {"init": units, "solver": "online", "annealing_iter": 1, "sigma": 1.0, "sigma_end": 1.0}
    settings |= {"learning_rate": 0.3, "learning_rate_end": 0.3, "random_state": 0}
    heavy = SelfOrganizingMap(1, 3, **settings).fit(X, sample_weight=[3.0, 0.0])
    thrice = SelfOrganizingMap(1, 3, **settings).fit(X[[0, 0, 0]])
    np.testing.assert_allclose(heavy.cluster_centers_, thrice.cluster_centers_, rtol=1e-12)


@pytest.mark.parametrize("solver", ["batch", "online"])
def test_float32_rows_give_float32_units_near_those_of_float64(sheet, solver):
    settings = {"solver": solver, "random_state": 0, "annealing_iter": 3}
    double = SelfOrganizingMap(3, 4, **settings).fit(sheet)
    single = SelfOrganizingMap(3, 4, **settings).fit(sheet.astype(np.float32))
    assert single.cluster_centers_.dtype == np.float32
    np.testing.assert_allclose(single.cluster_centers_, double.cluster_centers_, atol=1e-3)


def test_a_sample_orders_the_map_as_well_as_all_rows(sheet):
    full = SelfOrganizingMap(8, 8, random_state=0).fit(sheet)
    sampled = SelfOrganizingMap(8, 8, subsample=500, random_state=0).fit(sheet)
    assert sampled.quantization_error(sheet) < 1.02 * full.quantization_error(sheet)
    assert sampled.history_["objective"][0] < 0.3 * full.history_["objective"][0]


def test_maps_larger_than_the_data_and_equal_rows_are_fitted():
    model = SelfOrganizingMap(4, 4).fit(np.ones((3, 2)))
    np.testing.assert_array_equal(model.cluster_centers_, np.ones((16, 2)))
    assert model.quantization_error(np.ones((1, 2))) == 0.0
    assert SelfOrganizingMap(1, 1).fit([[1.0], [3.0]]).cluster_centers_.tolist() == [[2.0]]


def test_what_cannot_be_is_refused_with_the_cure():
    X = load_iris().data
    with pytest.raises(ParameterError, match=r"hexagonal torus needs an even number of rows.*Add or drop a row"):
        SelfOrganizingMap(3, 4, topology="hexagonal", torus=True).fit(X)
    with pytest.raises(DataError, match=r"a row for each of the 4 units and 4 columns; got shape \(3, 4\)"):
        SelfOrganizingMap(2, 2, init=X[:3]).fit(X)
    with pytest.raises(DataError, match=r"solver='online' needs all rows in memory.*Use solver='batch'"):
        SelfOrganizingMap(2, 2, solver="online").fit([X[:50], X[50:]])

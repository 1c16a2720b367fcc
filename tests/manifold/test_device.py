"""t-SNE of rows on a device, here of torch tensors on the CPU: the map of memory, computed where the rows are."""

import numpy as np
import pytest
import torch

from mercer._source.placement import Placement
from mercer.errors import UnsupportedError
from mercer.manifold import TSNE, join_affinities, measure_divergence
from mercer.manifold._tsne._device.affinities import find_affinities_there, find_nearest, weigh_nearest
from mercer.manifold._tsne._device.cuda_engine import CudaEngine
from mercer.manifold._tsne._device.edges import NodeTable, find_length, make_lists, make_tables
from mercer.manifold._tsne._device.engine import DeviceEngine
from mercer.manifold._tsne.descent import EmbeddingState
from mercer.manifold._tsne.grid import Grid

SETTINGS = {"method": "fft", "perplexity": 10.0, "max_iter": 300, "random_state": 0}


@pytest.fixture(autouse=True)
def one_torch_thread():
    """Torch's threads wait for one another for long where other processes use the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    return random.normal(size=(300, 6)) + 6.0 * random.normal(size=(5, 6))[np.arange(300) % 5]


def test_neighbours_are_those_of_all_distances(rows):
    X = torch.asarray(rows)
    squares, columns = find_nearest(X, 7, Placement.of(X))
    table = np.square(rows[:, None, :] - rows[None, :, :]).sum(axis=2)
    np.fill_diagonal(table, np.inf)
    assert (columns.numpy() == np.argsort(table, axis=1)[:, :7]).all()
    np.testing.assert_allclose(squares.numpy(), np.sort(table, axis=1)[:, :7], rtol=1e-12)


@pytest.mark.parametrize("perplexity", [10.0, [5.0, 20.0]])
def test_forces_and_affinities_are_those_of_all_pairs(rows, perplexity):
    X = torch.asarray(rows)
    affinities = join_affinities(rows, perplexity)
    found = find_affinities_there(X, list(np.atleast_1d(perplexity)), Placement.of(X))
    np.testing.assert_allclose(found.sigma.numpy(), affinities.sigma, rtol=1e-5)
    places = 5.0 * np.random.default_rng(1).normal(size=(300, 2))
    engine = DeviceEngine(found.edges)
    engine.start(EmbeddingState(places, 0 * places, 1 + 0 * places, 0, 0.0, 0.0, 0.0, 0))
    divergence, norm = engine.settle()
    expected = measure_divergence(affinities, places)
    assert divergence == pytest.approx(expected.value, rel=1e-4)
    assert norm == pytest.approx(np.linalg.norm(expected.gradient), rel=1e-2)


def weigh(rows, device):
    """Return the affinities of the nearest rows, their columns, and where they are."""
    X = torch.asarray(rows, dtype=torch.float32, device=device)
    squares, columns = find_nearest(X, 30, Placement.of(X))
    return weigh_nearest(squares, [10.0], Placement.of(X))[0], columns, Placement.of(X)


def test_lists_and_tables_hold_the_same_affinities(rows):
    given = weigh(rows, "cpu")
    lists, tables = make_lists(*given), make_tables(*given)
    sums = np.zeros((300, 300))
    points = np.repeat(np.arange(300), np.diff(lists.starts.numpy()))
    sums[points, lists.ends.numpy()] = lists.weights.numpy()
    order = tables.order.numpy()
    for first, columns, weights in tables.tables:
        numbers = order[first : first + len(columns), None]
        np.subtract.at(sums, (np.broadcast_to(numbers, columns.shape), order[columns.numpy()]), weights.numpy())
    assert np.abs(sums).max() < 1e-12
    assert lists.entropy == tables.entropy


def test_a_table_of_nodes_has_the_kernel_of_the_grid():
    place = Placement.of(torch.zeros(1))
    table = NodeTable.choose(np.array([20.0, 9.0]), None, place)
    assert table.lengths == (2 * table.shape[0], 2 * table.shape[1])
    assert NodeTable.choose(np.array([19.9, 9.0]), table, place) is table
    grid = Grid(table.spacing, table.shape)
    assert grid.lengths == table.lengths
    np.testing.assert_allclose(table.kernel.numpy(), grid.kernel, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("least", [1, 16, 17, 100, 1000, 2049])
def test_lengths_are_even_and_little_longer_than_asked(least):
    found = find_length(least)
    assert found >= least
    assert found % 2 == 0
    assert least < 16 or found <= 1.25 * least


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA programs run on NVIDIA GPUs only")
@pytest.mark.parametrize("spread", [1e-4, 5.0])
def test_programs_move_points_like_array_operations(rows, spread):
    given = weigh(rows, "cuda")
    places = spread * np.random.default_rng(1).normal(size=(300, 2))
    engines = DeviceEngine(make_tables(*given)), CudaEngine(make_lists(*given))
    for engine in engines:
        engine.start(EmbeddingState(places, 0 * places, 1 + 0 * places, 0, 0.0, 0.0, 0.0, 0))
    found, expected = engines[1].settle(), engines[0].settle()
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    for engine in engines:
        engine.descend(3, 12.0, 0.5, 50.0)
    for found, expected in zip(engines[1].copy(), engines[0].copy(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_a_map_is_as_good_as_in_memory_and_the_same_in_every_run(rows):
    memory = TSNE(**SETTINGS).fit(rows)
    first, second = (TSNE(**SETTINGS).fit(torch.asarray(rows)) for _ in range(2))
    assert isinstance(first.embedding_, torch.Tensor)
    assert first.embedding_.dtype == torch.float32
    # Other lengths of the grid lead to another local minimum, which must not be worse.
    assert first.kl_divergence_ <= 1.02 * memory.kl_divergence_
    assert torch.equal(first.embedding_, second.embedding_)
    assert first.method_used_ == "fft"


def test_a_divergence_beyond_the_grids_last_look_is_measured_anew(rows):
    model = TSNE(**(SETTINGS | {"max_iter": 60})).fit(torch.asarray(rows))
    affinities = join_affinities(rows, 10.0)
    assert model.kl_divergence_ == pytest.approx(measure_divergence(affinities, model.embedding_).value, rel=1e-3)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"metric": "cosine"}, UnsupportedError, "metric='euclidean'"),
        ({"n_components": 3, "method": "auto"}, UnsupportedError, "n_components=3"),
        ({"perplexity": 300}, ValueError, "must be less than n_samples"),
        ({"method": "barnes_hut"}, UnsupportedError, "Set method='auto'"),
    ],
)
def test_what_a_device_cannot_do_is_said_in_a_sentence(rows, settings, error, message):
    with pytest.raises(error, match=message):
        TSNE(**(SETTINGS | settings)).fit(torch.asarray(rows))

"""Rows on a device: blocks and verbs in array operations, in any library, with sums and few rows coming home."""

from dataclasses import dataclass
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch
from array_api_compat import array_namespace

from mercer._solver.centres.assignment import Assignment, Farthest
from mercer._solver.centres.centres import Centres
from mercer._solver.centres.row_draw import Race, RowDraw, WeightedRows
from mercer._source import ArraySource, open_place, place_of
from mercer._source.block import DenseBlock, rows_per_block
from mercer._source.device.source import DeviceSource, open_device, rows_per_device_block
from mercer._source.device.torch_block import TorchBlock
from mercer._source.groups import Groups
from mercer._source.namespace import to_numpy
from mercer._source.placement import HOST, Placement
from mercer._statistic import Moments, Statistic
from mercer._statistic.extent import Extent
from mercer._statistic.labels import Labels, Rows
from mercer._statistic.products import Residual
from mercer._statistic.triangle import Triangle
from mercer.errors import DataError

NARROW = array_api_strict.Device("no_float64")
PLACES = {
    "torch": lambda array: torch.asarray(np.array(array)),
    "strict": lambda array: array_api_strict.asarray(array, device=array_api_strict.Device("device1")),
}


def data(n=700, d=6, dtype=np.float64, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, d)).astype(dtype), random.normal(size=n), random.random(n)


def opened(put, X, y=None, weight=None, rows=None, **options):
    options = {"subject": "Test", "targets": None if y is None else "numbers"} | options
    source = open_device(put(X), *(None if one is None else put(one) for one in (y, weight)), **options)
    source.block_rows = source.block_rows if rows is None else rows
    return source


def assert_alike(found, expected, rtol=1e-10):
    """All fields of two records agree."""
    if isinstance(expected, float | int | np.ndarray):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-9)
        return
    for name in vars(found):
        if getattr(expected, name) is not None:
            assert_alike(getattr(found, name), getattr(expected, name), rtol)


@pytest.mark.parametrize("library", PLACES)
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (1000, 4), (5000, 700), (40_000, 3), (50, 200)])
def test_groups_sum_the_rows_of_each_label(library, shape):
    n, k = shape
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3)).astype(np.float32)
    for labels in (random.integers(0, k, n), np.zeros(n, int), np.full(n, k - 1)):
        expected = np.zeros((k, 3))
        np.add.at(expected, labels, X.astype(np.float64))
        rows = PLACES[library](X)
        xp = array_namespace(rows)
        groups = Groups(PLACES[library](labels), k, xp, rows.device)
        np.testing.assert_allclose(to_numpy(groups.sums(rows, xp.float64)), expected, atol=1e-11)
        np.testing.assert_allclose(to_numpy(groups.sums(rows[:, 0], xp.float64)), expected[:, 0], atol=1e-11)
        np.testing.assert_array_equal(to_numpy(groups.counts(xp.float64)), np.bincount(labels, minlength=k))


def test_a_row_alone_with_its_label_is_summed_exactly():
    X = torch.asarray(np.random.default_rng(0).normal(size=(100, 3)))
    groups = Groups(torch.arange(100), 100, array_namespace(X), X.device)
    assert torch.equal(groups.sums(X, torch.float64), X)


@pytest.mark.parametrize("kind", [DenseBlock, TorchBlock])
def test_least_scores_are_those_of_all_scores_at_once_in_any_tiles(kind, monkeypatch):
    X, directions, offset = (torch.randn(shape, dtype=torch.float64) for shape in ((300, 4), (7, 4), (7,)))
    shift = directions.mean(0)
    block = kind(X, 0, xp=array_namespace(X))
    expected = torch.argmin(offset - (X - shift) @ directions.T, dim=1)
    for size in (2**26, 7 * 13, 1):
        monkeypatch.setattr(kind, "tile_size", size)
        assert torch.equal(block.least(directions, offset, shift), expected)


def test_among_equal_scores_the_lowest_label_wins():
    X = torch.zeros((5, 2), dtype=torch.float32)
    centres = Centres(torch.asarray([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]))
    assert centres.search_by_array(TorchBlock(X, 0, xp=array_namespace(X)))[0].tolist() == [0] * 5


@pytest.mark.parametrize("library", PLACES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_statistics_agree_with_memory_over_several_blocks(library, weighted, dtype):
    X, y, weight = data(dtype=dtype)
    weight = weight if weighted else None
    memory = ArraySource(X, y, weight)
    there = opened(PLACES[library], X, y, weight, rows=128)
    centres = Centres(X[:9].copy())
    statistics = [Moments(), Moments(diagonal=True), Moments(centre=False), Rows(), Extent(), Assignment(centres)]
    statistics += [Residual(np.ones((6, 1)), X.mean(axis=0), np.zeros(1)), Farthest(centres, 5)]
    for statistic in statistics:
        assert_alike(there.reduce(statistic), memory.reduce(statistic), 1e-5 if dtype == np.float32 else 1e-10)
    triangle = there.reduce(Triangle()).factor
    expected = memory.reduce(Triangle()).factor
    np.testing.assert_allclose(triangle.T @ triangle, expected.T @ expected, rtol=1e-9, atol=1e-9)
    assert there.total_weight() == pytest.approx(memory.total_weight())


@pytest.mark.parametrize("library", PLACES)
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_are_counted_where_they_are(library, weighted):
    X, _, weight = data()
    y = np.random.default_rng(1).integers(-2, 5, len(X))
    there = opened(PLACES[library], X, y, weight if weighted else None, rows=128, targets="labels")
    counts = there.reduce(Labels())
    np.testing.assert_array_equal(counts.classes, np.unique(y))
    expected = np.bincount(y + 2, weight if weighted else None)
    np.testing.assert_allclose(counts.weights, expected)


@pytest.mark.parametrize("library", PLACES)
def test_what_is_drawn_is_drawn_as_in_memory(library):
    X, _, weight = data(40_000, 8)
    memory, there = ArraySource(X, weight=weight), opened(PLACES[library], X, weight=weight)
    assert there.n_blocks == 1
    assert memory.n_blocks > 1
    drawn = [source.reduce(Race((1, 2, 3, 4), 20)).numbers for source in (memory, there)]
    np.testing.assert_array_equal(*drawn)
    places = np.random.default_rng(0).random(50)
    for request in (WeightedRows(places),):
        for found, expected in zip(request.answer(there), request.answer(memory), strict=True):
            np.testing.assert_array_equal(found, expected)
    rows = [RowDraw(source).rows(np.random.default_rng(0), 50) for source in (memory, there)]
    np.testing.assert_array_equal(*rows)


@dataclass(frozen=True)
class Nested:
    """What a statistic may look like to a source."""

    array: Any
    inner: Any
    name: str = "kept"


def test_records_go_there_and_back_with_every_array_in_them():
    source = opened(PLACES["strict"], data()[0])
    thing = Nested(np.arange(3), (np.ones(2, np.float32), Nested(np.zeros(1), 5)))
    sent = source.send(thing)
    assert Placement.of(sent.array) == Placement.of(sent.inner[1].array) == source.placement
    back = source.fetch(sent)
    assert back.array.dtype == thing.array.dtype
    assert back.inner[0].dtype == np.float32
    assert back.name == "kept"
    assert source.send(same := Nested(1, 2)) is same


@pytest.mark.parametrize("library", PLACES)
def test_rows_by_number_come_home_and_tables_stay_there(library):
    X, _, _ = data(dtype=np.float32)
    source = opened(PLACES[library], X)
    taken = source.take([5, 0, 699])
    assert type(taken) is np.ndarray
    np.testing.assert_array_equal(taken, X[[5, 0, 699]])
    np.testing.assert_array_equal(to_numpy(source.part([5, 0]).whole()), X[[5, 0]])
    table = source.row_table(np.inf)
    assert Placement.of(table) == source.placement
    assert table.shape == (700,)
    assert source.host_dtype == np.float32


def test_a_device_without_float64_sums_in_float32_and_sends_float64_home():
    X, y, weight = data(dtype=np.float32)
    narrow = [array_api_strict.asarray(one.astype(np.float32), device=NARROW) for one in (X, y, weight)]
    source = open_device(*narrow, subject="Test", targets="numbers")
    source.block_rows = 256
    assert source.placement.is_narrow
    sums = source.reduce(Moments())
    assert sums.scatter.dtype == np.float64
    np.testing.assert_allclose(sums.scatter, ArraySource(X, y, weight).reduce(Moments()).scatter, rtol=1e-4, atol=1e-3)


def test_device_blocks_are_powers_of_two_and_whole_numbers_of_memory_blocks():
    for width in (1, 3, 16, 100, 128, 1000, 30_000, 10**6):
        rows = rows_per_device_block(width)
        assert rows % rows_per_block(width) == 0
        assert rows & (rows - 1) == 0
        assert rows * width <= max(2**27, 256 * width)


def test_a_setting_that_shortens_the_products_of_torch_does_not_reach_ours():
    seen = []

    class Watch(Statistic):
        def of(self, block):
            seen.append(torch.get_float32_matmul_precision())
            return 0

    torch.set_float32_matmul_precision("medium")
    try:
        opened(PLACES["torch"], data()[0]).reduce(Watch())
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert seen == ["highest"]


def test_other_numbers_are_taken_in_the_nearest_float():
    X = np.arange(12).reshape(6, 2)
    for given, expected in (
        (torch.int64, torch.float64),
        (torch.float16, torch.float32),
        (torch.float32, torch.float32),
    ):
        assert opened(lambda array, kind=given: torch.asarray(array).to(kind), X).dtype == expected


def test_an_array_with_a_gradient_is_read_without_it():
    X = torch.randn((20, 3), requires_grad=True)
    assert not DeviceSource(open_device(X, None, None, subject="Test", targets=None).whole()).X.requires_grad


def test_places_are_named_by_library_and_device():
    X = torch.zeros((2, 2))
    assert place_of(X) == place_of(array_api_strict.ones((2, 2))) == "device"
    assert str(Placement.of(X)) == "cpu (torch)"
    assert Placement.parse("torch:cpu") == Placement.of(X) == Placement.parse(X)
    assert Placement.parse("cpu") == HOST == Placement.parse(np.zeros(1))
    source = open_place("device", X, None, None, subject="Test", targets=None, threads=2)
    assert source.description == "an array on cpu (torch)"


def test_fingerprints_tell_rows_apart_without_bringing_them_home():
    X, _, _ = data()
    one, same, other = (opened(PLACES["torch"], rows).fingerprint() for rows in (X, X, X + 1e-3))
    assert one == same
    assert one != other


X = torch.arange(12.0).reshape(6, 2)
BESIDE = "must be where X is, on cpu (torch); got"
ERRORS = {
    "beside": (X, np.zeros(6), None, f"y {BESIDE} cpu (numpy). Move it there with torch.asarray(y, device='cpu')."),
    "list": (X, [0.0] * 6, None, f"y {BESIDE} a list. Move it there with torch.asarray(y, device='cpu')."),
    "other library": (
        X,
        array_api_strict.zeros(6),
        None,
        f"y {BESIDE} CPU_DEVICE (array_api_strict). Move it there with torch.asarray(y, device='cpu').",
    ),
    "weight": (
        X,
        X[:, 0],
        np.ones(6),
        f"sample_weight {BESIDE} cpu (numpy). Move it there with torch.asarray(sample_weight, device='cpu').",
    ),
    "short": (X, X[:3, 0], None, "y must have one target for each of 6 rows; got the shape (3,). Reshape it."),
    "flat": (
        X[:, 0],
        X[:, 0],
        None,
        "Expected 2D array, got 1D array instead: X must have one row per sample. Reshape your data with "
        "X.reshape(-1, 1) if it has one column, or X.reshape(1, -1) if it is one row.",
    ),
    "NaN": (X / 0, X[:, 0], None, "Input X contains NaN; drop or fill it."),
    "negative": (X, X[:, 0], X[:, 0] - 1, "sample_weight must be non-negative; got -1. Drop the rows to be left out."),
    "no weight": (
        X,
        X[:, 0],
        0.0,
        "sample_weight must have a positive entry; got zeros only. Raise the weight of some rows.",
    ),
    "no rows": (
        X[:0],
        None,
        None,
        "Found array with 0 sample(s) (shape=(0, 2)) while a minimum of 1 is required; add some.",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_what_cannot_be_used_is_refused_by_name_with_a_cure(case):
    X, y, weight, expected = ERRORS[case]
    with pytest.raises(DataError) as caught:
        open_device(X, y, weight, subject="Test", targets=None if y is None else "numbers").take([0])
    assert str(caught.value) == f"Test: {expected}"


@pytest.mark.parametrize(
    "ask", [lambda one: one.reduce(Moments()), lambda one: one.reduce(Rows()), lambda one: one.part([0])]
)
def test_nan_is_found_by_whatever_is_asked_first(ask):
    X = data()[0]
    X[3, 2] = np.nan
    with pytest.raises(DataError, match="Test: Input X contains NaN"):
        ask(opened(PLACES["torch"], X))


def test_numbers_with_a_fraction_are_no_labels():
    with pytest.raises(DataError, match="Unknown label type: continuous"):
        opened(PLACES["torch"], data()[0], data()[1], targets="labels")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the fused search runs on NVIDIA GPUs only")
@pytest.mark.parametrize("shape", [(1, 1, 1), (1000, 7, 3), (5000, 128, 1024), (300, 33, 65), (900, 300, 20)])
def test_the_fused_search_finds_what_array_operations_find(shape):
    from mercer._source.block import DenseBlock
    from mercer._source.device.fused_search import search_nearest

    n, d, k = shape
    X, centres = torch.randn((n, d), device="cuda"), torch.randn((k, d), device="cuda")
    shift = centres.mean(0)
    given = (centres, centres - shift, 0.5 * ((centres - shift) ** 2).sum(1), shift)
    labels, squares = search_nearest(X, *given)
    expected, distances = DenseBlock.nearest(DeviceSource(X).block(0), *given)
    # Rows between two centres may fall to either by rounding, at the same distance.
    assert (labels == expected).double().mean() > 0.999
    torch.testing.assert_close(squares, distances, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("d", [1, 8, 32, 33, 96, 1000])
@pytest.mark.parametrize("k", [1, 8, 64, 65, 2048])
def test_tiles_have_shapes_that_matrix_units_take(d, k):
    from mercer._source.device.fused_search import choose_tiles

    tiles = choose_tiles(d, k)
    assert all(size & (size - 1) == 0 and size >= 16 for size in (tiles.rows, tiles.numbers, tiles.width))
    # Rows that stay in registers must fit in one part.
    assert d > 32 or tiles.width >= d

"""Dask collections without a cluster: what they may be, that sums are those of memory, and what is refused."""

import pickle
import time
import warnings
from itertools import pairwise

import dask
import dask.array as da
import dask.bag
import dask.dataframe
import numpy as np
import pandas
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer._source import Labelling, open_place, open_source, place_of
from mercer._source.block import DenseBlock, rows_per_block
from mercer._source.dask.tasks import PlacedSums
from mercer._source.file import local_table
from mercer._source.file.local_table import LocalTable
from mercer._source.source import SumTree
from mercer._statistic import Moments
from mercer._statistic.labels import Labels
from mercer.cluster import KMeans
from mercer.decomposition import PCA
from mercer.errors import DataError, MemoryForecastError
from mercer.linear_model import LinearRegression, LogisticRegression

D = 100
ROWS = rows_per_block(D)
X = np.random.default_rng(0).normal(size=(5 * ROWS + 77, D)) + 3.0
Y = X[:, 0] + np.random.default_rng(1).normal(size=len(X))
WEIGHT = np.random.default_rng(2).integers(0, 4, size=len(X)).astype(float)
CHUNKS = (2 * ROWS, ROWS, 2 * ROWS, 77)


@pytest.fixture(autouse=True, params=["synchronous", "threads"])
def scheduler(request):
    with dask.config.set(scheduler=request.param):
        yield request.param


def opened(rows, y=None, weight=None, targets=None):
    assert place_of(rows) == "dask"
    return open_place("dask", rows, y, weight, subject="Test", targets=targets, threads=1)


def bits(sums):
    return [np.asarray(part).tobytes() for part in vars(sums).values() if part is not None]


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 60), st.randoms(use_true_random=False))
def test_sums_made_anywhere_and_joined_in_any_grouping_are_those_of_one_tree(n, random):
    tree = SumTree()
    for place in range(n):
        tree.add(f"({place})")
    cuts = [0, *sorted(random.sample(range(1, n), random.randrange(n))), n]
    runs = list(pairwise(cuts))
    random.shuffle(runs)
    parts = []
    for begin, end in runs:
        sums = PlacedSums()
        for place in range(begin, end):
            sums.add(place, 0, f"({place})")
        parts += sums.parts
    joined = PlacedSums()
    for part in sorted(parts):
        joined.add(*part)
    assert joined.total() == tree.total()


def frame():
    table = pandas.DataFrame(X, columns=[f"c{i}" for i in range(D)]).assign(target=Y, heavy=WEIGHT)
    return dask.dataframe.from_pandas(table, npartitions=4)


def blocks():
    cut = np.cumsum((0, *CHUNKS))
    return [(X[a:b], Y[a:b], WEIGHT[a:b]) for a, b in pairwise(cut)]


COLLECTIONS = {
    "array": lambda: (da.from_array(X, chunks=(CHUNKS, D)), da.from_array(Y, chunks=999), WEIGHT),
    "columns in chunks": lambda: (da.from_array(X, chunks=(CHUNKS, 7)), Y, da.from_array(WEIGHT, chunks=CHUNKS)),
    "bag": lambda: (dask.bag.from_sequence(blocks(), npartitions=2), None, None),
    "delayed blocks": lambda: ([dask.delayed(block) for block in blocks()], None, None),
    "delayed rows": lambda: ([dask.delayed(block[0]) for block in blocks()], Y, WEIGHT),
}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_every_collection_gives_the_sums_of_an_array_in_memory(name):
    source = opened(*COLLECTIONS[name](), targets="numbers")
    expected = open_source(X, Y, WEIGHT)
    assert source.n_rows == len(X)
    assert source.n_blocks == expected.n_blocks
    assert bits(source.reduce(Moments())) == bits(expected.reduce(Moments()))
    assert source.total_weight() == WEIGHT.sum()
    assert source.fingerprint() == expected.fingerprint()


def test_a_dataframe_gives_targets_and_weights_by_name_and_as_series():
    table = frame()
    rows = table[[f"c{i}" for i in range(D)]]
    for source in (
        opened(table, "target", "heavy", targets="numbers"),
        opened(rows, table["target"], table["heavy"], targets="numbers"),
    ):
        sums, expected = source.reduce(Moments()), open_source(X, Y, WEIGHT).reduce(Moments())
        np.testing.assert_allclose(sums.scatter, expected.scatter, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(sums.cross, expected.cross, rtol=1e-9, atol=1e-9)
        assert source.feature_names == [f"c{i}" for i in range(D)]


def test_odd_chunks_are_summed_in_an_order_of_their_own_that_is_fixed():
    lengths = (1000, 0, 2000, len(X) - 3000)
    collection = da.from_array(X, chunks=(lengths, D))
    first, second = (opened(collection).reduce(Moments()) for _ in range(2))
    assert bits(first) == bits(second)
    np.testing.assert_allclose(first.scatter, open_source(X).reduce(Moments()).scatter, rtol=1e-12, atol=1e-9)
    source = opened(collection)
    starts = [source.bounds(number)[0] for number in range(source.n_blocks)]
    assert source.numbers_of(np.array(starts)).tolist() == list(range(source.n_blocks))


def test_sparse_chunks_stay_sparse_and_give_the_sums_of_a_sparse_array():
    sparse = scipy.sparse.csr_array(np.where(X > 5.0, X, 0.0))
    rows = open_source(sparse).block_rows
    cuts = [0, rows, len(X)]
    parts = [dask.delayed(sparse[a:b]) for a, b in pairwise(cuts)]
    source = opened(parts)
    assert source.is_sparse
    assert bits(source.reduce(Moments())) == bits(open_source(sparse).reduce(Moments()))
    assert scipy.sparse.issparse(source.whole())
    assert np.array_equal(source.take([len(X) - 1, 5]), sparse[[len(X) - 1, 5]].toarray())


def test_rows_are_reached_by_number_across_chunks():
    source = opened(da.from_array(X, chunks=(CHUNKS, D)))
    chosen = np.random.default_rng(3).permutation(len(X))[:50]
    assert np.array_equal(source.take(chosen), X[chosen])
    span = slice(2 * ROWS - 5, 3 * ROWS + 5)
    assert np.array_equal(source.on_rows(span.start, span.stop, Whole()), X[span])
    assert np.array_equal(source.block(3).X, X[3 * ROWS : 4 * ROWS])
    assert np.array_equal(source.whole(), X)


class Whole:
    def __call__(self, block):
        return block.X


def test_labels_are_turned_where_they_are():
    labels = np.array(["ash", "birch", "cedar"])[np.random.default_rng(3).integers(3, size=len(X))]
    source = opened(da.from_array(X, chunks=(CHUNKS, D)), labels, targets="labels")
    counts = source.reduce(Labels())
    assert counts.classes.tolist() == ["ash", "birch", "cedar"]
    turned = source.relabel(Labelling(counts.classes, np.array([1.0, 2.0, 0.0])))
    assert turned.total_weight() == np.array([1.0, 2.0, 0.0])[np.searchsorted(counts.classes, labels)].sum()


def test_values_per_row_are_lazy_with_the_chunks_and_types_of_the_answer():
    collection = da.from_array(X.astype(np.float32), chunks=((1000, 0, len(X) - 1000), 7))
    one, two = opened(collection).map(Pair())
    assert (one.chunks, one.dtype) == ((collection.chunks[0],), np.float64)
    assert (two.chunks, two.dtype) == ((collection.chunks[0], (2,)), np.float32)
    assert np.array_equal(two.compute(), X.astype(np.float32)[:, :2])
    assert one.compute().shape == (len(X),)


class Pair:
    def __call__(self, block):
        return block.sum_squares(), block.X[:, :2]


def test_predictions_do_not_see_a_later_fit():
    collection = da.from_array(X, chunks=(CHUNKS, D))
    model = PCA(2).fit(X)
    now, later = model.transform(X), model.transform(collection)
    model.fit(X[:500] ** 2)
    assert np.array_equal(later.compute(), now)


def test_a_local_table_knows_blocks_again_within_its_bound(monkeypatch):
    block, table = DenseBlock(X[:10], 0), LocalTable(((np.inf, "float64"), (0, "int32")))
    table.entry(block).stamp = 3
    assert pickle.loads(pickle.dumps(table)).entry(block).stamp == 3
    assert local_table.count_kept_bytes() == 120
    monkeypatch.setattr(local_table, "_MOST_BYTES", 130)
    assert table.entry(DenseBlock(X[10:20], 10)).stamp == 0
    assert local_table.count_kept_bytes() == 120
    other = LocalTable(((0.0, "float64"),))
    other.entry(block)
    assert local_table.count_kept_bytes() == 80
    local_table.forget(other.token)
    assert local_table.count_kept_bytes() == 0


def test_tables_are_dropped_when_a_fit_ends():
    KMeans(3, random_state=0, max_iter=3, tol=1.0).fit(da.from_array(X, chunks=(CHUNKS, D)))
    assert local_table.count_kept_bytes() == 0


def test_nan_is_refused_with_the_chunk_and_the_rows_in_the_first_pass():
    broken = X.copy()
    broken[3 * ROWS + 3, 1] = np.nan
    collection = da.from_array(broken, chunks=(CHUNKS, D))
    message = rf"PCA: Input X contains NaN; it is in column 1, row {3 * ROWS + 3}, in chunk 2 of the Dask array"
    with pytest.raises(DataError, match=message):
        PCA(2).fit(collection)
    with pytest.raises(DataError, match="chunk 2 of the Dask array"):
        PCA(2).fit(X).transform(collection).compute()


def unknown():
    array = da.from_array(X, chunks=(CHUNKS, D))
    return array[array[:, 0] > 3.0]


ARRAY = da.from_array(X, chunks=(CHUNKS, D))
REFUSED = {
    "unknown sizes": (lambda: (unknown(), Y), r"Call X\.compute_chunk_sizes\(\)"),
    "unknown sizes of y": (lambda: (ARRAY, unknown()[:, 0]), r"Call y\.compute_chunk_sizes\(\)"),
    "three dimensions": (lambda: (da.zeros((4, 4, 4)), Y), r"must be a matrix .*; got 3 dimension"),
    "no targets": (lambda: (ARRAY, None), r"requires y to be passed"),
    "other length": (lambda: (ARRAY, Y[:-1]), rf"has {len(X)} rows and y {len(X) - 1}; give one value per row"),
    "a column of an array": (lambda: (ARRAY, "price"), r"y='price' names a column"),
    "a missing column": (lambda: (frame(), "price"), r"has no column 'price'; its columns are c0"),
    "words": (lambda: (frame().assign(word="oak"), "target"), r"'word' does not. Encode it"),
    "complex numbers": (lambda: (ARRAY * 1j, Y), r"must hold numbers; got complex128"),
    "no rows": (lambda: (ARRAY[:0], Y[:0]), r"has no rows; got 0 sample"),
    "other columns": (lambda: ([dask.delayed(X), dask.delayed(X[:, 1:])], Y), r"chunk 1 of the list of 2 blocks"),
    "no matrix": (lambda: ([dask.delayed(X), dask.delayed(3)], Y), r"chunk 1 .* must be a matrix .*; got int"),
    "another type": (lambda: (wrong_type(), Y), r"chunk 0 .* is float32, those before are float64; cast it"),
    "no weight": (lambda: (ARRAY, Y, 0 * WEIGHT), r"sample_weight must have a positive entry; got zeros only"),
    "negative weights": (lambda: (ARRAY, Y, -WEIGHT), r"sample_weight must be finite and non-negative"),
    "targets twice": (lambda: ([dask.delayed((X, Y))], Y), r"y must come with the blocks or beside them"),
}


def wrong_type():
    return da.from_delayed(dask.delayed(X.astype(np.float32)), X.shape, dtype=np.float64)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused_with_a_cure(name):
    given_input, message = REFUSED[name]
    with pytest.raises(DataError, match=message):
        LinearRegression().fit(*given_input())


def test_bringing_all_rows_home_asks_the_memory_forecast(scheduler):
    import mercer

    source = opened(da.zeros((10_000_000, 100)))
    with (
        mercer.config_context(max_memory=10**8),
        pytest.raises(MemoryForecastError, match="all rows of the Dask array"),
    ):
        source.whole()


def test_a_solver_that_needs_all_rows_refuses():
    with pytest.raises(DataError, match=r"solver='saga' needs all rows in memory; got the Dask array"):
        LogisticRegression(solver="saga").fit(da.from_array(X, chunks=(CHUNKS, D)), Y > 3)


def counted_frame(folder, n_parts=4):
    """A dataframe whose partitions leave a mark each time that they are read."""

    def read(number):
        (folder / f"{number}-{time.monotonic_ns()}").touch()
        rng = np.random.default_rng(number)
        columns = {name: rng.normal(size=500) for name in "abc"} | {"flag": rng.random(500) < 0.5}
        return pandas.DataFrame(columns).assign(price=np.arange(500.0))

    frame = dask.dataframe.from_map(read, range(n_parts), meta=read(0).iloc[:0])
    for mark in folder.iterdir():
        mark.unlink()
    return frame


def few_steps(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KMeans(3, n_init=1, max_iter=4, tol=0, random_state=0).fit(frame)


def test_a_fit_reads_each_partition_once_and_keeps_what_it_converts(tmp_path):
    model = few_steps(counted_frame(tmp_path))
    # The first partition is read once more, to forecast the size of all.
    assert sorted(mark.name[0] for mark in tmp_path.iterdir()) == ["0", "0", "1", "2", "3"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "flag", "price"]


def test_rows_that_do_not_fit_into_the_share_are_read_in_every_pass(tmp_path):
    frame = counted_frame(tmp_path)
    with mercer.config_context(max_memory=100_000):
        found = few_steps(frame)
    assert len(list(tmp_path.iterdir())) > 16
    assert found.cluster_centers_.tobytes() == few_steps(frame).cluster_centers_.tobytes()

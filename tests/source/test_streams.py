"""Iterables and functions that give blocks: one pass where one is enough, and a sentence for every bad block."""

import threading
import time
import warnings

import numpy as np
import pandas
import pyarrow
import pytest
import scipy.sparse

from mercer._source.file.block_stream import BlockStream
from mercer._source.file.read_ahead import ReadAhead
from mercer._statistic import Moments
from mercer.cluster import KMeans, MiniBatchKMeans
from mercer.decomposition import PCA, IncrementalPCA
from mercer.errors import DataError
from mercer.linear_model import LinearRegression, LogisticRegression, Ridge

X = np.random.default_rng(0).normal(size=(5000, 64))
Y = X[:, 0] + np.random.default_rng(1).normal(size=5000)
W = np.random.default_rng(2).random(5000)
ENDS = [0, 1, 1900, 1901, 4100, 5000]
CUTS = [slice(start, stop) for start, stop in zip(ENDS[:-1], ENDS[1:], strict=True)]  # noqa: RUF007


def opened(blocks, targets=None, threads=2):
    return BlockStream(blocks, subject="Ridge", targets=targets, threads=threads)


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "mercer-read-ahead"]


class Passes:
    """A function that gives blocks, and counts how often it was asked and how many were taken and closed."""

    def __init__(self, *columns):
        self.columns = columns
        self.asked = self.taken = self.closed = 0

    def __call__(self):
        self.asked += 1
        try:
            for cut in CUTS:
                self.taken += 1
                yield tuple(column[cut] for column in self.columns)
        finally:
            self.closed += 1


# Truth


def test_blocks_are_those_of_the_array_whatever_the_pieces():
    source = opened([(X[cut], Y[cut], W[cut]) for cut in CUTS], "numbers")
    blocks: list = []
    source.each(lambda block: block, blocks.append)
    assert [block.n for block in blocks] == [2048, 2048, 904]
    assert np.array_equal(np.concatenate([block.X for block in blocks]), X)
    assert np.array_equal(np.concatenate([block.y for block in blocks]), Y)
    assert np.array_equal(np.concatenate([block.weight for block in blocks]), W)
    assert np.array_equal(source.take([4999, 0, 2048]), X[[4999, 0, 2048]])
    assert np.array_equal(source.on_rows(2000, 2100, lambda block: block.X), X[2000:2100])
    assert np.array_equal(source.whole(), X)
    source.release()


@pytest.mark.parametrize(
    "frame",
    [
        lambda rows: pandas.DataFrame(rows, columns=list("abc")),
        lambda rows: pytest.importorskip("polars").DataFrame(rows, schema=list("abc")),
        lambda rows: pyarrow.table(dict(zip("abc", rows.T, strict=True))),
        lambda rows: pyarrow.record_batch(dict(zip("abc", rows.T, strict=True))),
    ],
    ids=["pandas", "polars", "Arrow table", "record batch"],
)
def test_frames_are_blocks_and_bring_their_names(frame):
    model = Ridge().fit([(frame(X[cut, :3]), Y[cut]) for cut in CUTS])
    assert np.array_equal(model.coef_, Ridge().fit(X[:, :3], Y).coef_)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(DataError, match="feature names should match those that were passed during fit"):
        model.predict([pandas.DataFrame(X[:, :3], columns=["b", "a", "c"])])


def test_sparse_blocks_stay_sparse():
    rows = scipy.sparse.random(5000, 30, 0.1, "csr", random_state=0)
    model = Ridge().fit([(rows[cut], Y[cut]) for cut in CUTS])
    np.testing.assert_allclose(model.coef_, Ridge().fit(rows, Y).coef_, rtol=1e-9)
    with pytest.raises(DataError, match="Sparse data was passed, but dense data is required"):
        PCA(2, svd_solver="full").fit([rows[cut] for cut in CUTS])


# Passes


# IncrementalPCA takes no weights.
@pytest.mark.parametrize(
    ("model", "weighted"),
    [
        *((Ridge(), weighted) for weighted in (False, True)),
        *((PCA(3, svd_solver="covariance_eigh"), weighted) for weighted in (False, True)),
        (IncrementalPCA(3), False),
    ],
    ids=repr,
)
def test_one_pass_is_one_pass(model, weighted):
    supervised = isinstance(model, Ridge)
    columns = [X, Y if supervised else np.zeros(5000), *([W] if weighted else [])]
    function = Passes(*columns)
    expected = model.fit(X, *([Y] if supervised else []), **({"sample_weight": W} if weighted else {}))
    expected = np.array(expected.coef_ if supervised else expected.components_)
    found = model.fit(function)
    assert (function.asked, function.taken, function.closed) == (1, len(CUTS), 1)
    assert np.array_equal(found.coef_ if supervised else found.components_, expected)
    once = model.fit(Passes(*columns)())
    assert np.array_equal(once.coef_ if supervised else once.components_, expected)


def test_batches_of_a_stream_of_unknown_length_are_those_of_the_array():
    for size, count in ((300, 3), (333, 20), (5000, 2), (499, 9), (4999, 4)):
        model = IncrementalPCA(count, batch_size=size)
        expected = model.fit(X).components_
        found = model.fit(X[cut] for cut in CUTS)
        assert np.array_equal(found.components_, expected)
        assert found.n_samples_seen_ == 5000


def test_many_passes_ask_anew_each_time_and_close_each_iterator():
    function = Passes(X)
    KMeans(3, n_init=1, random_state=0).fit(function)
    assert function.asked > 3
    assert function.closed == function.asked


def test_what_can_be_read_once_is_refused_by_name_for_more():
    with pytest.raises(DataError, match=r"KMeans: the blocks of a generator can be read only once and a further pass"):
        KMeans(2, n_init=1).fit(X[cut] for cut in CUTS)
    with pytest.raises(DataError, match="can be read only once"):
        LinearRegression().fit(Passes(X, Y)())


def test_weights_summed_in_passing_spare_a_pass():
    source = opened([(X[cut], Y[cut], W[cut]) for cut in CUTS], "numbers")
    source.reduce(Moments())
    assert source.total_weight() == pytest.approx(W.sum())
    assert source._known["passes"] == 1


# Edges


def test_empty_blocks_are_passed_over():
    blocks = [X[:0], X[:100], X[:0], X[100:]]
    assert np.array_equal(PCA(2).fit(blocks).components_, PCA(2).fit(X).components_)


def test_an_error_of_the_users_own_passes_through_unchanged():
    problem = OSError("the disk is gone")

    def blocks():
        yield X[:3000], Y[:3000]
        raise problem

    model = Ridge()
    with pytest.raises(OSError, match="the disk is gone") as caught:
        model.fit(blocks)
    assert caught.value is problem
    assert not hasattr(model, "n_features_in_")
    assert readers() == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_early_end_leaves_no_thread_and_closes_the_generator(error):
    function = Passes(*[np.repeat(X, 10, axis=0)] * 2)
    source = opened(function)

    def fail(block):
        raise error

    with pytest.raises(error):
        source.each(fail)
    assert readers() == []
    assert function.closed == 1


def test_a_batch_that_fails_leaves_no_thread():
    with pytest.raises(DataError, match="n_components=70 invalid"):
        IncrementalPCA(70).fit(X[cut] for cut in CUTS)
    bad = [X[:2000], np.full((100, 64), np.nan), X[2000:]]
    with pytest.raises(DataError, match=r"NaN; it is in column 0, row 2000 of the blocks of a list"):
        IncrementalPCA(3).fit(bad)
    model = MiniBatchKMeans(3, random_state=0, max_iter=2, batch_size=500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit([X[cut] for cut in CUTS])
    assert readers() == []


def test_reading_ahead_overlaps_with_work_and_stays_a_few_items_ahead():
    made = []

    def items():
        for number in range(20):
            made.append(number)
            yield number

    ahead = ReadAhead(items(), ahead=3)
    assert next(ahead) == 0
    deadline = time.monotonic() + 60
    while len(made) < 5 and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.02)
    assert made == [0, 1, 2, 3, 4]
    ahead.close()
    assert list(ahead) == []
    assert not ahead.thread.is_alive()


# Errors


def second(X=None, y=None, weight=None):
    """Two blocks; what is given replaces parts of the second."""
    return [(globals()["X"][:9], Y[:9], W[:9]), (X, y, weight)]


GOOD = X[9:12], Y[9:12], W[9:12]


@pytest.mark.parametrize(
    ("blocks", "sentence"),
    [
        ([], "yielded nothing"),
        (lambda: iter([]), r"the blocks of <lambda>\(\) yielded nothing"),
        (lambda: 5, "must be iterable; got int. Return a fresh iterator"),
        ([(X[:0], Y[:0])], r"has no rows; got 0 sample\(s\)"),
        ([X], "requires y to be passed.*block 0 of the blocks of a list has none"),
        (second(X[9:12, :5], *GOOD[1:]), "block 1 of the blocks of a list has 5 columns, those before have 64"),
        (second(GOOD[0].astype("f4"), *GOOD[1:]), "block 1 .* is float32, those before are float64; cast it"),
        (second(GOOD[0].astype(int), *GOOD[1:]), "block 1 .* is int64, those before are float64"),
        (second(scipy.sparse.csr_array(GOOD[0]), *GOOD[1:]), "is sparse float64, those before are dense float64"),
        (second(*GOOD[:2]), "block 1 .* has no weights, unlike those before"),
        (second(GOOD[0], None, GOOD[2]), "block 1 .* has 3 rows and no targets"),
        (second(GOOD[0], Y[:2], GOOD[2]), "block 1 .* has 3 rows and 2 targets"),
        (second(GOOD[0], [[1, 2], [3], [4]], GOOD[2]), "the targets of block 1 .* are no array"),
        (second(GOOD[0], Y[:6].reshape(3, 2), GOOD[2]), r"targets of shape \(2,\) per row, those before had \(\)"),
        (second(GOOD[0], [1.0, np.nan, 2.0], GOOD[2]), "Input y contains NaN, in block 1"),
        (second(GOOD[0], ["a", "b", "c"], GOOD[2]), "must have numbers for targets; got <U1"),
        (second(GOOD[0], GOOD[1], -GOOD[2]), "finite and non-negative; it is not in block 1"),
        (second(GOOD[0], GOOD[1], W[:5]), r"3 rows and weights of shape \(5,\)"),
        (second(X[9], *GOOD[1:]), r"block 1 .* got 1 dimension\(s\)"),
        ([(X, Y, np.zeros(5000))], "must have a positive entry; got zeros only"),
        ([(X, Y, W, W)], "block 0 .* is a tuple of 4"),
        ([(X.astype(str), Y)], "must hold numbers; got <U"),
        ([(np.where(X[17, 3] == X, np.nan, X), Y)], "NaN; it is in column 3, row 17 of the blocks of a list"),
    ],
)
def test_bad_blocks_are_refused_and_named(blocks, sentence):
    model = Ridge()
    with pytest.raises(DataError, match=sentence):
        # A list without blocks is an empty array to scikit-learn; the function shows what a stream says.
        model.fit(blocks if blocks != [] else (block for block in []))
    assert not hasattr(model, "coef_")
    assert readers() == []


def test_labels_must_be_labels_of_one_kind():
    names = np.where(Y > 0, "up", "down")
    with pytest.raises(DataError, match="Unknown label type: continuous, in block 0"):
        LogisticRegression().fit([(X, Y)])
    with pytest.raises(DataError, match=r"block 1 .* has numbers for labels, those before are text"):
        LogisticRegression().fit([(X[:9], names[:9]), (X[9:], Y[9:] > 0)])
    with pytest.raises(DataError, match=r"block 0 .* has labels of shape \(9, 2\)"):
        LogisticRegression().fit([(X[:9], np.zeros((9, 2)))])


def test_targets_beside_the_blocks_are_refused():
    with pytest.raises(DataError, match="y must come with the blocks; got it beside them"):
        Ridge().fit([X], Y)


def test_frames_with_other_columns_are_refused():
    frames = [pandas.DataFrame(X[:9, :2], columns=["a", "b"]), pandas.DataFrame(X[9:12, :2], columns=["b", "a"])]
    with pytest.raises(DataError, match="block 1 of the blocks of a list has columns b, a, those before a, b"):
        PCA(1).fit(frames)


def test_a_function_that_gives_one_iterator_twice_is_found_out():
    iterator = iter([X[cut] for cut in CUTS])
    with pytest.raises(DataError, match=r"<lambda>\(\) gave the same iterator twice.*return a fresh iterator"):
        KMeans(2, n_init=1).fit(lambda: iterator)


def test_passes_of_different_lengths_are_found_out():
    lengths = iter([5000, 4000])
    with pytest.raises(DataError, match="changed while it was read: 5000 rows before, 4000 now"):
        KMeans(2, n_init=1).fit(lambda: [X[: next(lengths)]])

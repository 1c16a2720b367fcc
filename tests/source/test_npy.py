"""Rows in .npy files: the bits of the array, a few blocks of memory, and a sentence for every broken file."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import mercer
from mercer._source import ArraySource, Labelling
from mercer._source.file.npy_file import NpyFile
from mercer._source.file.npy_source import NpySource
from mercer._statistic import Moments, Statistic
from mercer._statistic.labels import Labels
from mercer.cluster import KMeans, MiniBatchKMeans
from mercer.decomposition import PCA
from mercer.errors import DataError, MemoryForecastError
from mercer.linear_model import LogisticRegression, Ridge

# 64 columns make blocks of 2048 rows.
X = np.random.default_rng(0).normal(size=(5000, 64))
Y = X[:, 0] + np.random.default_rng(1).normal(size=5000)
OPTIONS = {"subject": "Ridge", "targets": None, "threads": 2}


def save(folder, array, name="rows.npy"):
    np.save(folder / name, array)
    return folder / name


def opened(folder, array=X, y=None, weight=None, **options):
    return NpySource(save(folder, array), y, weight, **{**OPTIONS, **options})


# Truth


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", "<f4", ">f8", ">f4", "<f2", "i8", "u1", "?"])
def test_every_type_and_order_is_read_as_numpy_reads_it(tmp_path, dtype, order):
    array = np.asarray(X * 3, dtype=dtype, order=order)
    source = opened(tmp_path, array)
    blocks = [source.block(number) for number in range(source.n_blocks)]
    assert [block.n for block in blocks] == [2048, 2048, 904]
    assert source.dtype == (np.float32 if dtype == "<f4" else np.float64)
    assert all(block.X.dtype == source.dtype and block.X.flags.c_contiguous for block in blocks)
    assert np.array_equal(np.concatenate([block.X for block in blocks]), array.astype(source.dtype))


def test_every_verb_agrees_with_the_array(tmp_path):
    weight = np.random.default_rng(2).random(5000)
    source, array = opened(tmp_path, X, Y, weight, targets="numbers"), ArraySource(X, Y, weight)
    ours, theirs = source.reduce(Moments()), array.reduce(Moments())
    assert np.array_equal(ours.scatter, theirs.scatter)
    assert np.array_equal(ours.cross, theirs.cross)
    assert np.array_equal(source.map(lambda block: block.sum_squares()), (array.map(lambda b: b.sum_squares())))
    assert np.array_equal(source.take([4999, 0, 17, 17, 1]), X[[4999, 0, 17, 17, 1]])
    assert np.array_equal(source.part([3, 4, 5, 2000]).X, X[[3, 4, 5, 2000]])
    assert np.array_equal(source.on_rows(2000, 2100, lambda block: block.X), X[2000:2100])
    assert np.array_equal(source.whole(), X)
    assert np.array_equal(source.row_weights(), weight)
    assert source.total_weight() == array.total_weight()
    assert source.available(4990, 64) == 10


@pytest.mark.parametrize("threads", [1, 3])
def test_runs_of_blocks_sum_along_the_tree_of_the_array(tmp_path, threads):
    rows = np.random.default_rng(2).normal(size=(40_000, 64))
    source = opened(tmp_path, rows, threads=threads)
    lengths = []
    read = source.file.read
    source.file.read = lambda start, stop, where="": lengths.append(stop - start) or read(start, stop, where)
    found = source.reduce(Moments())
    assert max(lengths) == (4096 if threads == 1 else 2048)
    assert np.array_equal(found.scatter, ArraySource(rows).reduce(Moments()).scatter)


def test_targets_and_weights_may_be_arrays_files_or_one_number(tmp_path):
    path, weight = save(tmp_path, X), np.random.default_rng(2).random(5000)
    files = save(tmp_path, Y, "y.npy"), save(tmp_path, weight, "w.npy")
    expected = Ridge().fit(X, Y, sample_weight=weight)
    for y, w in ((Y, weight), files, (str(files[0]), weight), (Y.tolist(), files[1])):
        assert np.array_equal(Ridge().fit(path, y, sample_weight=w).coef_, expected.coef_)
    assert np.array_equal(Ridge().fit(path, Y, sample_weight=2.0).coef_, Ridge().fit(X, Y, sample_weight=2.0).coef_)
    several = np.stack([Y, -Y, X[:, 3]], axis=1)
    wide = Ridge().fit(path, save(tmp_path, several, "several.npy"))
    assert np.array_equal(wide.coef_, Ridge().fit(X, several).coef_)


def test_labels_may_be_text_and_are_told_without_reading_the_rows(tmp_path):
    labels = np.array(["ash", "birch", "cedar"])[np.random.default_rng(2).integers(3, size=5000)]
    path, y = save(tmp_path, X), save(tmp_path, labels, "y.npy")
    model = LogisticRegression(class_weight="balanced").fit(path, y)
    assert model.classes_.tolist() == ["ash", "birch", "cedar"]
    assert np.array_equal(model.coef_, LogisticRegression(class_weight="balanced").fit(X, labels).coef_)
    source = NpySource(path, y, **OPTIONS | {"targets": "labels"})
    source.file.read = None
    counts = source.reduce(Labels())
    assert counts.n_rows == 5000
    assert counts.weights.tolist() == [np.count_nonzero(labels == name) for name in ("ash", "birch", "cedar")]


def test_mini_batches_are_drawn_by_weight_as_in_memory(tmp_path):
    weight = np.where(np.arange(5000) < 100, 1.0, 0.0)
    path = save(tmp_path, X)
    given = {"sample_weight": save(tmp_path, weight, "w.npy")}
    model = MiniBatchKMeans(3, random_state=0, max_iter=3, compute_labels=False)
    centres = model.fit(path, **given).cluster_centers_
    assert np.array_equal(centres, model.fit(X, sample_weight=weight).cluster_centers_)


# Places


def test_a_source_survives_pickling_and_reads_the_file_again(tmp_path):
    source = opened(tmp_path, X, Y, targets="numbers").relabel(Labelling(np.array([0.0, 1.0])))
    source.labelling = None
    copy = pickle.loads(pickle.dumps(source))
    assert np.array_equal(copy.block(2).X, X[4096:])
    assert np.array_equal(copy.block(2).y, Y[4096:])


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are listed on Linux only")
def test_the_file_is_closed_with_its_source(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    source = opened(tmp_path, X, save(tmp_path, Y, "y.npy"), targets="numbers")
    assert len(os.listdir("/proc/self/fd")) == before + 2
    del source
    assert len(os.listdir("/proc/self/fd")) == before


def test_without_positioned_reads_a_lock_keeps_threads_apart(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "preadv", raising=False)
    source = opened(tmp_path, threads=4)
    for _ in range(5):
        assert np.array_equal(source.map(lambda block: block.X), X)


def test_the_memory_taken_does_not_grow_with_the_file(tmp_path):
    """A sparse file of 512 MiB is read in a process that may grow by an eighth of that."""
    path = tmp_path / "rows.npy"
    with open(path, "wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (2**20, 64)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 2**29)
    script = (
        "import resource, sys, numpy\n"
        "from mercer.decomposition import PCA\n"
        "PCA(2).fit(numpy.random.default_rng(0).normal(size=(5000, 64)))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "PCA(2).fit(sys.argv[1])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True, timeout=300)
    assert int(ran.stdout) * (1 if sys.platform == "darwin" else 1024) < 2**26


def test_all_rows_at_once_go_through_the_forecast(tmp_path):
    source = opened(tmp_path)
    with mercer.config_context(max_memory=2**20), pytest.raises(MemoryForecastError, match=r"the file .*2\.44 MiB"):
        source.whole()


# Edges


def test_rows_that_are_told_to_come_soon_are_the_next_ones(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(NpyFile, "will_need", lambda self, start, stop: asked.append((start, stop)))
    monkeypatch.setattr("mercer._source.file.npy_source._DISK_SPEED", 1e30)
    source = opened(tmp_path, threads=1)
    for _ in range(2):
        source.reduce(Moments())
    assert asked == [(2048, 4096), (4096, 5000)] * 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_found_wherever_they_are_and_named(tmp_path, bad):
    what = "NaN" if np.isnan(bad) else "infinity"
    rows = X.copy()
    rows[4500, 7] = bad
    path = save(tmp_path, rows)
    for model, y in ((Ridge(), Y), (KMeans(2, n_init=1), None), (PCA(2), None), (MiniBatchKMeans(2), None)):
        with pytest.raises(DataError, match=rf"{what}.*column 7, row 4500 of the file"):
            model.fit(path, y)
        assert not hasattr(model, "n_features_in_")


def test_a_later_pass_looks_no_more(tmp_path):
    source = opened(tmp_path)
    source.reduce(Moments())
    assert bytes(source._seen) == b"\1\1\1"


# Errors


class Shrink(Statistic):
    """A pass during which someone makes the file shorter."""

    def __init__(self, path):
        self.path = path

    def of(self, block):
        os.truncate(self.path, os.path.getsize(self.path) - 64 * 8 * 1000)
        return 0.0


def test_a_file_that_shrinks_while_it_is_read_is_an_error_that_names_it_and_the_block(tmp_path):
    source = opened(tmp_path, threads=1)
    with pytest.raises(DataError, match=r"rows\.npy ended before block 1 \(rows 2048 to 4095\).*shrank"):
        source.reduce(Shrink(source.file.path))


def broken(folder, kind):
    path = save(folder, X[:10])
    content = path.read_bytes()
    match kind:
        case "header":
            path.write_bytes(content[:40])
        case "rows":
            path.write_bytes(content[:-8])
        case "text":
            path.write_bytes(b"a,b\n1,2\n")
        case "objects":
            np.save(path, np.array([[{}]], dtype=object), allow_pickle=True)
        case "structure":
            np.save(path, np.zeros(3, dtype=[("a", "f8"), ("b", "f8")]))
        case "vector":
            np.save(path, np.arange(5.0))
        case "empty":
            np.save(path, np.empty((0, 3)))
        case "no columns":
            np.save(path, np.empty((3, 0)))
        case "complex":
            np.save(path, np.zeros((3, 2), complex))
        case "words":
            np.save(path, np.array([["a", "b"]]))
    return path


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("header", r"is not a complete \.npy file"),
        ("rows", r"ended before its last row: 5240 bytes are there and its header promises 5248"),
        ("text", r"is not a complete \.npy file"),
        ("objects", "must hold numbers or text; got Python objects"),
        ("structure", "must hold numbers or text; got structured values"),
        ("vector", r"Expected 2D array, got 1D array instead: .* has shape \(5,\)"),
        ("empty", r"has no rows; got 0 sample\(s\)"),
        ("no columns", r"has 0 feature\(s\)"),
        ("complex", "must hold numbers; got complex128"),
        ("words", "must hold numbers; got <U1"),
    ],
)
def test_broken_files_say_what_is_wrong(tmp_path, kind, sentence):
    with pytest.raises(DataError, match=sentence) as caught:
        PCA(1).fit(broken(tmp_path, kind))
    assert str(caught.value).startswith("PCA: ")


@pytest.mark.parametrize(
    ("y", "weight", "sentence"),
    [
        (None, None, "requires y to be passed"),
        (Y[:-1], None, "rows.npy has 5000 rows and y has 4999"),
        (Y, np.ones(3), "rows.npy has 5000 rows and sample_weight has 3"),
        (Y, np.zeros(5000), "must have a positive entry; got zeros only"),
        (Y, np.where(np.arange(5000) == 4000, -1.0, 1.0), "finite and non-negative; it is not in block 1"),
        (np.where(np.arange(5000) == 2500, np.nan, Y), None, "Input y contains NaN, in block 1"),
        ("sales", None, "y must be an array, the path of a .npy file"),
        ("sales.npy", None, r"the file sales\.npy cannot be opened \(No such file"),
        (np.array(["a"] * 5000), None, "numbers for targets; got <U1"),
    ],
)
def test_targets_and_weights_that_do_not_match_are_refused(tmp_path, y, weight, sentence):
    model = Ridge()
    with pytest.raises(DataError, match=sentence):
        model.fit(save(tmp_path, X), y, sample_weight=weight)
    assert not hasattr(model, "coef_")


def test_paths_that_are_no_files_of_rows_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"PCA: there is no file or folder .*nowhere\.npy"):
        PCA().fit(tmp_path / "nowhere.npy")
    (tmp_path / "rows.xlsx").write_bytes(b"")
    with pytest.raises(DataError, match=r"one of the endings \.npy, \.npz, \.parquet.*got '\.xlsx'"):
        PCA().fit(str(tmp_path / "rows.xlsx"))


def test_a_model_of_other_columns_refuses_the_file(tmp_path):
    model = Ridge().fit(X[:, :3], Y)
    with pytest.raises(DataError, match="X has 64 features, but Ridge is expecting 3 features"):
        model.predict(save(tmp_path, X))

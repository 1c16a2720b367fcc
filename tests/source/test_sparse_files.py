"""Sparse .npz files: the blocks and the bits of the matrix in memory, and a sentence for every broken archive."""

import os
import zipfile

import numpy as np
import pytest
import scipy.sparse

from mercer._source import SparseSource
from mercer._source.file.sparse_file import SparseFile
from mercer._statistic import Moments
from mercer.cluster import KMeans
from mercer.decomposition import PCA
from mercer.errors import DataError
from mercer.linear_model import LogisticRegression, Ridge

X = scipy.sparse.random(9000, 200, 0.2, "csr", random_state=0)
Y = X[:, [0]].toarray().ravel() + np.random.default_rng(0).normal(size=9000)
OPTIONS = {"subject": "Ridge", "targets": None, "threads": 2}


def save(folder, matrix=X, **options):
    scipy.sparse.save_npz(folder / "rows.npz", matrix, **options)
    return folder / "rows.npz"


# Truth


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_blocks_are_those_of_the_matrix_in_memory(tmp_path, compressed, dtype):
    matrix = (X * 10).astype(dtype)
    source = SparseFile(save(tmp_path, matrix, compressed=compressed), **OPTIONS)
    memory = SparseSource(matrix)
    assert (source.n_rows, source.n_features, source.block_rows) == (9000, 200, memory.block_rows)
    assert source.dtype == ("f4" if dtype == "f4" else "f8")
    blocks: list = []
    source.each(lambda block: block, blocks.append)
    assert len(blocks) == memory.n_blocks > 1
    for number, block in enumerate(blocks):
        assert (block.X != memory.block(number).X).nnz == 0
        assert block.start == number * source.block_rows


def test_sums_and_rows_have_the_bits_of_memory(tmp_path):
    source = SparseFile(save(tmp_path), **OPTIONS)
    ours, theirs = source.reduce(Moments()), SparseSource(X).reduce(Moments())
    assert np.array_equal(ours.scatter, theirs.scatter)
    assert np.array_equal(source.take([8999, 3, 4000]), X[[8999, 3, 4000]].toarray())
    assert (source.whole() != X).nnz == 0
    assert source.known_rows == 9000


def test_targets_and_weights_lie_beside_the_file(tmp_path):
    weight = np.random.default_rng(1).random(9000)
    np.save(tmp_path / "y.npy", Y)
    expected = Ridge().fit(X, Y, sample_weight=weight).coef_
    for y in (Y, tmp_path / "y.npy"):
        assert np.array_equal(Ridge().fit(save(tmp_path), y, sample_weight=weight).coef_, expected)
    labels = np.where(Y > 0, "up", "down")
    model = LogisticRegression().fit(save(tmp_path), labels)
    assert np.array_equal(model.coef_, LogisticRegression().fit(X, labels).coef_)
    assert np.array_equal(model.predict(save(tmp_path)), model.predict(X))


# Errors


def broken(folder, kind):
    path = save(folder)
    if kind in ("csc", "coo", "dia"):
        scipy.sparse.save_npz(path, X[:50].asformat(kind))
    elif kind == "dense":
        np.savez(path, rows=np.eye(3))
    elif kind == "empty":
        scipy.sparse.save_npz(path, X[:0])
    elif kind == "no archive":
        path.write_bytes(b"PK\3\4 and no more")
    else:
        parts = {name: getattr(X, name).copy() for name in ("data", "indices", "indptr")}
        if kind == "columns":
            parts["indices"][-1] = 200
        elif kind == "pointers":
            parts["indptr"][5] = 0
        elif kind == "short":
            parts["data"] = parts["data"][:-5]
        elif kind == "NaN":
            parts["data"][-1] = np.nan
        np.savez(path, format=np.array(b"csr"), shape=np.array(X.shape), **parts)
    return path


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("csc", r"must hold CSR rows; got csc\. Convert with \.tocsr\(\)"),
        ("coo", r"must hold CSR rows; got coo\. Convert with \.tocsr\(\)"),
        ("dia", r"must hold CSR rows; got dia"),
        ("dense", r"holds no sparse matrix but the arrays rows; save dense rows as \.npy"),
        ("empty", r"has no rows; got 0 sample\(s\)"),
        ("no archive", "cannot be read"),
        ("columns", r"has column numbers outside 0 to 199 in block \d"),
        ("pointers", "has row pointers that do not rise"),
        ("short", r"ended in block \d; it was cut short"),
        ("NaN", r"Input X contains NaN; it is in column \d+, row 8999 of the sparse file"),
    ],
)
def test_broken_archives_say_what_is_wrong(tmp_path, kind, sentence):
    with pytest.raises(DataError, match=sentence) as caught:
        KMeans(2, n_init=1).fit(broken(tmp_path, kind))
    assert "rows.npz" in str(caught.value)


def test_a_damaged_member_is_an_error_that_names_file_and_block(tmp_path):
    path = save(tmp_path, compressed=False)
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo("data.npy").header_offset + 100_000
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(os.urandom(16))
    with pytest.raises(DataError, match=r"rows\.npz cannot be read in block \d+ \(Bad CRC-32"):
        Ridge().fit(path, Y)


def test_methods_for_dense_rows_and_wrong_lengths_refuse(tmp_path):
    with pytest.raises(DataError, match="Sparse data was passed, but dense data is required"):
        PCA(2, svd_solver="full").fit(save(tmp_path))
    with pytest.raises(DataError, match=r"rows\.npz has 9000 rows and y has 3"):
        Ridge().fit(save(tmp_path), Y[:3])

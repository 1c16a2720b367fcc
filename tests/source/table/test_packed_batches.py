"""What batches of Arrow and Parquet take is told before they are unpacked."""

import gzip

import numpy as np
import pyarrow
import pytest
from pyarrow import feather, ipc, parquet

import mercer
from mercer._source.file import unpacking
from mercer._source.table import bounds, packed_batches, read_blocks, read_table
from mercer._source.table.format import find_place
from mercer._source.table.source import open_batches
from mercer.errors import DataError
from mercer.preprocessing import StandardScaler


def write_batch(path, column, kind=ipc.new_file, **options):
    batch = pyarrow.record_batch([column], names=["a"])
    packing = ipc.IpcWriteOptions(**options)
    with pyarrow.OSFile(str(path), "wb") as file, kind(file, batch.schema, options=packing) as writer:
        writer.write_batch(batch)
    return path


def refuse(path, words, **options):
    """Both ways to read a table end with a sentence, and next to no memory was taken for its values."""
    before = pyarrow.total_allocated_bytes()
    for read in (read_table, lambda *given, **more: list(read_blocks(*given, **more))):
        with pytest.raises(DataError, match=words):
            read(path, **options)
    assert pyarrow.total_allocated_bytes() - before < 10**7


@pytest.mark.parametrize("kind", [ipc.new_file, ipc.new_stream], ids=["file", "stream"])
@pytest.mark.parametrize("packing", ["zstd", "lz4"])
def test_one_packed_batch_is_refused_before_it_is_unpacked(tmp_path, kind, packing):
    """2.4 GB came from 74 KB."""
    path = write_batch(tmp_path / "t.arrow", pyarrow.array(np.zeros(2_000_000)), kind, compression=packing)
    assert path.stat().st_size < 200_000
    assert len(read_table(path).frame) == 2_000_000
    refuse(path, r"t\.arrow: .*rows.* take at least 0\.032 GB in memory, from a file of 0\.", max_unpacked="10 MB")


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.nulls(1_400_000),
        pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([1_400_000]), pyarrow.array([1.5])),
        pyarrow.DictionaryArray.from_arrays(np.zeros(20_000, dtype=np.int8), pyarrow.array(["x" * 1000])),
        pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([20_000]), pyarrow.array(["x" * 1000])),
    ],
    ids=["nothing", "runs", "shared texts", "runs of texts"],
)
def test_values_that_rows_share_are_counted_for_each_row(tmp_path, column):
    """490 bytes claimed 2 billion rows, which took 43 s; 1 KB of shared texts asked for 2 TB."""
    path = write_batch(tmp_path / "t.arrow", column, compression="zstd")
    assert path.stat().st_size < 5_000
    assert len(read_table(path).frame) == len(column)
    refuse(path, r"t\.arrow: .* take at least 0\.0\d+ GB", max_unpacked="10 MB")


def test_the_sizes_of_shared_values_are_those_of_the_texts():
    texts = ["ash", None, "birches", "ash", "ash", ""]
    n_bytes = sum(len(text) for text in texts if text) + 8 * len(texts)
    array = pyarrow.array(texts)
    runs = pyarrow.RunEndEncodedArray.from_arrays(
        pyarrow.array([1, 2, 3, 5, 6]), pyarrow.array([*texts[:3], "ash", ""])
    )
    for shared in (array.dictionary_encode(), runs, array.cast(pyarrow.string_view())):
        assert packed_batches._measure_values(shared) == n_bytes
        assert packed_batches._measure_values(shared.slice(2, 2)) == len("birches" + "ash") + 16


def test_views_of_lists_are_refused_by_name(tmp_path):
    column = pyarrow.array([[1, 2], [3]], pyarrow.list_view(pyarrow.int64()))
    with pytest.raises(DataError, match=r"t\.arrow: column a holds views of lists .* Write lists"):
        read_table(write_batch(tmp_path / "t.arrow", column))


def test_a_batch_that_the_footer_lists_many_times_counts_as_often(tmp_path):
    path = tmp_path / "t.arrow"
    table = pyarrow.table({"a": np.zeros(100_000)})
    feather.write_feather(table, path, compression="zstd", chunksize=100_000)
    single = [packed_batches._measure_message(one) for one in packed_batches._read_messages(find_place(path), "arrow")]
    feather.write_feather(pyarrow.concat_tables([table] * 5), path, compression="zstd", chunksize=100_000)
    several = [packed_batches._measure_message(one) for one in packed_batches._read_messages(find_place(path), "arrow")]
    assert several == 5 * single
    # The values, their number of eight bytes each, and at most one bit for each that says whether it is there.
    assert 1_600_000 <= single[0] <= 1_620_000


def test_a_long_text_of_parquet_is_read_in_few_rows(tmp_path):
    """A text of 1 MB in 100 000 rows took 12 GB from 471 bytes: a batch of 65 536 rows was decoded at once."""
    path = tmp_path / "t.parquet"
    texts = pyarrow.DictionaryArray.from_arrays(np.zeros(2_000, np.int32), pyarrow.array(["x" * 100_000]))
    parquet.write_table(pyarrow.table({"a": texts}), path, compression="zstd", store_schema=False)
    place = find_place(path, "40 MB")
    with parquet.ParquetFile(place.origin) as file:
        assert packed_batches.choose_batch_rows(place, file, 65_536) == 100
    with pytest.raises(DataError, match=r"[45]\d\d rows or more take at least 0\.04\d* GB"):
        read_table(path, max_unpacked="40 MB")
    assert sum(map(len, read_blocks(path, max_unpacked="40 MB"))) == 2_000


def test_texts_that_change_the_one_before_may_be_as_long_as_the_column(tmp_path):
    path = tmp_path / "t.parquet"
    table = pyarrow.table({"a": ["x" * 100_000 + str(k) for k in range(50)]})
    encoding = {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}
    parquet.write_table(table, path, compression="zstd", **encoding)
    place = find_place(path, "8 MB")
    with parquet.ParquetFile(place.origin) as file:
        assert packed_batches.choose_batch_rows(place, file, 65_536) < 20


def test_short_texts_of_parquet_are_read_in_large_batches(tmp_path):
    path = tmp_path / "t.parquet"
    names = np.random.default_rng(0).integers(0, 10**6, size=(3, 50_000)).astype(str)
    parquet.write_table(pyarrow.table(dict(zip("abc", names, strict=True))), path, row_group_size=20_000)
    place = find_place(path)
    with parquet.ParquetFile(place.origin) as file:
        assert packed_batches.choose_batch_rows(place, file, 65_536) == 65_536


def test_what_packed_text_comes_to_is_counted_as_soon_as_it_looks_too_much(tmp_path, monkeypatch):
    """A stream of 1 GB of short lines took 82 s before its size was noticed."""
    monkeypatch.setattr(unpacking, "_SUSPICIOUS", 2**20)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"0,1\n" * 2_000_000))
    given = []
    with pytest.raises(DataError, match=r"unpacks from 0\.\d+ MB to more; 0\.007 GB are allowed"):
        given += [len(block) for block in read_blocks(path, max_unpacked="7 MB")]
    assert given == []
    assert sum(map(len, read_blocks(path))) == 2_000_000


def test_the_limit_of_a_table_is_that_of_its_file(tmp_path):
    place = find_place(write_batch(tmp_path / "t.arrow", pyarrow.array([1.0])), "1 KB")
    bounds.check_bytes(place, 1000, "its rows")
    with pytest.raises(DataError, match="its rows take at least 1e-06 GB"):
        bounds.check_bytes(place, 1001, "its rows")


def test_fits_refuse_a_batch_that_unpacks_to_too_much_and_read_shared_texts_in_few_rows(tmp_path):
    column = pyarrow.array(np.zeros(2_000_000))
    path = write_batch(tmp_path / "t.arrow", column, compression="zstd")
    with mercer.config_context(max_unpacked=10_000_000), pytest.raises(DataError, match="the rows of one batch take"):
        StandardScaler().fit(path)
    random = np.random.default_rng(0)
    labels = pyarrow.DictionaryArray.from_arrays(random.integers(0, 2, 3_000, np.int32), ["x" * 100_000, "y"])
    table = pyarrow.table({"a": random.normal(size=3_000), "kind": labels})
    parquet.write_table(table, tmp_path / "t.parquet", compression="zstd", store_schema=False)
    with mercer.config_context(max_unpacked=40_000_000):
        table = open_batches(tmp_path / "t.parquet", "fit")
        assert max(batch.num_rows for _, batch in table.batches(["a", "kind"], threads=False)) == 100
        assert max(batch.num_rows for _, batch in table.batches(["a"], threads=False)) == 3_000

"""Tables through Arrow: files, folders, datasets and readers, columns by name, a sentence for what is no number."""

import datetime
import decimal
import gzip
import sys

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from mercer._source.table.source import open_table, open_table_path
from mercer.cluster import KMeans
from mercer.decomposition import PCA
from mercer.errors import DataError
from mercer.linear_model import LogisticRegression, Ridge

X = np.round(np.random.default_rng(0).normal(size=(6000, 3)), 3)
Y = np.round(X[:, 0] + np.random.default_rng(1).normal(size=6000), 3)
W = np.random.default_rng(2).integers(1, 4, 6000).astype(float)
TREE = np.array(["ash", "birch", "cedar"])[np.random.default_rng(3).integers(3, size=6000)]
TABLE = pyarrow.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y, "weight": W})
COEF = Ridge().fit(X, Y, sample_weight=W).coef_


def parquet(folder, table=TABLE, name="rows.parquet", **options):
    pyarrow.parquet.write_table(table, folder / name, **options)
    return folder / name


def text(folder, content, name="rows.csv"):
    (folder / name).write_text(content)
    return folder / name


def fitted(X):
    return Ridge().fit(X, "y", sample_weight="weight")


# Truth


def formats(folder):
    yield parquet(folder, row_group_size=1000)
    pyarrow.feather.write_feather(TABLE, folder / "rows.feather")
    yield folder / "rows.feather"
    with pyarrow.ipc.new_file(folder / "rows.arrow", TABLE.schema) as file:
        file.write_table(TABLE, max_chunksize=700)
    yield str(folder / "rows.arrow")
    pyarrow.csv.write_csv(TABLE, folder / "rows.csv")
    yield folder / "rows.csv"
    pyarrow.csv.write_csv(TABLE, folder / "rows.tsv", pyarrow.csv.WriteOptions(delimiter="\t"))
    yield folder / "rows.tsv"
    (folder / "small.csv.gz").write_bytes(gzip.compress((folder / "rows.csv").read_bytes()))
    yield folder / "small.csv.gz"


def test_every_format_gives_the_bits_of_the_array(tmp_path):
    for path in formats(tmp_path):
        model = fitted(path)
        assert np.array_equal(model.coef_, COEF), path
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_datasets_scanners_tables_and_readers_give_the_bits_of_the_array(tmp_path):
    dataset = pyarrow.dataset.dataset(parquet(tmp_path, row_group_size=1000))
    for given in (
        dataset,
        dataset.scanner(),
        dataset.scanner(columns=["c", "a", "weight", "y", "b"]),
        pyarrow.dataset.dataset(TABLE),
        TABLE,
        TABLE.to_reader(max_chunksize=999),
    ):
        names = fitted(given).feature_names_in_.tolist() if not hasattr(given, "read_next_batch") else ["a", "b", "c"]
        given = TABLE.to_reader(max_chunksize=999) if hasattr(given, "read_next_batch") else given
        coef = dict(zip(names, fitted(given).coef_, strict=True))
        if names == ["a", "b", "c"]:
            assert [coef[name] for name in "abc"] == COEF.tolist()
        else:
            np.testing.assert_allclose([coef[name] for name in "abc"], COEF, rtol=1e-9)


def test_the_files_of_a_folder_follow_in_the_order_of_their_names(tmp_path):
    order = np.random.default_rng(4).permutation(12)
    for number in order:
        parquet(
            tmp_path, pyarrow.table({"i": np.arange(number * 500, (number + 1) * 500)}), f"part-{number:02d}.parquet"
        )
    (tmp_path / "_SUCCESS").write_text("")
    source = open_table_path(tmp_path, None, None, subject="PCA", targets=None, threads=4)
    assert source.known_rows == 6000
    assert np.array_equal(source.map(lambda block: block.X[:, 0]), np.arange(6000))
    assert np.array_equal(source.take([5999, 7])[:, 0], [5999, 7])


def test_the_folders_of_a_partitioned_table_give_a_column(tmp_path):
    for year in (2024, 2025):
        (tmp_path / f"year={year}").mkdir()
        parquet(tmp_path / f"year={year}", TABLE.slice(3000 * (year - 2024), 3000))
    model = fitted(tmp_path)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "year"]
    years = np.repeat([2024.0, 2025.0], 3000)
    assert np.array_equal(model.coef_, Ridge().fit(np.column_stack([X, years]), Y, sample_weight=W).coef_)


def test_labels_may_be_text_categories_numbers_or_truth_values(tmp_path):
    expected = LogisticRegression().fit(X, TREE)
    codes = np.unique(TREE, return_inverse=True)[1]
    for column, names in (
        (pyarrow.array(TREE), ["ash", "birch", "cedar"]),
        (pyarrow.array(TREE).dictionary_encode(), ["ash", "birch", "cedar"]),
        (pyarrow.array(codes), [0, 1, 2]),
        (pyarrow.array(codes.astype(float)), [0.0, 1.0, 2.0]),
    ):
        table = pyarrow.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "tree": column})
        model = LogisticRegression().fit(parquet(tmp_path, table), "tree")
        assert model.classes_.tolist() == names
        assert np.array_equal(model.coef_, expected.coef_)
    truth = pyarrow.table({"a": X[:, 0], "up": Y > 0})
    assert LogisticRegression().fit(parquet(tmp_path, truth), "up").classes_.tolist() == [False, True]


def test_several_targets_are_a_list_of_names(tmp_path):
    model = Ridge().fit(parquet(tmp_path), ["y", "c"])
    expected = Ridge().fit(np.column_stack([X[:, :2], W]), np.column_stack([Y, X[:, 2]]))
    assert np.array_equal(model.coef_, expected.coef_)
    assert np.array_equal(Ridge().fit(TABLE, ["y", "c"]).coef_, expected.coef_)


def test_targets_and_weights_may_lie_beside_the_table(tmp_path):
    path = parquet(tmp_path, TABLE.select(["a", "b", "c"]))
    np.save(tmp_path / "y.npy", Y)
    assert np.array_equal(Ridge().fit(path, tmp_path / "y.npy", sample_weight=W).coef_, COEF)
    with pytest.raises(DataError, match=r"rows\.parquet has 6000 rows and y has 5"):
        Ridge().fit(path, Y[:5])
    pyarrow.csv.write_csv(TABLE.select(["a", "b"]), tmp_path / "rows.csv")
    with pytest.raises(DataError, match=r"rows\.csv has 6000 rows and y has 6001"):
        Ridge().fit(tmp_path / "rows.csv", np.append(Y, 0.0))


def test_a_fitted_model_reads_the_columns_it_knows_by_name(tmp_path):
    model = fitted(parquet(tmp_path))
    expected = Ridge().fit(X, Y, sample_weight=W).predict(X)
    shuffled = parquet(tmp_path, TABLE.select(["weight", "c", "y", "b", "a"]), "shuffled.parquet")
    for given in (parquet(tmp_path), shuffled, pyarrow.dataset.dataset(shuffled), TABLE.to_reader()):
        assert np.array_equal(model.predict(given), expected)
    short = parquet(tmp_path, TABLE.select(["a", "b", "y"]), "short.parquet")
    with pytest.raises(DataError, match=r"short\.parquet has no column 'c'; its columns are a, b, y"):
        model.predict(short)


def test_float32_columns_stay_float32_and_other_numbers_become_float64():
    single = pyarrow.table({"a": X[:, 0].astype("f4"), "b": X[:, 1].astype("f4")})
    assert open_table(single, None, None, subject="PCA", targets=None, threads=1).dtype == np.float32
    mixed = pyarrow.table(
        {
            "float": pyarrow.array([1.5, 2.5], pyarrow.float32()),
            "whole": [2**60 + 1, -3],
            "truth": [True, False],
            "money": [decimal.Decimal("1.25"), decimal.Decimal("-7.5")],
            "half": np.array([0.5, 2], np.float16),
        }
    )
    source = open_table(mixed, None, None, subject="PCA", targets=None, threads=1)
    assert source.dtype == np.float64
    assert source.whole().tolist() == [[1.5, 2.0**60, 1.0, 1.25, 0.5], [2.5, -3.0, 0.0, -7.5, 2.0]]


def test_whole_numbers_at_the_head_of_a_text_file_do_not_decide_for_its_tail(tmp_path):
    rows = [f"{number},{number % 3}\n" for number in range(150_000)] + ["0.5,1\n"]
    model = KMeans(1).fit(text(tmp_path, "a,b\n" + "".join(rows)))
    np.testing.assert_allclose(model.cluster_centers_[0, 0], (149_999 * 75_000 + 0.5) / 150_001)


# Errors


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (
            ["x"] * 9,
            r"text or categories \(string\) in column 'bad'; encode the table by .*TableEncoder",
        ),
        (pyarrow.array(["x"] * 9).dictionary_encode(), "text or categories .* in column 'bad'"),
        ([datetime.date(2020, 1, 1)] * 9, r"times \(date32.*in column 'bad'; encode the table by .*TableEncoder"),
        ([datetime.datetime(2020, 1, 1)] * 9, r"times \(timestamp.*in column 'bad'"),
        ([[1, 2]] * 9, "nested values .* in column 'bad'"),
        ([1.0] * 4 + [None] + [2.0] * 4, r"NaN; it is in column 'bad', row 4 of .*rows\.parquet"),
        ([1.0] * 4 + [np.nan] + [2.0] * 4, r"NaN; it is in column 'bad', row 4 of .*rows\.parquet"),
        ([1, 2, None] * 3, r"NaN; it is in column 'bad', row 2 of .*rows\.parquet"),
    ],
)
def test_columns_that_are_no_numbers_are_named(tmp_path, column, sentence):
    path = parquet(tmp_path, pyarrow.table({"good": np.arange(9.0), "bad": column}))
    model = KMeans(2, n_init=1)
    with pytest.raises(DataError, match=sentence):
        model.fit(path)
    assert not hasattr(model, "n_features_in_")


def test_a_bad_number_in_a_folder_is_told_by_its_file(tmp_path):
    for number in range(3):
        values = np.where(np.arange(100) == 42, np.nan if number == 1 else 0.0, 1.0)
        parquet(tmp_path, pyarrow.table({"a": values, "b": values}), f"part-{number}.parquet")
    with pytest.raises(DataError, match=r"column 'a', row 42 of .*part-1\.parquet"):
        KMeans(2, n_init=1).fit(tmp_path)


@pytest.mark.parametrize(
    ("y", "weight", "sentence"),
    [
        (None, None, "requires y to be passed"),
        ("z", None, r"rows\.parquet has no column 'z'; its columns are a, b, c, y, weight, holes"),
        ("y", "z", "has no column 'z'"),
        ("text", None, "has string for targets in column 'text'; give numbers, or fit a classifier"),
        ("holes", None, "has nulls in column 'holes'"),
        ("y", "holes", "has nulls in column 'holes'"),
    ],
)
def test_targets_and_weights_must_be_there_and_be_numbers(tmp_path, y, weight, sentence):
    table = TABLE.append_column("holes", pyarrow.array([None] + [1.0] * 5999))
    table = table.append_column("text", pyarrow.array(TREE)) if y == "text" else table
    with pytest.raises(DataError, match=sentence):
        Ridge().fit(parquet(tmp_path, table), y, sample_weight=weight)


def test_labels_must_be_there_and_be_labels(tmp_path):
    for column, sentence in (
        ([*TREE[:-1], None], "has nulls in column 'tree'"),
        ([datetime.date(2020, 1, 1)] * 6000, "for labels in column 'tree'; give text or whole numbers"),
        (Y, "Unknown label type: continuous"),
    ):
        table = pyarrow.table({"a": X[:, 0], "tree": column})
        with pytest.raises(DataError, match=sentence):
            LogisticRegression().fit(parquet(tmp_path, table), "tree")


def test_folders_must_hold_tables_of_one_kind_and_schema(tmp_path):
    with pytest.raises(DataError, match=r"has no files that end in \.parquet, \.pq, \.arrow"):
        PCA().fit(tmp_path)
    parquet(tmp_path, TABLE, "a.parquet")
    parquet(tmp_path, TABLE.rename_columns(["a", "b", "z", "y", "weight"]), "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet has other columns than .*a\.parquet: they differ in \('[cz]'"):
        fitted(tmp_path)
    parquet(tmp_path, TABLE.set_column(0, "a", TABLE["a"].cast("float32")), "b.parquet")
    with pytest.raises(DataError, match=r"they differ in \('a', '(float|double)'\)"):
        fitted(tmp_path)
    (tmp_path / "b.parquet").unlink()
    text(tmp_path, "a\n1\n")
    with pytest.raises(DataError, match=r"files of one kind of table; got \.csv, \.parquet"):
        fitted(tmp_path)


def test_tables_without_rows_or_columns_and_broken_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"rows\.parquet has no rows"):
        fitted(parquet(tmp_path, TABLE.slice(0, 0)))
    with pytest.raises(DataError, match=r"has 0 feature\(s\)"):
        Ridge().fit(parquet(tmp_path, TABLE.select(["y"])), "y")
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(DataError, match=r"the Parquet file .*rows\.parquet cannot be read"):
        fitted(tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="has two columns 'a'; rename one"):
        PCA().fit(pyarrow.Table.from_arrays([X[:, 0], X[:, 1]], names=["a", "a"]).to_reader())


def test_without_arrow_the_extra_to_install_is_named(tmp_path, monkeypatch):
    path = parquet(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)
    with pytest.raises(ImportError, match=r'Ridge: tables are read by pyarrow.*pip install "mercer\[files\]"'):
        fitted(path)

"""Text files as estimators read them: the study's rules for how they are written, block by block."""

import contextlib
import gzip

import numpy as np
import pytest

from mercer._source import open_place
from mercer._source.table import read_table
from mercer.cluster import KMeans
from mercer.errors import DataError
from mercer.linear_model import LogisticRegression, Ridge

# Rows that fill more than two blocks of a megabyte.
MANY = 150_000


def write(folder, content, name="rows.csv", encoding="utf-8"):
    content = content.encode(encoding) if isinstance(content, str) else content
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder / name


def opened(path, **options):
    return open_place("file", path, None, None, subject="KMeans", targets=None, threads=2, **options)


def whole(path):
    source = opened(path)
    source.allow_missing()
    return source.whole()


# Truth


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("rows.csv", "a;b\n1,5;2\n?;3\n4,5;6\n", [[1.5, 2], [np.nan, 3], [4.5, 6]]),
        ("rows.csv", "a;b\n1,5;2,5\n3,5;-4,5\n-1,0;2,0\n", [[1.5, 2.5], [3.5, -4.5], [-1, 2]]),
        ("rows.csv", "a,b\n1,NA\n2,null\n3,7\n", [[1, np.nan], [2, np.nan], [3, 7]]),
        ("rows.tsv", "a\tb\n1\t2\n3\t4\n", [[1, 2], [3, 4]]),
        ("rows.txt", "a|b\n1|2\n3|4\n", [[1, 2], [3, 4]]),
        ("rows.dat", "a   b\n1.5   2\n3     4\n5     6\n", [[1.5, 2], [3, 4], [5, 6]]),
        ("rows.csv", "Sales of 2024,\n# a comment,\na,b\n1,2\n3,4\n5,6\n", [[1, 2], [3, 4], [5, 6]]),
        ("rows.csv", "0,1,2\n5,6,7\n8,9,10\n", [[5, 6, 7], [8, 9, 10]]),
        ("rows.csv", 'a,b\n"1,234.5",12 %\n"2,000",7 %\n', [[1234.5, 12], [2000, 7]]),
        ("rows.csv", "a,b\ntrue,1\nfalse,2\n", [[1, 1], [0, 2]]),
        ("rows.csv.gz", "a;b\n1,5;2\n2,5;3\n", [[1.5, 2], [2.5, 3]]),
    ],
)
def test_a_study_reads_the_same_numbers_as_an_estimator(tmp_path, name, content, expected):
    path = write(tmp_path, content, name)
    assert np.array_equal(whole(path), expected, equal_nan=True)
    assert np.array_equal(read_table(path).frame.to_numpy(dtype=float), expected, equal_nan=True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_names_are_read_in_the_encoding_of_the_file(tmp_path, encoding):
    path = write(tmp_path, "größe;b\n1,5;2\n2,5;3\n", encoding=encoding)
    with pytest.warns(UserWarning, match="cp1252") if encoding == "cp1252" else contextlib.nullcontext():
        source = opened(path)
    assert source.feature_names == ["größe", "b"]
    assert source.whole().tolist() == [[1.5, 2], [2.5, 3]]


def test_a_model_of_a_file_with_semicolons_and_commas_is_that_of_the_array(tmp_path):
    X = np.round(np.random.default_rng(0).normal(size=(500, 3)), 3)
    lines = [";".join(map(str, row)).replace(".", ",") for row in X.tolist()]
    path = write(tmp_path, "a;b;y\n" + "\n".join(lines) + "\n")
    assert np.array_equal(Ridge().fit(path, "y").coef_, Ridge().fit(X[:, :2], X[:, 2]).coef_)
    centers = KMeans(3, random_state=0).fit(X).cluster_centers_
    assert np.array_equal(KMeans(3, random_state=0).fit(path).cluster_centers_, centers)


def test_missing_words_are_gaps(tmp_path):
    path = write(tmp_path, "a,y\n" + "1,2\n?,3\n4,5\n" * 30)
    with pytest.raises(DataError, match=r"NaN; it is in column 'a', row 1 of .*rows\.csv"):
        KMeans(2).fit(path)
    with pytest.raises(DataError, match=r"has nulls in column 'a', in row 0 of .* and the 89 rows after it"):
        Ridge().fit(path, "a")


def test_labels_stay_as_they_are_written(tmp_path):
    for words, names in (("yes no", ["no", "yes"]), ("01 02", ["01", "02"]), ("2 1", [1, 2])):
        first, second = words.split()
        path = write(tmp_path, "a,b,label\n" + f"1,2,{first}\n3,5,{second}\n" * 10)
        assert LogisticRegression().fit(path, "label").classes_.tolist() == names


def test_each_file_of_a_folder_may_have_its_own_encoding_and_packing(tmp_path):
    (tmp_path / "year=2024").mkdir()
    (tmp_path / "year=2025").mkdir()
    write(tmp_path / "year=2024", "ä;b\n1,5;2\n", encoding="utf-8")
    write(tmp_path / "year=2025", "ä;b\n3;4\n", encoding="utf-16")
    assert opened(tmp_path).feature_names == ["ä", "b", "year"]
    assert whole(tmp_path).tolist() == [[1.5, 2, 2024], [3, 4, 2025]]


# Invariance


def test_a_later_block_may_change_the_encoding_or_begin_quoted_lines(tmp_path):
    head = "a,b,note\n" + "1,2,plain\n" * MANY
    for tail in ("3,4,caf\xe9\n".encode("latin-1"), b'3,4,"two\nlines"\n'):
        path = write(tmp_path, head.encode() + tail)
        X = open_place("file", path, None, None, subject="KMeans", targets=None, threads=1, columns=["a", "b"]).whole()
        assert len(X) == MANY + 1
        assert X[-1].tolist() == [3, 4]


# Errors


@pytest.mark.parametrize(
    ("head", "tail", "sentence"),
    [
        ("1,2\n", "3,x\n", rf"column 'b' holds numbers, but row {MANY} has 'x'. Correct it, write NA"),
        ("1,true\n", "3,maybe\n", rf"column 'b' holds booleans, but row {MANY} has 'maybe'"),
        ('1,"1,000"\n', "3,x\n", rf"column 'b' holds numbers, but row {MANY} has 'x'"),
        ("1,2\n", "3,4,5\n", "line `3,4,5` has 3 fields, the first line 2. Correct it"),
    ],
)
def test_a_value_that_contradicts_the_head_is_told_by_file_column_and_row(tmp_path, head, tail, sentence):
    path = write(tmp_path, "a,b\n" + head * MANY + tail)
    with pytest.raises(DataError, match=rf"^KMeans: .*rows\.csv: {sentence}"):
        opened(path).n_rows  # noqa: B018


def test_a_word_among_numbers_at_the_head_is_no_gap(tmp_path):
    path = write(tmp_path, "a,b\n" + "1,2\n" * 50 + "3,none so far\n")
    with pytest.raises(DataError, match=r"column 'b' holds numbers, but row 50 has 'none so far'"):
        opened(path).n_rows  # noqa: B018


def test_what_is_no_number_is_named(tmp_path):
    for values, sentence in (
        ("red blue", "has text or categories .* in column 'b'"),
        ("01234 02345", "has text or categories .* in column 'b'"),
        ("2024-01-31 2024-02-29", "has times .* in column 'b'"),
        ("31.1.2024 29.2.2024", "has times .* in column 'b'"),
    ):
        first, second = values.split()
        with pytest.raises(DataError, match=rf"^KMeans: the CSV file .*rows\.csv {sentence}"):
            opened(write(tmp_path, f"a,b\n1,{first}\n2,{second}\n3,{first}\n"))


def test_files_that_are_no_text_or_have_no_rows_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"^KMeans: .*the file holds no delimited text but parquet"):
        opened(write(tmp_path, b"PAR1 but not really"))
    with pytest.raises(DataError, match=r"has no rows; got 0 sample"):
        opened(write(tmp_path, "a,b\n")).n_rows  # noqa: B018
    with pytest.raises(DataError, match=r"^KMeans: rows\.csv: the file is empty"):
        opened(write(tmp_path, ""))
    write(tmp_path, "a,b\n1,2\n", "a.csv")
    write(tmp_path, "a,c\n1,2\n", "b.csv")
    (tmp_path / "rows.csv").unlink()
    with pytest.raises(DataError, match=r"b\.csv has other columns than .*a\.csv: they differ in [bc]"):
        opened(tmp_path)


def test_a_first_line_of_values_and_repeated_names_are_told(tmp_path):
    with pytest.warns(UserWarning, match=r"KMeans: .*rows\.csv: The first line holds values instead of names"):
        source = opened(write(tmp_path, "1.5,2.5\n3.5,4.5\n"))
    assert source.whole().tolist() == [[1.5, 2.5], [3.5, 4.5]]
    with pytest.warns(UserWarning, match="has the name of an earlier column"):
        assert opened(write(tmp_path, "a,a\n1,2\n")).feature_names == ["a", "a_2"]

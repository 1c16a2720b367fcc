"""Archives that unpack to more than allowed are refused, outputs spare inputs, and no cell is a formula."""

import gzip
import zipfile

import numpy as np
import pyarrow
import pytest
from scipy.sparse import csr_array, save_npz

import mercer
from mercer._source.table import read_table
from mercer.app.table.writing import Writer, escape_formulas
from mercer.errors import DataError, ParameterError
from mercer.naive_bayes import MultinomialNB

TEXT = "a,b\n" + "\n".join(f"{k},{k % 3}" for k in range(4000)) + "\n"


def test_gzip_that_unpacks_to_more_than_allowed(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    assert len(read_table(path).frame) == 4000
    assert len(read_table(path, max_unpacked="1 MB").frame) == 4000
    with pytest.raises(DataError, match=r"t.csv.gz: the file unpacks from .* Give --max-unpacked SIZE"):
        read_table(path, max_unpacked=10_000)
    with mercer.config_context(max_unpacked=10_000), pytest.raises(DataError, match="--max-unpacked"):
        read_table(path)
    with pytest.raises(ParameterError, match="max_unpacked must be a positive number of bytes"):
        read_table(path, max_unpacked="much")


def test_workbook_that_declares_more_than_allowed(tmp_path):
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        archive.writestr("xl/worksheets/sheet1.xml", bytes(2**20))
    with pytest.raises(DataError, match=r"t.xlsx: the file unpacks from .* Give --max-unpacked"):
        read_table(path, max_unpacked=2**19)


def test_sparse_file_that_unpacks_to_more_than_allowed(tmp_path):
    path = tmp_path / "rows.npz"
    save_npz(path, csr_array(np.eye(400)))
    with mercer.config_context(max_unpacked=1000), pytest.raises(DataError, match=r"set_config\(max_unpacked"):
        MultinomialNB().fit(path, np.arange(400) % 2)


def test_outputs_spare_inputs(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TEXT, encoding="utf-8")
    for given in (path, f"{path}::part", tmp_path / "." / "t.csv"):
        with pytest.raises(DataError, match=r"t.csv: the output would overwrite the input"):
            Writer.open(path, inputs=[given])
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    with pytest.raises(DataError, match="the output would overwrite the input"):
        Writer.open(link, inputs=[path])
    Writer.open(tmp_path / "other.csv", inputs=[path, "-", "missing.csv"])
    assert path.read_text(encoding="utf-8") == TEXT


def test_formulas_become_texts():
    texts = ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", "-1.5e3", "+7", "ash", None, "a=b", "-5%"]
    table = pyarrow.table(
        {"t": texts, "d": pyarrow.array(texts).dictionary_encode(), "n": range(len(texts)), "=n": texts}
    )
    safe, changed = escape_formulas(table)
    expected = ["'=1+1", "'+cmd", "'-x", "'@SUM(A1)", "'\t=1", "-1.5e3", "+7", "ash", None, "a=b", "-5%"]
    assert safe.column("t").to_pylist() == safe.column("d").to_pylist() == safe.column("'=n").to_pylist() == expected
    assert changed == 15


def test_a_writer_marks_formulas_in_text_files_only(tmp_path):
    table = pyarrow.table({"t": ["=1", "b"]})
    for name, keep, held in (("a.csv", False, "'=1"), ("b.csv", True, "=1"), ("c.jsonl", False, '"=1"')):
        with Writer.open(tmp_path / name, keep_formulas=keep) as writer:
            writer.write(table)
        assert held in (tmp_path / name).read_text(encoding="utf-8")
        assert ("'" in (tmp_path / name).read_text(encoding="utf-8")) == (name == "a.csv")

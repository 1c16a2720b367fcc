"""A short part of the attack on the readers of tables, with fixed seeds."""

import pytest

from mercer._source.table import read_table
from mercer.errors import DataError
from tools.fuzzing.tables.attack import try_file
from tools.fuzzing.tables.forgery import make_file


@pytest.mark.parametrize("first", [2, 12, 22, 40, 50, 60])
def test_files_give_a_table_or_a_sentence(first, tmp_path):
    faults = [try_file(number, tmp_path) for number in range(first, first + 10)]
    assert [(name, fault) for name, fault in faults if fault] == []


def test_deep_json_is_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}\n")
    with pytest.raises(DataError, match=r"t.jsonl: the JSON nests lists and objects more than 100 deep"):
        read_table(path)


def test_the_same_number_gives_the_same_file():
    assert make_file(60) == make_file(60)

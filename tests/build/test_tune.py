"""The program that measures crossovers: what it reads, how it chooses, what it writes."""

import pytest

from tools import tune


def test_every_crossover_stands_in_a_table_with_a_number_and_a_comment():
    crossovers = tune.list_crossovers()
    assert crossovers["_base.NUMPY_CLASSES"] >= 1
    for path in tune.SOURCE.rglob("_crossovers.py"):
        lines = [line for line in path.read_text().splitlines() if " = " in line]
        assert all("  # " in line for line in lines), f"{path}: a crossover says its unit and what it replaces."


def test_the_size_is_chosen_that_loses_least_time_on_both_sides():
    rows = [(1, 1.0, 4.0), (2, 2.0, 4.1), (4, 4.0, 4.2), (8, 8.0, 4.4), (16, 16.0, 5.0)]
    assert tune.choose_size(rows) == 8
    noisy = [(1, 1.0, 4.0), (2, 2.0, 1.99), (4, 4.0, 4.2), (8, 8.0, 4.4), (16, 16.0, 5.0)]
    assert tune.choose_size(noisy) == 8
    assert tune.choose_size([(1, 1.0, 2.0), (2, 1.0, 2.0)]) == tune.NEVER


def test_a_value_is_written_into_its_line_alone(tmp_path, monkeypatch):
    table = tmp_path / "trees" / "_crossovers.py"
    table.parent.mkdir()
    table.write_text('"""Sizes."""\n\nROWS = 2**12  # rows\nMORE_ROWS = 5  # rows\n')
    monkeypatch.setattr(tune, "SOURCE", tmp_path)
    tune.write_size("trees.ROWS", 800)
    assert table.read_text() == '"""Sizes."""\n\nROWS = 800  # rows\nMORE_ROWS = 5  # rows\n'
    assert tune.list_crossovers(tmp_path) == {"trees.ROWS": 800, "trees.MORE_ROWS": 5}
    with pytest.raises(ValueError, match="LEAVES must stand on one line, once; got 0 lines"):
        tune.write_size("trees.LEAVES", 1)

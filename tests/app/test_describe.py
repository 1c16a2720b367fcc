"""Descriptions of tables: each part against a table made so that the answer is known."""

import json

import numpy as np
import pandas
import pytest

import mercer
from mercer.app.command import main
from mercer.app.table.overview import count_outliers, measure_pairs
from mercer.errors import DataError


def make_frame(n=300, seed=0):
    random = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "size": random.normal(size=n),
            "colour": random.choice(["red", "green", "<b>"], n),
            "day": pandas.date_range("2024-01-01", periods=n),
            "always": 1,
            "other": random.normal(size=n),
        }
    )
    frame["cube"] = frame["size"] ** 3
    frame.loc[:9, "other"] = np.nan
    frame.loc[20, "other"] = 1e6
    return pandas.concat([frame, frame[30:34]], ignore_index=True)


def test_each_part_is_what_the_table_was_made_of():
    found = mercer.describe(make_frame())
    assert (found.n_rows, found.duplicate_rows) == (304, 4)
    assert found.list_columns("constant") == ["always"]
    kinds = {column.name: column.role for column in found.columns}
    assert [kinds[name] for name in ("size", "colour", "day")] == ["number", "category", "date"]
    assert {column.name: column.missing for column in found.columns if column.missing} == {"other": 10}
    assert found.outliers["other"] == 1
    assert (found.pairs[0].first, found.pairs[0].second) == ("size", "cube")
    assert found.pairs[0].strength == pytest.approx(1.0)


def test_a_column_that_gives_the_target_away_is_a_leak():
    found = mercer.describe(make_frame(), target="cube")
    assert found.list_columns("leak") == ["size"]
    assert found.list_columns("target") == ["cube"]


def test_strengths_of_pairs_of_all_kinds():
    random = np.random.default_rng(0)
    a = random.choice(["x", "y", "z"], 2000)
    frame = pandas.DataFrame({"a": a, "same": np.char.add(a, "1"), "free": random.choice(["p", "q"], 2000)})
    frame["mean"] = (a == "x") + 1e-3 * random.normal(size=2000)
    frame["noise"] = random.normal(size=2000)
    kinds = dict.fromkeys(("a", "same", "free"), "category") | dict.fromkeys(("mean", "noise"), "number")
    strengths = {(pair.first, pair.second): pair.strength for pair in measure_pairs(frame, kinds)}
    assert strengths["a", "same"] == pytest.approx(1.0)
    assert strengths["a", "mean"] > 0.8
    assert max(strengths["a", "free"], strengths["free", "noise"], strengths["mean", "noise"]) < 0.1


def test_outliers_lie_three_interquartile_ranges_beyond_the_quartiles():
    # Quartiles 25 and 75: the fences are -125 and 225, and the three values move them by 5.
    values = np.r_[np.arange(101.0), np.nan]
    assert count_outliers(values) == 0
    assert count_outliers(np.r_[values, -160.0, 1e308, -1e308]) == 3
    assert count_outliers(np.ones(5)) == 0


def test_it_prints_and_escapes_itself():
    found = mercer.describe(make_frame())
    text, page = repr(found), found._repr_html_()
    assert text.startswith("frame: 304 rows, 4 of them repeated, 6 columns")
    assert "3.29 %" in text
    assert "size ~ cube: 1.00" in text
    assert "&lt;b&gt;" in mercer.describe(pandas.DataFrame({"<b>": range(50)}))._repr_html_()
    assert "<b>" not in page
    assert json.loads(json.dumps(found.as_dict(), default=str))["n_rows"] == 304


def test_the_command_prints_writes_and_refuses(tmp_path, capsys):
    path = tmp_path / "table.csv"
    make_frame().to_csv(path, index=False)
    assert main(["describe", str(path), "--target", "cube"]) == 0
    assert "table.csv: 304 rows" in capsys.readouterr().out
    assert main(["describe", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["duplicate_rows"] == 4
    assert main(["describe", str(path), "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    with pytest.raises(DataError):
        mercer.describe(tmp_path / "nowhere.csv")

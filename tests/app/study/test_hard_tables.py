"""Studies of tables that used to stop with an error end with a report, and its record says what was done."""

import numpy as np
import pandas

import mercer

QUICK = {"quick": True, "folds": 3, "inner": 2, "candidates": ["nearest centroid"]}


def _draw(n_rows=90, seed=0):
    random = np.random.default_rng(seed)
    kind = np.array(["u", "v", "w"])[random.integers(0, 3, n_rows)]
    return pandas.DataFrame(
        {"x": random.normal(size=n_rows) + 2 * (kind == "v"), "z": random.random(n_rows), "y": kind}
    )


def _list_texts(record):
    return " ".join(notice.text for notice in record.data.notices)


def test_a_class_with_a_single_row_is_set_aside_and_said():
    frame = _draw()
    frame.loc[5, "y"] = "once"
    record = mercer.run(frame, "y", **QUICK).record
    assert record.question.classes == ["u", "v", "w"]
    assert "These classes have too few rows for fitting and testing and are left out: `once`." in _list_texts(record)
    assert sum(map(sum, record.confusion.counts)) == 89
    assert next(column for column in record.data.columns if column.name == "x").association > 0.1

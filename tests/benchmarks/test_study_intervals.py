"""The benchmark of whole studies counts what it claims to count."""

import numpy as np
import pandas

from benchmarks.choice_tables import ChoiceTable
from benchmarks.study_intervals import measure_study, summarise


def test_the_page_counts_studies_whose_interval_holds_the_truth():
    right = {"score": 0.5, "low": 0.4, "high": 0.6, "baseline": 0.0, "truth": 0.45}
    high, low = right | {"truth": 0.3}, right | {"truth": 0.7}
    rows = [{"table": "t", "n_rows": 100, "shuffled": False, "studies": [right, right, high, low]}]
    rows.append({"table": "t", "n_rows": 100, "shuffled": True, "studies": [right]})
    text = summarise({"rows": rows})
    assert "| t | 100 | 4 | 0.500 | 0.475 | 50 % | 0.100 |" in text
    assert "The claim was too high in 1 and too low in 1 of 4 studies." in text
    assert text.index("Targets as they are") < text.index("Targets in random order")


def test_a_study_is_compared_with_the_rows_that_it_has_not_seen():
    random = np.random.default_rng(0)
    frame = pandas.DataFrame({"x": random.normal(size=400)})
    frame["y"] = 3 * frame["x"] + random.normal(size=400)
    table = ChoiceTable("line", "made", "y", "regression")
    quick = {"quick": True, "candidates": ["ridge regression"]}
    found = measure_study(table, frame, 100, 0, False, **quick)
    assert found["low"] <= found["truth"] <= found["high"]
    assert 0.85 < found["truth"] < 0.95
    assert measure_study(table, frame, 100, 0, True, **quick)["truth"] < 0.1

"""Fits of small tables: which classes are compared, what is measured, and how it is shown."""

import pytest

from benchmarks.class_pairs import average_ratio, find_classes, make_small_table
from benchmarks.small_fits import measure_class, small_fits_table


def times(mercer, sklearn):
    return {"mercer": {"cpu": mercer, "wall": mercer}, "sklearn": {"cpu": sklearn, "wall": 2 * sklearn}}


def test_classes_of_both_libraries_are_found():
    classes = find_classes()
    assert classes["KMeans"] == "cluster"
    assert classes["VotingClassifier"] == "ensemble"
    assert "DecisionStump" not in classes
    assert len(classes) > 90


@pytest.mark.parametrize(
    ("name", "family", "parts"),
    [
        ("PCA", "decomposition", 1),
        ("CCA", "cross_decomposition", 2),
        ("NeighborhoodComponentsAnalysis", "neighbors", 2),
    ],
)
def test_a_class_is_fitted_to_what_it_takes(name, family, parts):
    table = make_small_table(name, family, 20, 3)
    assert len(table) == parts
    assert table[0].shape == (20, 3)


def test_both_libraries_are_measured_by_processor_and_by_clock(monkeypatch):
    monkeypatch.setattr("benchmarks.small_fits.BUDGET", 0.0)
    record = measure_class("GaussianNB", "naive_bayes", ((20, 3),))
    assert record["class"] == "GaussianNB"
    for library in ("mercer", "sklearn"):
        assert 0 < record["20 x 3"][library]["cpu"] < 1e4
        assert record["20 x 3"][library]["wall"] > 0


def test_the_table_has_ratios_their_geometric_mean_and_the_slower_classes():
    rows = [{"class": "A", "20 x 3": times(1.0, 8.0)}, {"class": "B", "20 x 3": times(2.0, 1.0)}]
    assert average_ratio(rows, "20 x 3") == pytest.approx(2.0)
    text = small_fits_table(
        {
            "classes": rows,
            "sizes": ["20 x 3"],
            "date": "2026-01-01",
            "hardware": {"processor": "P"},
            "versions": {"scikit-learn": "1.9"},
        }
    )
    assert "| A | 1 | 8 | 8.00 |" in text
    assert "geometric mean 2.00 by processor time, 4.00 by the clock; slower in 1 of 2 classes (B)" in text

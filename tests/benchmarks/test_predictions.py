"""Answers of fitted models: which methods are compared, at which sizes, and how it is shown."""

import numpy as np
import pytest

from benchmarks import predictions
from benchmarks.predictions import measure_answers, predictions_table


@pytest.fixture(autouse=True)
def once(monkeypatch):
    monkeypatch.setattr(predictions, "BUDGET", 0.0)
    monkeypatch.setattr(predictions, "SHORTEST", 0.0)
    monkeypatch.setattr(predictions, "TRAINING", (40, 3))


def test_every_method_that_both_libraries_have_is_measured():
    rows = measure_answers("LogisticRegression", "linear_model", {"2 rows": (2, "float64", "C")})
    assert [row["method"] for row in rows] == ["predict", "predict_proba", "decision_function"]
    for row in rows:
        for library in ("mercer", "sklearn"):
            assert 0 < row["2 rows"][library]["cpu"] < 1e4
            assert row["2 rows"][library]["wall"] > 0


def test_models_are_fitted_to_the_type_they_are_asked_about(monkeypatch):
    seen = []

    def note(models, method, X):
        seen.append((models["mercer"].coef_.dtype, X.dtype, X.flags.f_contiguous))
        return {library: {"cpu": 1.0, "wall": 1.0} for library in models}

    monkeypatch.setattr(predictions, "_time_method", note)
    measure_answers("Ridge", "linear_model", {"a": (5, "float32", "C"), "b": (5, "float64", "F")})
    assert seen == [(np.float32, np.float32, False), (np.float64, np.float64, True)]


def test_a_question_that_would_take_too_long_is_not_asked(monkeypatch):
    monkeypatch.setattr(predictions, "LONGEST", 0.0)
    questions = {"few": (2, "float64", "C"), "many": (50, "float64", "C")}
    (row,) = measure_answers("Ridge", "linear_model", questions)
    assert "few" in row
    assert "many" not in row


def test_the_table_has_empty_cells_where_nothing_was_measured():
    times = {"mercer": {"cpu": 1.0, "wall": 1.0}, "sklearn": {"cpu": 4.0, "wall": 2.0}}
    text = predictions_table(
        {
            "answers": [
                {"class": "A", "method": "predict", "few": times, "many": times},
                {"class": "B", "method": "transform", "few": times},
            ],
            "sizes": ["few", "many"],
            "date": "2026-01-01",
            "hardware": {"processor": "P"},
            "versions": {"scikit-learn": "1.9"},
        }
    )
    assert "| A.predict | 1 | 4 | 4.00 | 1 | 4 | 4.00 |" in text
    assert "| B.transform | 1 | 4 | 4.00 |  |  |  |" in text
    assert "- many: geometric mean 4.00 by processor time, 2.00 by the clock; slower in 0 of 1 answers" in text

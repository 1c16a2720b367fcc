"""The programs that measure coverage, bounds and Shapley values run on a few tables, and find no broken promise."""

import numpy as np
import pytest

from benchmarks import bound_violations, conformal_coverage, shapley_peers


@pytest.mark.parametrize("subject", conformal_coverage.SUBJECTS, ids=lambda one: one.name)
def test_each_method_is_measured_and_keeps_its_promise(subject):
    found = list(conformal_coverage.measure_subject(subject, 12))
    assert found[0]["rows"] == "all"
    # With few tables the error is rough: a share may be five of them below its promise.
    assert all(one["promise"] is None or one["coverage"] >= one["promise"] - 5 * one["error"] - 0.03 for one in found)


def test_what_breaks_a_promise_is_seen():
    for name, most in (("noise that grows, fixed quantile", 0.8), ("calibrated by the rows of the fit", 0.87)):
        (subject,) = (one for one in conformal_coverage.SUBJECTS if one.name == name)
        assert next(conformal_coverage.measure_subject(subject, 30))["coverage"] < most


def test_the_table_of_the_page_has_a_line_for_each_row():
    found = list(conformal_coverage.measure_subject(conformal_coverage.SUBJECTS[0], 3))
    assert len(conformal_coverage.spell_table(found, 3).splitlines()) == 4 + len(found)


def test_bounds_of_a_model_are_counted():
    found = bound_violations.count_failures(bound_violations.MODELS["DecisionTreeClassifier, one split"], 4)
    assert {one["tables"] for one in found.values()} == {4}
    assert found["VC dimension"]["failures"] == 0
    assert found["VC dimension"]["excess"] > 0


def test_values_of_contestants_agree():
    small = shapley_peers.Task("small", 3, 3, 20, 5, 7)
    found = shapley_peers.run(small)
    assert found["mercer"]["largest_difference"] == 0.0
    assert all(one["largest_difference"] < 1e-6 for one in found.values())
    assert np.isfinite(found["mercer"]["milliseconds_a_row"])

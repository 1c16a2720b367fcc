"""Import times: which modules are compared, and how the result is shown."""

from benchmarks.import_times import find_pairs, import_table, measure_import, measure_rounds


def test_the_packages_and_the_families_of_both_are_compared():
    pairs = find_pairs()
    assert pairs[0] == ""
    assert "svm" in pairs
    assert "metrics" in pairs
    assert "bayesnet" not in pairs


def test_each_library_is_measured_and_the_best_kept(monkeypatch):
    taken = iter([5.0, 40.0, 3.0, 60.0])
    asked = []
    monkeypatch.setattr("benchmarks.import_times._time_import", lambda module: asked.append(module) or next(taken))
    first = measure_import("svm")
    assert first == {"module": "svm", "mercer": 5.0, "sklearn": 40.0}
    assert measure_import("svm", first) == {"module": "svm", "mercer": 3.0, "sklearn": 40.0}
    assert asked == ["mercer.svm", "sklearn.svm"] * 2


def test_rounds_end_within_the_limit_and_one_is_always_made(monkeypatch):
    clock = iter(range(0, 1000, 20))
    monkeypatch.setattr("benchmarks.import_times.time.monotonic", lambda: next(clock))
    monkeypatch.setattr("benchmarks.import_times._time_import", lambda module: 7.0)
    row = {"module": "svm", "mercer": 7.0, "sklearn": 7.0}
    # Each look at this clock shows 20 s more: two rounds have taken 40 s, and a third would end after 60.
    assert measure_rounds(["svm"], 5, 50.0) == ([row], 2)
    assert measure_rounds(["svm"], 5, 0.0) == ([row], 1)
    assert measure_rounds(["svm"], 2, 1000.0) == ([row], 2)


def test_the_table_has_ratios_and_names_the_slower_modules():
    rows = [{"module": "", "mercer": 10.0, "sklearn": 20.0}, {"module": "svm", "mercer": 50.0, "sklearn": 40.0}]
    known = {"date": "2026-01-01", "hardware": {"processor": "P"}, "versions": {"scikit-learn": "1.9"}, "repeats": 2}
    text = import_table(known | {"imports": rows})
    assert "| mercer | 10 | 20 | 2.00 |" in text
    assert "Slower in 1 of 2 modules (svm)." in text

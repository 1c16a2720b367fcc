"""Calibration errors with their intervals, and scores with their parts: closed forms, coverage, errors."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import brier_score_loss, log_loss

from mercer.errors import DataError, ParameterError
from mercer.inspection import ReliabilityDisplay
from mercer.metrics import calibration_error, decompose_score


@pytest.fixture
def random():
    return np.random.default_rng(0)


def test_differences_of_bins_are_those_of_a_loop_over_them(random):
    p = random.random(300)
    y = random.random(300) < p
    found = calibration_error(y, p, n_bins=5)
    order = np.argsort(p)
    parts = np.array_split(order, 5)
    assert found.counts.tolist() == [60] * 5
    gaps = np.array([y[part].mean() - p[part].mean() for part in parts])
    assert np.allclose(found.shares - found.probabilities, gaps)
    assert np.isclose(found.expected_error, np.abs(gaps).mean())


def test_the_interval_holds_the_true_difference_as_often_as_it_says(random):
    # Few repeats: one in a million runs of a right interval would leave these bounds.
    repeats, level = 150, 0.9
    for wrong in (0.0, 0.03, 0.15):
        held = 0
        for _ in range(repeats):
            p = random.uniform(0.2, 0.8, size=600)
            found = calibration_error(random.random(600) < p + wrong, p, level=level)
            held += found.low <= wrong <= found.high
        # An interval that begins at zero holds zero more often than its level says.
        assert held >= binom.ppf(1e-6, repeats, level)


def test_true_probabilities_are_rarely_called_wrong(random):
    p_values = []
    for _ in range(200):
        p = random.beta(1, 3, size=400)
        p_values.append(calibration_error(random.random(400) < p, p).p_value)
    for level in (0.05, 0.5):
        rejected = sum(value < level for value in p_values)
        assert rejected <= binom.ppf(1 - 1e-6, 200, level)
    assert calibration_error(random.random(2000) < 0.5, np.full(2000, 0.8)).p_value < 1e-6


def test_three_classes_are_measured_by_the_most_probable_one(random):
    shares = random.dirichlet([1, 1, 1], size=2000)
    y = np.array([random.choice(3, p=p) for p in shares])
    names = np.array(["c", "a", "b"])
    found = calibration_error(names[y], shares, classes=names)
    assert found.low == 0.0
    direct = calibration_error(y == shares.argmax(axis=1), shares.max(axis=1))
    assert np.allclose(found.shares, direct.shares)
    sharp = shares**3 / (shares**3).sum(axis=1, keepdims=True)
    assert "calibrate them" in calibration_error(y, sharp).sentence


def test_equal_probabilities_stay_in_one_bin():
    found = calibration_error([0, 1] * 50, [0.5] * 60 + [0.9] * 40, n_bins=10)
    assert found.counts.tolist() == [60, 40]
    assert "0.500" in str(found)
    assert "<table>" in found._repr_html_()


def test_parts_of_a_score_add_up_and_none_is_negative(random):
    p = random.beta(0.5, 0.5, size=500).clip(0.01, 0.99)
    y = (random.random(500) < p**2).astype(int)
    for name, peer in (("brier", brier_score_loss), ("log", log_loss)):
        parts = decompose_score(y, p, score=name)
        assert np.isclose(parts.score, peer(y, p))
        assert np.isclose(parts.score, parts.miscalibration - parts.discrimination + parts.uncertainty)
        assert min(parts.miscalibration, parts.discrimination) >= 0
    # Probabilities that need no mending lose nothing, and those that do not look gain nothing.
    assert decompose_score([0, 0, 1, 0, 1, 1], [1 / 3] * 3 + [2 / 3] * 3).miscalibration < 1e-15
    assert abs(decompose_score(y, np.full(500, 0.3)).discrimination) < 1e-12


def test_the_parts_of_three_classes_are_sums_over_them(random):
    shares = random.dirichlet([1, 1, 1], size=300)
    y = random.integers(0, 3, 300)
    parts = decompose_score(y, shares)
    assert np.isclose(parts.score, ((shares - np.eye(3)[y]) ** 2).sum(axis=1).mean())
    assert np.isclose(parts.score, parts.miscalibration - parts.discrimination + parts.uncertainty)
    assert "no better than" in parts.sentence


def test_the_band_holds_curves_of_true_probabilities_and_shows_false_ones(random):
    pytest.importorskip("matplotlib").use("Agg")
    p = random.random(1500)
    y = random.random(1500) < p
    true = ReliabilityDisplay.from_predictions(y, p, random_state=0)
    false = ReliabilityDisplay(y, p**2, random_state=0)
    assert true.outside_ < 0.4 < false.outside_
    assert (np.diff(true.shares_) >= 0).all()
    assert true.ax_.get_ylabel() == "share of events"
    with pytest.raises(DataError, match="each row needs an event, 0 or 1"):
        ReliabilityDisplay([0, 2], [0.5, 0.5])


def test_bad_probabilities_are_named():
    with pytest.raises(ParameterError, match=r"calibration_error: level must be a number in \(0, 1\); got 1"):
        calibration_error([0, 1], [0.2, 0.4], level=1)
    with pytest.raises(ParameterError, match=r"n_bins must be an integer in \[1, inf\); got 0"):
        calibration_error([0, 1], [0.2, 0.4], n_bins=0)
    with pytest.raises(DataError, match=r"they must belong to each other. Give classes=model.classes_"):
        calibration_error(["a", "b", "c"], [0.2, 0.4, 0.1])
    with pytest.raises(ValueError, match="y_proba"):
        calibration_error([0, 1], [0.2, 1.4])
    with pytest.raises(ParameterError, match="score must be one of brier, log; got 'quadratic'"):
        decompose_score([0, 1], [0.2, 0.4], score="quadratic")

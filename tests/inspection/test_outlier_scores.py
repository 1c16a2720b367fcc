"""The picture of outlier scores: sorted, and as contours."""

import numpy as np
import pytest

from mercer.ensemble import IsolationForest
from mercer.errors import DataError
from mercer.inspection import OutlierScoresDisplay

pytest.importorskip("matplotlib")


def table(d=2):
    return np.random.default_rng(0).normal(size=(80, d))


def test_sorted_scores_are_divided_at_the_threshold():
    X = table(3)
    model = IsolationForest(n_estimators=10, contamination=0.1, random_state=0).fit(X)
    display = OutlierScoresDisplay.from_detector(model, X)
    usual, strange = (line.get_ydata() for line in display.ax_.lines[:2])
    assert len(strange) == display.n_outliers_ == 8
    assert (np.diff(np.concatenate([strange, usual])) >= 0).all()
    assert strange.max() < model.offset_ <= usual.min()


def test_contours_show_the_rows_and_the_threshold():
    X = table()
    model = IsolationForest(n_estimators=10, contamination=0.1, random_state=0).fit(X)
    display = OutlierScoresDisplay.from_detector(model, X, kind="contour")
    points = [len(part.get_offsets()) for part in display.ax_.collections if len(part.get_offsets()) > 1]
    assert points == [72, 8]


def test_contours_need_two_columns():
    X = table(3)
    model = IsolationForest(n_estimators=2).fit(X)
    with pytest.raises(DataError, match="contours need rows of 2 columns; got 3"):
        OutlierScoresDisplay.from_detector(model, X, kind="contour")
    with pytest.raises(DataError, match="kind must be one of 'sorted', 'contour'; got 'pie'"):
        OutlierScoresDisplay.from_detector(model, X, kind="pie")

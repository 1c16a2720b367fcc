"""Margins of rows in a frame."""

import warnings

import numpy as np
import pandas

from mercer.ensemble import AdaBoostClassifier, margins


def test_margins_of_a_frame_are_those_of_its_array_without_a_word():
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(random.normal(size=(50, 2)), columns=["length", "width"])
    y = (frame.length + 0.3 * random.normal(size=50) > 0).astype(int)
    model = AdaBoostClassifier(n_estimators=5).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = margins(model, frame, y)
    plain = AdaBoostClassifier(n_estimators=5).fit(frame.to_numpy(), y)
    np.testing.assert_array_equal(found, margins(plain, frame.to_numpy(), y))

"""The classes inside fitted scikit-learn models that have no public name.

A fitted calibrated classifier holds calibrators, an iterative imputer holds triplets. Their classes are private, but
their objects are public attributes: fitting the smallest model that has one gives its class, whatever it is called.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np


@cache
def _fit_calibrated(method: str) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.dummy import DummyClassifier

    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    model = CalibratedClassifierCV(DummyClassifier(), method=method, cv=2).fit(X, y)
    return model.calibrated_classifiers_[0]


def _find_calibrated_classifier() -> type:
    return type(_fit_calibrated("sigmoid"))


def _sigmoid_calibrator() -> type:
    return type(_fit_calibrated("sigmoid").calibrators[0])


def _temperature_calibrator() -> type:
    return type(_fit_calibrated("temperature").calibrators[0])


@cache
def _imputation() -> type:
    from sklearn.dummy import DummyRegressor
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    X = np.array([[0.0, 1.0], [1.0, np.nan]])
    return type(IterativeImputer(DummyRegressor(), max_iter=1, tol=10.0).fit(X).imputation_sequence_[0])


@cache
def _list_splits() -> type:
    from sklearn.model_selection import check_cv

    return type(check_cv([([0], [1])]))


PART_MAKERS: dict[str, Callable[[], type]] = {
    "sklearn.calibration.CalibratedClassifierCV.calibrated_classifiers_": _find_calibrated_classifier,
    "sklearn.calibration.CalibratedClassifierCV.sigmoid": _sigmoid_calibrator,
    "sklearn.calibration.CalibratedClassifierCV.temperature": _temperature_calibrator,
    "sklearn.impute.IterativeImputer.imputation_sequence_": _imputation,
    "sklearn.model_selection.check_cv": _list_splits,
}

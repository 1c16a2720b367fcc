"""The law of all explanations: values and base values add up to the answers of every estimator, found by type."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor

from mercer.explain import shapley
from tests.laws.subjects import first_settings, fit_once

ANSWERS = {"probability": "predict_proba", "score": "decision_function", "prediction": "predict"}
# Their rows are sequences or counts whose mixtures they refuse, or whose answers are no function of one row.
PREDICTORS = [subject for subject in first_settings() if is_classifier(subject.make()) or is_regressor(subject.make())]


@pytest.mark.parametrize("subject", PREDICTORS, ids=str)
def test_values_add_up_to_the_answer(subject):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_once(subject)
    X, _ = subject.data()
    found = shapley(model, X[:3], X[10:16], n_orders=6, random_state=0)
    answers = getattr(model, ANSWERS[found.output])(X[:3]) if found.output in ANSWERS else None
    if answers is not None:
        scale = np.abs(answers).max() + np.abs(found.base_values).max()
        np.testing.assert_allclose(found.predictions, answers, atol=1e-6 * scale)
    assert found.values.shape[:2] == (3, X.shape[1])
    assert (found.errors is None) == (found.method != "sampling")

"""Promise 7, weights are repetitions: a weight of two is the row twice, a weight of zero is no row."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from tests.laws.subjects import digest, first_settings, fit_once, fitted, outputs, subjects

WEIGHTED = [subject for subject in subjects() if subject.fit_takes("sample_weight")]


def fit_quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


def tight(subject, X):
    """The subject with its iterations run to the end, so that only the problem decides the answer."""
    changes = {"tol": 1e-10, "max_iter": 5000}
    if subject.name == "BisectingKMeans":
        changes |= {"init": lambda rows, k, random_state: np.quantile(rows, [0.0, 1.0], axis=0), "tol": 0.0}
    elif subject.takes("n_clusters"):
        changes |= {"init": X[[0, 50, 100, 150]], "n_init": 1, "tol": 0.0, "max_iter": 300}
    return subject.make(**changes)


@pytest.mark.parametrize("subject", WEIGHTED, ids=repr)
def test_integer_weights_equal_repeated_rows(subject):
    reason = subject.exempt("weights")
    X, y = subject.data(200, 5)
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weight[[0, 50, 100, 150]] = 1
    weighted = fit_quietly(tight(subject, X), X, y, sample_weight=weight.astype(float))
    repeated = fit_quietly(tight(subject, X), X.repeat(weight, axis=0), None if y is None else y.repeat(weight, axis=0))
    differences = [
        name
        for name, expected in outputs(repeated, X).items()
        if expected.dtype.kind == "f" and not np.allclose(outputs(weighted, X)[name], expected, rtol=1e-4, atol=1e-5)
    ]
    assert bool(differences) == bool(reason), (differences, reason)


@pytest.mark.parametrize("subject", WEIGHTED, ids=repr)
def test_unit_weights_change_nothing(subject):
    X, y = subject.data(200, 5)
    ones = fit_quietly(subject.make(), X, y, sample_weight=np.ones(len(X)))
    for name, expected in outputs(fit_once(subject, 200), X).items():
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(outputs(ones, X)[name], expected, rtol=1e-6, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("subject", [one for one in first_settings() if one.fit_takes("sample_weight")], ids=repr)
def test_weights_are_routed_through_a_pipeline(subject):
    X, y = subject.data(200, 5)
    weight = np.random.default_rng(0).random(200)
    direct = fit_quietly(subject.make(), subject.scaler().fit_transform(X), y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = subject.scaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, subject.make().set_fit_request(sample_weight=True))
        routed = fit_quietly(pipeline, X, y, sample_weight=weight)
    assert digest(fitted(routed[-1])) == digest(fitted(direct))


@pytest.mark.parametrize("subject", WEIGHTED, ids=repr)
def test_weights_that_make_no_sense_are_refused(subject):
    X, y = subject.data(100, 5)
    for weight, words in (
        (np.zeros(100), "sample_weight must have a positive entry; got zeros only"),
        (np.r_[-1.0, np.ones(99)], "sample_weight must be non-negative; got -1"),
        (np.ones(99), "Give one weight per row"),
    ):
        with pytest.raises(ValueError, match=words):
            subject.make().fit(X, y, sample_weight=weight)

"""Promise 10, models survive: a saved model is the same model, alone, in a pipeline, in a pickle."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import mercer
from tests.laws.subjects import digest, first_settings, fit_once, fitted, outputs, subjects

SUBJECTS = subjects()


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_saving_and_loading_keeps_every_bit(subject, tmp_path):
    X, _ = subject.data(200, 5)
    model = fit_once(subject, 200)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert type(loaded) is type(model)
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert digest(fitted(loaded)) == digest(fitted(model))
    assert digest(outputs(loaded, X)) == digest(outputs(model, X))


@pytest.mark.parametrize("subject", first_settings(), ids=repr)
def test_pipelines_of_both_libraries_are_saved_whole(subject, tmp_path):
    X, y = subject.data(200, 5)
    model = fit(make_pipeline(subject.scaler(), subject.make()), X, y)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert digest(outputs(loaded, X)) == digest(outputs(model, X))


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_pickles_and_clones_work(subject):
    X, y = subject.data(200, 5)
    model = fit_once(subject, 200)
    copy = pickle.loads(pickle.dumps(model))
    assert digest(outputs(copy, X)) == digest(outputs(model, X))
    assert digest(fitted(fit(clone(model), X, y))) == digest(fitted(model))


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_arrays_of_a_model_cannot_be_resized(subject):
    """Native code relies on the shapes that a fit, a pickle or a file has given them."""
    model = fit_once(subject, 200)
    for one in (model, pickle.loads(pickle.dumps(model))):
        for value in vars(one).values():
            if type(value) is np.ndarray:
                with pytest.raises(ValueError, match="does not own its data"):
                    value.resize(value.size + 1, refcheck=False)

"""What a user assigns to a fitted model, and what a pickle restores, is checked before the model answers."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

from mercer._base.guard import state
from mercer.cluster import KMeans
from mercer.errors import ModelFileError
from mercer.linear_model import Ridge
from mercer.mixture import GaussianMixture
from mercer.neighbors import KernelDensity, KNeighborsClassifier, LocalOutlierFactor
from mercer.random_projection import SparseRandomProjection
from mercer.svm import SVC

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.arange(60) % 3


@pytest.fixture
def checks(monkeypatch):
    """Count how often a state is compared with its declarations."""
    found = []
    check = state._check
    monkeypatch.setattr(state, "_check", lambda model: (found.append(type(model).__name__), check(model)))
    return found


def _other_tree(model):
    return KernelDensity().fit(X[:, :1]).tree_


def _spoil_tree(model):
    tree = copy.copy(model.tree_)
    vars(tree)["bounds"] = tree.bounds + 10**6
    return tree


def _spoil_matrix(model):
    matrix = model.components_.copy()
    matrix.indices = matrix.indices + 10**6
    return matrix


@pytest.mark.parametrize(
    ("model", "name", "make"),
    [
        (Ridge(), "coef_", lambda model: model.coef_[:2]),
        (KMeans(3), "cluster_centers_", lambda model: model.cluster_centers_[:, :2]),
        (KMeans(3), "cluster_centers_", lambda model: None),
        (SVC(), "n_support_", lambda model: model.n_support_ * 10**6),
        (SVC(), "support_vectors_", lambda model: model.support_vectors_[:-1]),
        (KernelDensity(), "tree_", _other_tree),
        (KernelDensity(), "tree_", _spoil_tree),
        (KNeighborsClassifier(), "_fit_X", lambda model: model._fit_X[:, :1]),
        (KNeighborsClassifier(), "_fit_X", lambda model: "rows"),
        (SparseRandomProjection(2, random_state=0), "components_", _spoil_matrix),
        (LocalOutlierFactor(novelty=True, metric="manhattan"), "n_neighbors_", lambda model: 0),
    ],
)
@pytest.mark.parametrize("way", ["assigned", "pickled"])
def test_parts_that_do_not_fit_are_refused_by_name_before_an_answer(model, name, make, way):
    model = model.fit(X, Y)
    method = next(name for name in ("score_samples", "predict", "transform") if hasattr(model, name))
    getattr(model, method)(X[:2])
    setattr(model, name, make(model))
    if way == "pickled":
        model = pickle.loads(pickle.dumps(model))
    with pytest.raises(ModelFileError, match=rf"({type(model).__name__}|RowTree|matrix).*assigned or unpickled"):
        getattr(model, method)(X[:2])


def test_methods_that_draw_are_guarded_too():
    model = GaussianMixture(2).fit(X)
    model.means_ = model.means_[:, :1]
    with pytest.raises(ModelFileError, match=r"GaussianMixture.means_ must have the shape .*assigned or unpickled"):
        model.sample(2)


def test_what_fits_may_be_assigned():
    model = Ridge().fit(X, X[:, 0])
    model.coef_ = np.array([1.0, 0.0, 0.0])
    model.intercept_ = 2.0
    np.testing.assert_allclose(model.predict(X), X[:, 0] + 2.0)


def test_a_state_is_checked_once_after_a_change_and_not_after_a_fit(checks):
    model = Ridge().fit(X, X[:, 0])
    model.predict(X)
    assert checks == []
    model.coef_ = model.coef_.copy()
    model.predict(X)
    model.predict(X)
    assert checks == ["Ridge"]
    other = pickle.loads(pickle.dumps(model))
    other.predict(X)
    other.predict(X)
    assert checks == ["Ridge", "Ridge"]


def test_attributes_of_a_subclass_are_left_alone():
    class Named(Ridge):
        def fit(self, X, y):
            super().fit(X, y)
            self.owner_ = {"name": "ash"}
            return self

    assert Named().fit(X, Y).predict(X).shape == (60,)


def test_what_was_noted_is_no_attribute_and_keeps_no_model_alive():
    model = Ridge().fit(X, Y)
    assert "_noted" not in vars(model)
    assert all("_noted" not in str(pickle.dumps(model, protocol)) for protocol in range(6))
    model.itself_ = model
    model.predict(X)
    seen = weakref.ref(model)
    del model
    gc.collect()
    assert seen() is None

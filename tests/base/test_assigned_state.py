"""What a user assigns to a fitted model, and what a pickle restores, is checked there, and not before each answer."""

import copy
import pickle
import warnings

import numpy as np
import pytest

from mercer._base.guard import soundness
from mercer.cluster import KMeans
from mercer.errors import ModelFileError
from mercer.linear_model import Ridge
from mercer.mixture import GaussianMixture
from mercer.neighbors import KernelDensity, KNeighborsClassifier, LocalOutlierFactor
from mercer.random_projection import SparseRandomProjection
from mercer.svm import SVC

X = np.sin(np.arange(1.0, 181.0)).reshape(60, 3)
Y = np.arange(60) % 3


@pytest.fixture
def checks(monkeypatch):
    """Count how often a state is compared with its declarations."""
    found = []
    check = soundness.check_state
    monkeypatch.setattr(soundness, "check_state", lambda model: (found.append(type(model).__name__), check(model)))
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
        (GaussianMixture(2), "means_", lambda model: model.means_[:, :1]),
        (LocalOutlierFactor(novelty=True, metric="manhattan"), "n_neighbors_", lambda model: 0),
    ],
)
def test_parts_that_do_not_fit_are_refused_by_name_where_they_come_in(model, name, make):
    model = model.fit(X, Y)
    before, part = getattr(model, name), make(model)
    who = rf"({type(model).__name__}|RowTree|matrix)"
    with pytest.raises(ModelFileError, match=rf"{who}.* assigned"):
        setattr(model, name, part)
    assert getattr(model, name) is before
    vars(model)[name] = part
    data = pickle.dumps(model)
    with pytest.raises(ModelFileError, match=rf"{who}.* unpickled"):
        pickle.loads(data)
    with pytest.raises(ModelFileError, match=rf"{who}.* unpickled"):
        copy.copy(model)


def test_what_fits_may_be_assigned():
    model = Ridge().fit(X, X[:, 0])
    model.coef_ = np.array([1.0, 0.0, 0.0])
    model.intercept_ = 2.0
    np.testing.assert_allclose(model.predict(X), X[:, 0] + 2.0)


def test_a_state_is_checked_when_it_comes_in_and_not_when_it_answers(checks):
    model = Ridge().fit(X, X[:, 0])
    model.predict(X)
    assert checks == []
    model.coef_ = model.coef_.copy()
    assert checks == ["Ridge"]
    other = pickle.loads(pickle.dumps(model))
    assert checks == ["Ridge", "Ridge"]
    model.set_params(alpha=2.0).predict(X)
    other.predict(X)
    assert checks == ["Ridge", "Ridge"]


def test_a_model_may_be_put_together_by_hand():
    model = Ridge()
    model.coef_ = np.array([1.0, 0.0, 0.0])
    model.n_features_in_ = 3
    with pytest.raises(ModelFileError, match=r"intercept_ must be one number; this model has 2.* assigned"):
        model.intercept_ = np.zeros(2)
    model.intercept_ = 2.0
    np.testing.assert_allclose(model.predict(X), X[:, 0] + 2.0)


def test_a_class_with_its_own_fit_may_be_fitted_to_other_columns():
    class Checked(Ridge):
        def fit(self, X, y):
            self.n_features_in_ = X.shape[1]
            return super().fit(X, y)

    model = Checked().fit(X, Y).fit(X[:, :2], Y)
    assert model.predict(X[:, :2]).shape == (60,)


def test_attributes_of_a_subclass_are_left_alone():
    class Named(Ridge):
        def fit(self, X, y):
            super().fit(X, y)
            self.owner_ = {"name": "ash"}
            return self

    assert Named().fit(X, Y).predict(X).shape == (60,)


def test_centres_whose_shape_was_set_in_place_are_refused():
    model = KMeans(3, random_state=0).fit(X)
    with warnings.catch_warnings():
        # NumPy 2.5 deprecates the assignment.
        warnings.simplefilter("ignore", DeprecationWarning)
        model.cluster_centers_.shape = (9, 1)
    with pytest.raises(ModelFileError, match=r"cluster_centers_ must have 3 columns; its shape is now \(9, 1\)"):
        model.predict(X[:2])

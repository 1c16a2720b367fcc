"""Every kernel in every place that takes one, against the same place given the values of the kernel.

Producers are the public subclasses of Kernel. Consumers are the public estimators whose declared range of
the parameter `kernel` accepts a kernel object, and the public functions with a parameter of that name.
"""

import inspect

import numpy as np
import pytest
import sklearn.gaussian_process.kernels
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

from mercer import kernels
from mercer.errors import MercerError
from mercer.kernels import Kernel
from tests.vocabulary.public_names import list_classes, list_consumers

X, NEW = np.random.default_rng(0).uniform(0.1, 2.0, (24, 2)), np.random.default_rng(1).uniform(0.1, 2.0, (5, 2))
LABELS, NUMBERS = (X[:, 0] > X[:, 1]).astype(int), X[:, 0] - X[:, 1] ** 2
ARGUMENTS = {
    "kernel": kernels.RBF(0.7),
    "k1": kernels.RBF(0.7),
    "k2": kernels.Linear(),
    "columns": [0],
    "exponent": 2.0,
    "function": lambda A, B: np.exp(-np.square(A[:, None] - B).sum(axis=2)),
}


def make(cls):
    """Return a kernel of a class, with given values for what has no default."""
    if cls is kernels.ScikitKernel:
        return cls(sklearn.gaussian_process.kernels.RBF(0.7))
    needed = [name for name, one in inspect.signature(cls).parameters.items() if one.default is one.empty]
    unknown = set(needed) - set(ARGUMENTS)
    assert not unknown, f"teach the grid how to make {cls.__name__}: give ARGUMENTS a value for {unknown}"
    return cls(**{name: ARGUMENTS[name] for name in needed})


# Precomputed stands for values that are given; it has none of rows.
CLASSES = list_classes(lambda cls: issubclass(cls, Kernel) and cls not in (Kernel, kernels.Precomputed))
KERNELS = {name: make(cls) for name, cls in CLASSES.items()}
DEFINITE = {name for name, kernel in KERNELS.items() if kernel.positive_definite}


PLACES = list_consumers(r"^$", names=("kernel",))
ESTIMATORS = {name: cls for name, cls in PLACES.items() if isinstance(cls, type) and issubclass(cls, BaseEstimator)}
TAKING = {name: cls for name, cls in ESTIMATORS.items() if cls._parameters["kernel"].accepts(kernels.RBF())}


def test_the_grid_finds_kernels_and_estimators_and_says_who_takes_names_only():
    assert len(KERNELS) >= 20
    assert len(TAKING) >= 14
    # Three have a parameter of that name for something else: a profile of bumps, a kernel with known random features,
    # and the similarity of places in a map.
    others = {"neighbors.KernelDensity", "kernel_approximation.RBFSampler", "manifold.TSNE"}
    assert set(ESTIMATORS) - set(TAKING) == others


@pytest.mark.parametrize("name", KERNELS)
def test_values_do_not_depend_on_how_they_are_asked_for(name):
    kernel = KERNELS[name]
    matrix = kernel(X)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(matrix), rtol=1e-9, atol=1e-12)
    if name != "kernels.White":  # noise belongs to a row, and not to rows with equal values
        np.testing.assert_allclose(kernel(NEW, X), kernel(X, NEW).T, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(kernel(np.r_[X, NEW])[24:, :24], kernel(NEW, X), rtol=1e-9, atol=1e-12)
    if name in DEFINITE:
        assert np.linalg.eigvalsh(matrix).min() > -1e-9 * np.abs(matrix).max()


def answer(model, rows):
    """What a fitted model says of rows, in a form that does not depend on signs of axes."""
    for method in ("decision_function", "predict", "transform"):
        if hasattr(model, method):
            values = np.asarray(getattr(model, method)(rows), dtype=np.float64)
            return np.abs(values) if method == "transform" else values
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("place", TAKING)
def test_every_kernel_in_every_place(place, name):
    kernel, cls = KERNELS[name], TAKING[place]
    settings = {"random_state": 0} if "random_state" in cls._parameters else {}
    settings |= {"optimizer": None} if "optimizer" in cls._parameters else {}
    settings |= {"tol": 1e-8} if place.startswith("svm") else {}
    model = cls(kernel=kernel, **settings)
    y = NUMBERS if is_regressor(model) else LABELS
    if name not in DEFINITE:
        # A function that is no Mercer kernel may be refused, in words, and need not have an answer.
        try:
            model.fit(X, y)
        except (MercerError, np.linalg.LinAlgError, ValueError):
            return
    model = clone(model).fit(X, y)
    found = answer(model, NEW)
    assert found is None or np.isfinite(found).all()
    takes_values = cls._parameters["kernel"].accepts("precomputed")
    if not takes_values or name not in DEFINITE - {"kernels.White"} or found is None:
        return
    # The same values, computed beforehand, give the same answer.
    settings |= {"y_kernel": "linear"} if "y_kernel" in cls._parameters else {}
    other = cls(kernel="precomputed", **settings).fit(kernel(X, X), y)
    if is_classifier(model) or is_regressor(model):
        size = 1 + np.abs(found).max()
        np.testing.assert_allclose(answer(other, kernel(NEW, X)), found, rtol=1e-4, atol=1e-4 * size)


@pytest.mark.parametrize("place", [place for place, cls in PLACES.items() if place.startswith("kernels.")])
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_in_every_function_of_kernels(place, name):
    kernel, function = KERNELS[name], PLACES[place]
    if place in ("kernels.Columns", "kernels.Power"):
        found = function(kernel, [0, 1] if place == "kernels.Columns" else 2.0)(X, X)
        wanted = kernel(X, X) if place == "kernels.Columns" else kernel(X, X) ** 2
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    elif place == "kernels.as_kernel":
        assert function(kernel) is kernel
    elif place == "kernels.feature_distances":
        matrix = kernel(X)
        wanted = np.diag(matrix)[:, None] + np.diag(matrix) - 2 * matrix
        if name in DEFINITE:
            np.testing.assert_allclose(function(kernel, X), wanted, atol=1e-9)
    elif place == "kernels.distances_from_mean":
        matrix = kernel(X)
        wanted = np.diag(matrix) - 2 * kernel(X, X).mean(axis=1) + matrix.mean()
        if name in DEFINITE:
            np.testing.assert_allclose(function(kernel, X, X), wanted, atol=1e-9)
    elif place == "kernels.EmpiricalFeatureMap":
        if name in DEFINITE and name != "kernels.White":
            features, matrix = function(kernel).fit(X).transform(X), kernel(X, X)
            np.testing.assert_allclose(features @ features.T, matrix, atol=1e-6 * (1 + np.abs(matrix).max()))
    else:
        assert place in ("kernels.ScikitKernel", "kernels.warn_of_scale"), f"teach the grid how to call {place}"

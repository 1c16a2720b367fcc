"""KernelDiscriminantAnalysis: the linear discriminant, the definition, rings, weights."""

import numpy as np
import pytest
from sklearn.datasets import make_circles, make_classification

from mercer import kernels
from mercer.discriminant_analysis import KernelDiscriminantAnalysis, LinearDiscriminantAnalysis
from mercer.errors import DataError


@pytest.mark.catalogue("KM-19")
def test_the_linear_kernel_is_fishers_discriminant():
    X, y = make_classification(200, 4, n_informative=4, n_redundant=0, random_state=0)
    ours, theirs = (
        KernelDiscriminantAnalysis(kernel="linear", mu=1e-8).fit(X, y),
        LinearDiscriminantAnalysis().fit(X, y),
    )
    assert abs(np.corrcoef(ours.transform(X)[:, 0], theirs.transform(X)[:, 0])[0, 1]) == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


@pytest.mark.catalogue("KM-19")
def test_two_classes_have_the_direction_of_the_formula():
    X, y = make_classification(80, 3, n_informative=3, n_redundant=0, random_state=1)
    model = KernelDiscriminantAnalysis(gamma=0.5, mu=0.1).fit(X, y)
    K = kernels.RBF(gamma=0.5)(X)
    parts = [K[:, y == c] for c in (0, 1)]
    within = sum(part @ (np.eye(part.shape[1]) - 1 / part.shape[1]) @ part.T for part in parts)
    expected = np.linalg.solve(within + 0.1 * np.eye(80), parts[1].mean(axis=1) - parts[0].mean(axis=1))
    found = model.dual_coef_[:, 0]
    np.testing.assert_allclose(found * (expected @ found) / (found @ found), expected, rtol=1e-6, atol=1e-10)


@pytest.mark.catalogue("KM-19")
def test_rings_are_told_apart():
    X, ring = make_circles(200, factor=0.4, noise=0.08, random_state=0)
    assert KernelDiscriminantAnalysis(gamma=1.0).fit(X, ring).score(X, ring) == 1.0
    assert LinearDiscriminantAnalysis().fit(X, ring).score(X, ring) < 0.7


def test_weights_are_repetitions_and_names_do_not_matter():
    X, y = make_classification(120, 4, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    names = np.array(["ash", "birch", "cedar"])[y]
    weighted = KernelDiscriminantAnalysis().fit(X, names, weight)
    repeated = KernelDiscriminantAnalysis().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)
    assert weighted.transform(X).shape == (120, 2)
    assert KernelDiscriminantAnalysis(1).fit(X, y).transform(X).shape == (120, 1)


def test_one_class_is_refused():
    with pytest.raises(DataError, match="at least 2 classes are needed, but the data contains only one class"):
        KernelDiscriminantAnalysis().fit(np.eye(3), np.zeros(3))


def test_weights_that_hide_mu_are_an_error_with_a_cure():
    # Many rows, so that many eigenvalues of their kernel values are rounding: beside it, all would have to be positive.
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(DataError, match=r"must be positive definite; .* up to 1e\+15\. Divide sample_weight"):
        KernelDiscriminantAnalysis().fit(X, np.arange(60) % 2, np.full(60, 1e15))


def test_directions_that_are_computed_aside_have_the_same_bits(monkeypatch):
    X = np.random.default_rng(0).normal(size=(30, 2))
    here = KernelDiscriminantAnalysis().fit(X, X[:, 0] > 0)
    monkeypatch.setattr("mercer.discriminant_analysis._kernel_discriminant.HEAVY", 10)
    aside = KernelDiscriminantAnalysis().fit(X, X[:, 0] > 0)
    np.testing.assert_array_equal(here.transform(X), aside.transform(X))

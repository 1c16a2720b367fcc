"""Features of chi-squared kernels, and tensor sketches of polynomial ones."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse
import sklearn.kernel_approximation as theirs

from mercer.errors import DataError, ModelFileError
from mercer.kernel_approximation import AdditiveChi2Sampler, PolynomialCountSketch, SkewedChi2Sampler


def draw_histograms(n=25, d=6, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(d), size=n)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_samples_of_the_spectrum_are_those_of_scikit_learn(steps, sparse):
    X = draw_histograms()
    X[X < 0.1] = 0
    X = scipy.sparse.csr_array(X) if sparse else X
    ours, expected = (
        one.fit_transform(X)
        for one in (AdditiveChi2Sampler(sample_steps=steps), theirs.AdditiveChi2Sampler(sample_steps=steps))
    )
    gap = ours - expected
    assert abs(gap.toarray() if sparse else gap).max() < 1e-14
    if sparse:
        assert ours.has_sorted_indices or (ours.sort_indices() is None)


def test_more_samples_come_nearer_to_the_additive_kernel():
    X = draw_histograms()
    K = (2 * X[:, None] * X[None] / (X[:, None] + X[None])).sum(axis=2)
    errors = []
    for steps, interval in ((1, None), (3, None), (10, 0.25)):
        Z = AdditiveChi2Sampler(sample_steps=steps, sample_interval=interval).fit_transform(X)
        errors.append(np.abs(Z @ Z.T - K).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-2


def test_a_product_of_skewed_features_is_the_kernel_on_average():
    X = draw_histograms(n=12, d=3)
    c = X + 0.2
    K = (2 * np.sqrt(c[:, None] * c[None]) / (c[:, None] + c[None])).prod(axis=2)
    errors = []
    for count in (200, 20_000):
        Z = SkewedChi2Sampler(skewedness=0.2, n_components=count, random_state=1).fit_transform(X)
        errors.append(np.abs(Z @ Z.T - K).max())
    assert errors[1] < 0.05
    assert errors[1] < errors[0]


def test_frequencies_follow_the_hyperbolic_secant():
    weights = SkewedChi2Sampler(n_components=4000, random_state=0).fit(np.ones((2, 5))).random_weights_.ravel()
    # The variance of the density sech(pi w) is a quarter, and half of it lies within arsinh(1) / pi.
    np.testing.assert_allclose(np.var(weights), 0.25, rtol=0.05)
    np.testing.assert_allclose(np.mean(np.abs(weights) < np.arcsinh(1.0) / np.pi), 0.5, atol=0.02)


def test_a_tensor_sketch_is_the_sum_over_all_tuples_of_columns():
    X = np.random.default_rng(2).normal(size=(4, 3))
    model = PolynomialCountSketch(n_components=11, degree=3, coef0=2.0, gamma=0.5, random_state=3).fit(X)
    wide = np.column_stack([np.sqrt(0.5) * X, np.full(4, np.sqrt(2.0))])
    expected = np.zeros((4, 11))
    for columns in product(range(4), repeat=3):
        place = sum(model.indexHash_[factor, column] for factor, column in enumerate(columns)) % 11
        sign = np.prod([model.bitHash_[factor, column] for factor, column in enumerate(columns)])
        expected[:, place] += sign * wide[:, columns].prod(axis=1)
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-12)
    np.testing.assert_allclose(model.transform(scipy.sparse.csr_array(X)), expected, atol=1e-12)


def test_a_product_of_sketches_is_unbiased():
    X = np.random.default_rng(4).normal(size=(5, 4))
    products = []
    for seed in range(300):
        Z = PolynomialCountSketch(n_components=32, random_state=seed).fit_transform(X)
        products.append(Z @ Z.T)
    gap = np.mean(products, axis=0) - (X @ X.T) ** 2
    assert (np.abs(gap) < 6 * np.std(products, axis=0) / np.sqrt(300) + 1e-9).all()


def test_few_and_many_rows_have_the_same_features():
    X = np.random.default_rng(5).normal(size=(500, 7))
    model = PolynomialCountSketch(n_components=64, coef0=1.0, random_state=0).fit(X)
    np.testing.assert_array_equal(model.transform(X)[:3], model.transform(X[:3]))


def test_rows_below_the_range_of_the_kernel_are_refused():
    with pytest.raises(DataError, match=r"Negative values in data passed to X in AdditiveChi2Sampler.*got -1"):
        AdditiveChi2Sampler().fit([[-1.0, 2.0]])
    model = SkewedChi2Sampler(skewedness=0.5).fit([[0.0, 1.0]])
    with pytest.raises(DataError, match=r"X may not contain entries smaller than -skewedness.*got -0.5"):
        model.transform([[-0.5, 1.0]])


def test_another_constant_after_the_fit_and_forged_places_are_refused():
    model = PolynomialCountSketch(n_components=8, random_state=0).fit([[1.0, 2.0]])
    with pytest.raises(DataError, match="Number of features of test samples"):
        model.set_params(coef0=1.0).transform([[1.0, 2.0]])
    with pytest.raises(ModelFileError, match="a place below 8"):
        model.indexHash_ = np.full((2, 2), 8)

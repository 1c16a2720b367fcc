"""Loss statistics: gradients and Hessians by differences, the same on dense, sparse and any array library."""

import array_api_strict
import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer._objective import Logistic, Softmax
from mercer._source import ArraySource, SparseSource
from mercer._statistic.class_moments import LabelledScatter
from mercer._statistic.loss import ClassCurvature, CurvatureProduct, LossCurvature, LossGradient

LOSSES = [Logistic(), Softmax(3)]


def make(loss, n=700, d=4):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d)) * (random.uniform(size=(n, d)) < 0.6)
    y = random.integers(0, loss.n_classes, size=n)
    parameters = random.normal(size=(loss.n_scores, d + 1))
    return X, y.astype(np.float64) if loss.n_scores == 1 else y, random.uniform(0, 2, size=n), parameters


@pytest.mark.catalogue("LM-14", "LM-15")
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_gradient_is_that_of_the_value_and_the_hessian_that_of_the_gradient(loss):
    X, y, weight, parameters = make(loss)
    source = ArraySource(X, y, weight)
    sums = source.reduce(LossGradient(loss, parameters))
    hessian = source.reduce(LossCurvature(loss, parameters))
    assert np.linalg.eigvalsh(hessian).min() > -1e-9
    for index in np.ndindex(parameters.shape):
        move = np.zeros_like(parameters)
        move[index] = 1e-5
        ahead, behind = (source.reduce(LossGradient(loss, parameters + sign * move)) for sign in (1, -1))
        assert sums.gradient[index] == pytest.approx((ahead.value - behind.value) / 2e-5, rel=1e-5, abs=1e-5)
        column = hessian[:, np.ravel_multi_index(index, parameters.shape)]
        assert column == pytest.approx((ahead.gradient - behind.gradient).reshape(-1) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_hessian_products_and_working_sets_are_parts_of_the_hessian(loss):
    X, y, weight, parameters = make(loss)
    source = ArraySource(X, y, weight)
    hessian = source.reduce(LossCurvature(loss, parameters))
    direction = np.random.default_rng(1).normal(size=parameters.shape)
    product = source.reduce(CurvatureProduct(loss, parameters, direction))
    assert product.reshape(-1) == pytest.approx(hessian @ direction.reshape(-1))
    chosen = np.array([0, 2])
    part = source.reduce(LossCurvature(loss, parameters, chosen))
    kept = (np.arange(loss.n_scores)[:, None] * 5 + np.array([0, 2, 4])).reshape(-1)
    assert part == pytest.approx(hessian[np.ix_(kept, kept)])


def test_class_curvatures_are_the_diagonal_blocks_of_the_hessian():
    loss = Softmax(3)
    X, y, weight, parameters = make(loss)
    dense, sparse = ArraySource(X, y, weight), SparseSource(csr_array(X), y, weight)
    xp = array_api_strict
    other = ArraySource(xp.asarray(X), xp.asarray(y), xp.asarray(weight), xp=xp)
    hessian = dense.reduce(LossCurvature(loss, parameters)).reshape(3, 5, 3, 5)
    for source, given in ((dense, parameters), (sparse, parameters), (other, xp.asarray(parameters))):
        blocks = np.asarray(source.reduce(ClassCurvature(loss, given)))
        for j in range(3):
            assert blocks[j] == pytest.approx(hessian[j, :, j], abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_sparse_rows_and_other_libraries_give_the_same_sums(loss):
    X, y, weight, parameters = make(loss)
    dense, sparse = ArraySource(X, y, weight), SparseSource(csr_array(X), y, weight)
    xp = array_api_strict
    other = ArraySource(xp.asarray(X), xp.asarray(y), xp.asarray(weight), xp=xp)
    for statistic in (LossGradient, LossCurvature):
        want = dense.reduce(statistic(loss, parameters))
        got = [sparse.reduce(statistic(loss, parameters)), other.reduce(statistic(loss, xp.asarray(parameters)))]
        for sums in got:
            found, expected = (getattr(one, "gradient", one) for one in (sums, want))
            assert np.asarray(found) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_moments_of_labelled_rows_are_the_same_about_zero_and_about_the_mean(loss, diagonal):
    X, y, weight, _ = make(loss)
    statistic = LabelledScatter(loss, diagonal)
    dense, sparse = (
        statistic.read(source.reduce(statistic))
        for source in (ArraySource(X, y, weight), SparseSource(csr_array(X), y, weight))
    )
    for name in ("mean", "shares", "cross", "scatter"):
        assert getattr(sparse, name) == pytest.approx(getattr(dense, name), abs=1e-12)

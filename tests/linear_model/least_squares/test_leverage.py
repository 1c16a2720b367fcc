"""The hat matrix is a projection, its diagonal the leverages, and both give leave-one-out residuals."""

import numpy as np
import pytest
import scipy.linalg

from mercer.linear_model import LinearRegression, hat_matrix, leave_one_out_residuals, leverages


@pytest.mark.catalogue("LM-02")
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("rank", [3, 5])
def test_the_hat_matrix_projects_onto_the_columns(fit_intercept, rank):
    random = np.random.default_rng(0)
    X = random.normal(size=(30, rank)) @ random.normal(size=(rank, 5)) + 10.0 * fit_intercept
    y = random.normal(size=30)
    P = hat_matrix(X, fit_intercept=fit_intercept)
    np.testing.assert_allclose(P, P.T, atol=1e-14)
    np.testing.assert_allclose(P @ P, P, atol=1e-12)
    assert P.trace() == pytest.approx(rank + fit_intercept)
    columns = np.c_[X, np.ones(30)] if fit_intercept else X
    basis = scipy.linalg.orth(columns, rcond=1e-10)
    np.testing.assert_allclose(P, basis @ basis.T, atol=1e-12)
    if rank == 5:
        model = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
        np.testing.assert_allclose(P @ y, model.predict(X), atol=1e-12)


@pytest.mark.catalogue("LM-02")
def test_leverages_are_the_diagonal_whatever_the_blocks():
    X = np.random.default_rng(0).normal(size=(20_000, 3)) + 1e4
    found = leverages(X)
    assert found.sum() == pytest.approx(4)
    np.testing.assert_allclose(found[:200], leverages(X, n_jobs=2)[:200], rtol=0, atol=0)
    small = X[:50]
    np.testing.assert_allclose(leverages(small), np.diag(hat_matrix(small)), rtol=1e-10)


@pytest.mark.catalogue("LM-02")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_leverages_of_a_line_and_of_groups_are_in_closed_form(unit, shift):
    """h_i = 1/n + (x_i - mean)^2 / Sxx on a line; among groups a row shares the projection with its own group."""
    x = np.array([1.0, 2.0, 4.0, 7.0, 11.0]) * unit + shift * unit
    away = x - x.mean()
    known = 1 / 5 + away**2 / (away @ away)
    np.testing.assert_allclose(leverages(x[:, None]), known, rtol=1e-9)
    P = hat_matrix(x[:, None])
    np.testing.assert_allclose(P, 1 / 5 + np.outer(away, away) / (away @ away), atol=1e-9)
    # Leaving a row out: r / (1 - h) is the error of the line through the other four, found by their own means.
    y = np.array([3.0, -1.0, 2.0, 2.0, 8.0])
    expected = []
    for i in range(5):
        rest = np.arange(5) != i
        slope = np.sum((x[rest] - x[rest].mean()) * y[rest]) / np.sum((x[rest] - x[rest].mean()) ** 2)
        expected.append(y[i] - y[rest].mean() - slope * (x[i] - x[rest].mean()))
    np.testing.assert_allclose(leave_one_out_residuals(x[:, None], y), expected, rtol=1e-8)
    sizes = [2, 3, 5]
    groups = unit * np.repeat(np.eye(3), sizes, axis=0)
    # The indicators of all groups sum to the constant: rank 3, with or without an intercept.
    for intercept in (True, False):
        P = hat_matrix(groups, fit_intercept=intercept)
        blocks = scipy.linalg.block_diag(*(np.full((size, size), 1 / size) for size in sizes))
        np.testing.assert_allclose(P, blocks, atol=1e-12)
        np.testing.assert_allclose(leverages(groups, fit_intercept=intercept), np.diag(blocks), rtol=1e-10)
        assert P.trace() == pytest.approx(3)


@pytest.mark.catalogue("LM-02")
def test_columns_in_units_far_apart_keep_the_projection_and_its_fit():
    """Signs that are orthogonal project onto themselves, whatever the lengths of the columns."""
    signs = scipy.linalg.hadamard(8)[:, [1, 2, 4]].astype(float)
    X, y = signs * [1e6, 1.0, 1e-6], np.array([3.0, 1.0, -2.0, 5.0, 0.0, 4.0, -1.0, 2.0])
    P = (np.ones((8, 8)) + signs @ signs.T) / 8
    np.testing.assert_allclose(hat_matrix(X), P, atol=1e-9)
    np.testing.assert_allclose(leverages(X), 0.5, rtol=1e-9)
    np.testing.assert_allclose(leave_one_out_residuals(X, y), 2 * (y - P @ y), rtol=1e-8)
    np.testing.assert_allclose(LinearRegression().fit(X, y).predict(X), P @ y, atol=1e-8)


@pytest.mark.catalogue("LM-02")
def test_leave_one_out_residuals_are_those_of_refits():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(15, 3)), random.normal(size=(15, 2))
    expected = []
    for i in range(15):
        others = np.arange(15) != i
        expected.append(y[i] - LinearRegression().fit(X[others], y[others]).predict(X[[i]])[0])
    np.testing.assert_allclose(leave_one_out_residuals(X, y), expected, rtol=1e-9)


def test_a_row_that_nothing_else_determines_has_no_leave_one_out_residual():
    X = np.array([[0.0], [0.0], [0.0], [1.0]])
    residuals = leave_one_out_residuals(X, [1.0, 2.0, 3.0, 9.0])
    assert np.isnan(residuals[3])
    np.testing.assert_allclose(residuals[:3], [-1.5, 0.0, 1.5], atol=1e-12)


def test_leverages_do_not_depend_on_the_unit_of_a_column():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    scaled = X * [1.0, 1e10, 1e-10]
    np.testing.assert_allclose(leverages(scaled), leverages(X), rtol=1e-9)
    np.testing.assert_allclose(leave_one_out_residuals(scaled, y), leave_one_out_residuals(X, y), rtol=1e-9)

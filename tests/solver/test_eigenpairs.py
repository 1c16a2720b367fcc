"""Eigenvectors of symmetric matrices by LAPACK, without the interpreter's lock."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError, eigh

from mercer._solver import eigenpairs, request
from mercer.kernel_ridge import KernelLogisticRegression, KernelRidgeCV, _kernel_logistic
from mercer.linear_model._solvers.closed_form import dual_equations

N = 90


@pytest.fixture
def made_large(monkeypatch):
    """Treat every matrix of more than 10 rows as large."""
    monkeypatch.setattr(dual_equations, "HEAVY", 10)
    monkeypatch.setattr(_kernel_logistic, "HEAVY", 10)


@pytest.fixture
def calls(monkeypatch):
    """List what runs aside, and what native code decomposes."""
    seen = []
    aside, native = request.run_aside, eigenpairs.eigenpairs.decompose_some

    class Native:
        @staticmethod
        def decompose_some(*arguments):
            seen.append("native")
            return native(*arguments)

    monkeypatch.setattr(request, "run_aside", lambda function: (seen.append("aside"), aside(function))[1])
    monkeypatch.setattr(eigenpairs, "eigenpairs", Native)
    return seen


def make_matrix(dtype, n=N):
    root = np.random.default_rng(0).normal(size=(n, n))
    # The upper triangle differs, to show which one is read.
    return (root @ root.T + np.triu(np.ones((n, n)), 1)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("first", "last"), [(0, N - 1), (N - 7, N - 1), (0, 2), (30, 40)])
def test_the_bits_are_those_of_scipy(made_large, dtype, first, last):
    matrix = make_matrix(dtype)
    kept = matrix.copy()
    values, vectors = eigenpairs.find_eigenpairs(matrix, first, last)
    expected = eigh(matrix, subset_by_index=[first, last])
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(vectors, expected[1])
    np.testing.assert_array_equal(matrix, kept)
    # Products of the vectors have the same bits only in the same order in memory.
    assert vectors.flags.f_contiguous == expected[1].flags.f_contiguous


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_divide_and_conquer_has_the_bits_of_scipy(made_large, dtype):
    matrix = make_matrix(dtype)
    for found, expected in zip(
        eigenpairs.find_eigenpairs(matrix, driver="evd"), eigh(matrix, driver="evd"), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_a_failure_of_lapack_is_an_error(made_large, monkeypatch):
    monkeypatch.setattr(eigenpairs.eigenpairs, "decompose_whole", lambda *arguments: 3)
    with pytest.raises(LinAlgError, match=r"eigenvectors of a 20 x 20 matrix: LAPACK's evd must end .* returned 3"):
        eigenpairs.find_eigenpairs(np.eye(20), driver="evd")


def test_kernel_models_decompose_aside_and_without_the_lock(made_large, calls):
    random = np.random.default_rng(0)
    X = random.normal(size=(20, 2))
    KernelLogisticRegression().fit(X, X[:, 0] > 0)
    assert calls[:2] == ["aside", "native"]
    calls.clear()
    KernelRidgeCV(kernel="rbf").fit(X, X[:, 0])
    assert calls[:2] == ["aside", "native"]
    calls.clear()
    # Few rows do not pay for a thread.
    KernelLogisticRegression().fit(X[:8], X[:8, 0] > 0)
    assert calls == ["native"]


def test_entries_that_are_not_finite_are_refused_where_asked():
    for spoiler in (np.nan, np.inf):
        with pytest.raises(ValueError, match="infs or NaNs"):
            eigenpairs.find_eigenpairs(np.diag([1.0, spoiler]), check_finite=True)

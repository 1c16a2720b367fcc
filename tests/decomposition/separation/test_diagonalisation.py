"""Joint diagonalisation by three methods: exact sets, noise, criteria that fall, errors."""

import numpy as np
import pytest

from mercer.decomposition import amari_distance, diagonalize_jointly
from mercer.errors import DataError, ParameterError


def mixed(A, diagonals, noise=0.0):
    """Matrices A D A^T with symmetric noise."""
    C = np.array([A @ np.diag(d) @ A.T for d in diagonals])
    E = np.random.default_rng(1).normal(size=C.shape)
    return C + noise * (E + E.transpose(0, 2, 1)) / 2


@pytest.mark.catalogue("PM-15")
@pytest.mark.parametrize("method", ["jacobi", "ffdiag", "qdiag"])
@pytest.mark.parametrize("k", [2, 7])
def test_exactly_diagonalisable_sets_become_diagonal(method, k):
    random = np.random.default_rng(0)
    A = np.linalg.qr(random.normal(size=(k, k)))[0]
    if method != "jacobi":
        # Condition 4: the rounding of the answer grows with it.
        A = A * np.linspace(0.5, 2.0, k) @ np.linalg.qr(random.normal(size=(k, k)))[0]
    C = mixed(A, random.normal(size=(6, k)))
    result = diagonalize_jointly(C, method)
    assert result.converged
    assert result.certificate.satisfied
    # The criterion is a share of squares: entries off the diagonals are 1e-12 of the others.
    assert result.criterion < 1e-24
    assert amari_distance(result.transform, A) < 1e-10
    D = result.transform @ C @ result.transform.T
    np.testing.assert_allclose(np.diagonal(D, axis1=1, axis2=2), result.diagonals, atol=1e-12)
    assert np.linalg.cond(result.transform) < 1e6


@pytest.mark.catalogue("PM-15")
@pytest.mark.parametrize("method", ["jacobi", "ffdiag", "qdiag"])
def test_the_criterion_falls_on_noisy_sets(method):
    random = np.random.default_rng(0)
    first, second = (np.linalg.qr(random.normal(size=(5, 5)))[0] for _ in range(2))
    # Of condition 1 or 2: the inverse of a matrix close to singular magnifies the noise.
    A = first @ np.diag(np.linspace(1.0, 1.0 if method == "jacobi" else 2.0, 5)) @ second
    # The first matrix is positive definite, as a covariance is: QDIAG takes its constraint from it.
    diagonals = np.concatenate([np.ones((1, 5)), random.normal(size=(20, 5))])
    result = diagonalize_jointly(mixed(A, diagonals, noise=0.05), method, tol=1e-8)
    assert result.converged
    assert (np.diff(result.history["criterion"]) <= 1e-15).all()
    assert amari_distance(result.transform, A) < 0.1


def test_jacobi_of_one_matrix_gives_its_eigenvectors():
    C = np.random.default_rng(0).normal(size=(4, 4))
    C = C + C.T
    result = diagonalize_jointly(C[None])
    np.testing.assert_allclose(np.sort(result.diagonals[0]), np.linalg.eigvalsh(C), atol=1e-12)
    np.testing.assert_allclose(result.transform @ result.transform.T, np.eye(4), atol=1e-14)


def test_qdiag_keeps_its_constraint():
    random = np.random.default_rng(0)
    C_0 = np.cov(random.normal(size=(4, 50)))
    C = mixed(random.normal(size=(4, 4)), random.normal(size=(5, 4)))
    V = diagonalize_jointly(C, "qdiag", constraint=C_0).transform
    np.testing.assert_allclose(np.diagonal(V @ C_0 @ V.T), 1.0, rtol=1e-10)


def test_input_that_cannot_be_made_diagonal_is_refused():
    with pytest.raises(DataError, match=r"of shape \(n_matrices, k, k\); got the shape \(2, 3\)"):
        diagonalize_jointly(np.zeros((2, 3)))
    with pytest.raises(DataError, match="must be symmetric"):
        diagonalize_jointly([[[1.0, 2.0], [0.0, 1.0]]])
    with pytest.raises(DataError, match="must be positive definite"):
        diagonalize_jointly(np.eye(2)[None], "qdiag", constraint=-np.eye(2))
    with pytest.raises(DataError, match="constraint must be a matrix of order 2 for method='qdiag'"):
        diagonalize_jointly(np.eye(2)[None], constraint=np.eye(2))
    with pytest.raises(ParameterError, match="method must be one of"):
        diagonalize_jointly(np.eye(2)[None], "lu")

"""Block products: kernels in strips, centred products, and a basis that stays orthonormal."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from mercer._solver import tiled_matrix
from mercer._solver.tiled_matrix import KernelStrips, kernel_matrix
from mercer.decomposition import KernelPCA
from mercer.decomposition._block_krylov import _orthonormal, multiply_centred
from mercer.kernels import RBF, Matern, White


@pytest.mark.parametrize("n", [1, 5, 64, 130])
@pytest.mark.parametrize("kernel", [RBF(0.7), Matern(1.0, nu=0.5) + White(0.5)], ids=["smooth", "rough"])
def test_strips_multiply_as_the_matrix_does_with_the_same_bits_on_any_threads(n, kernel, monkeypatch):
    random = np.random.default_rng(0)
    monkeypatch.setattr(tiled_matrix, "_HEIGHT", 32)
    rows, B = kernel.prepare(random.normal(size=(n, 3))), random.normal(size=(n, 4))
    found = [KernelStrips.of(kernel, rows, threads).multiply(B, threads) for threads in (1, 3)]
    np.testing.assert_allclose(found[0], kernel_matrix(kernel, rows) @ B, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(*found)
    assert len(KernelStrips.of(kernel, rows)) == n


def test_centred_products_are_those_of_the_centred_matrix():
    random = np.random.default_rng(0)
    root, B = random.normal(size=(40, 40)), random.normal(size=(40, 3))
    K, H = root @ root.T + 100.0, np.eye(40) - 1.0 / 40
    np.testing.assert_allclose(multiply_centred(lambda block: K @ block, B), H @ K @ H @ B, atol=1e-10)


def test_a_new_block_is_orthonormal_and_apart_from_the_basis():
    random = np.random.default_rng(0)
    basis = np.linalg.qr(random.normal(size=(60, 10)))[0]
    # Columns that nearly depend on one another and on the basis: of scales from 1 to 1e-9.
    block = basis @ random.normal(size=(10, 6)) + random.normal(size=(60, 6)) * 10.0 ** -np.arange(0, 12, 2)
    block[:, 4] = block[:, 0] + 1e-5 * random.normal(size=60)
    found = np.column_stack([basis, _orthonormal(block, basis)])
    assert found.shape[1] == 16
    np.testing.assert_allclose(found.T @ found, np.eye(16), atol=1e-12)


def test_nothing_is_left_of_a_block_within_the_span():
    random = np.random.default_rng(0)
    basis = np.linalg.qr(random.normal(size=(30, 8)))[0]
    assert _orthonormal(basis @ random.normal(size=(8, 5)), basis).shape == (30, 0)
    assert _orthonormal(np.zeros((30, 5)), basis).shape == (30, 0)
    assert _orthonormal(random.normal(size=(30, 40)), basis).shape == (30, 22)


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 50.0], ids=["few directions", "usual", "rows alone"])
def test_eigenvalues_are_those_of_a_dense_decomposition_whatever_their_fall(gamma):
    X = make_blobs(400, 3, centers=6, random_state=0)[0]
    options = {"n_components": 12, "kernel": "rbf", "gamma": gamma}
    dense, found = (
        KernelPCA(eigen_solver=solver, random_state=0, **options).fit(X) for solver in ("dense", "randomized")
    )
    np.testing.assert_allclose(found.eigenvalues_, dense.eigenvalues_, atol=1e-9 * dense.eigenvalues_[0])
    np.testing.assert_allclose(found.kernel_means_, dense.kernel_means_, rtol=1e-12)
    assert found.certificate_.satisfied


def test_clusters_that_do_not_meet_are_all_found():
    X = np.repeat(100.0 * np.arange(8), [90, 80, 70, 60, 50, 40, 30, 20])[:, None]
    model = KernelPCA(7, kernel="rbf", gamma=1.0, eigen_solver="randomized", random_state=0).fit(X)
    dense = KernelPCA(7, kernel="rbf", gamma=1.0, eigen_solver="dense").fit(X)
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-10)

"""Falkon: kernel ridge regression by centres, wherever the rows are."""

import numpy as np
import pytest
import torch

from mercer import kernels
from mercer._source import open_source
from mercer.errors import UnsupportedError
from mercer.kernel_ridge import KernelRidge, _falkon
from mercer.kernel_ridge._falkon import KernelProduct


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(600, 4))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def falkon(**options):
    return KernelRidge(
        0.1, kernel=kernels.RBF(1.5), solver="falkon", random_state=0, **{"n_centres": 60, "tol": 1e-10} | options
    )


@pytest.mark.parametrize("intercept", [False, True])
def test_all_rows_as_centres_give_the_closed_form(data, intercept):
    X, y = data
    weight = np.random.default_rng(1).random(len(y))
    exact = KernelRidge(0.1, kernel=kernels.RBF(1.5), fit_intercept=intercept).fit(X, y + 3, weight)
    model = falkon(n_centres=600, fit_intercept=intercept).fit(X, y + 3, weight)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-5)
    assert model.history_["objective"][-1] == pytest.approx(exact.history_["objective"][-1], rel=1e-6)


def test_centres_solve_their_normal_equations_and_the_cost_falls(data):
    X, y = data
    model = falkon().fit(X, y)
    K, inner = model.kernel_(X, model.X_fit_), model.kernel_(model.X_fit_)
    expected = np.linalg.solve(K.T @ K + 0.1 * inner, K.T @ y)
    np.testing.assert_allclose(model.predict(X), K @ expected, atol=1e-6)
    cost = ((y - model.predict(X)) ** 2).sum() + 0.1 * model.dual_coef_ @ inner @ model.dual_coef_
    assert model.history_["objective"][-1] == pytest.approx(cost, rel=1e-8)
    assert (np.diff(model.history_["objective"]) <= 1e-9 * cost).all()
    assert model.converged_


def test_several_targets_with_penalties_of_their_own(data):
    X, y = data
    model = falkon().set_params(alpha=[0.1, 5.0]).fit(X, np.column_stack([y, y]))
    np.testing.assert_allclose(model.predict(X)[:, 0], falkon().fit(X, y).predict(X), atol=1e-6)
    np.testing.assert_allclose(model.predict(X)[:, 1], falkon().set_params(alpha=5.0).fit(X, y).predict(X), atol=1e-6)


def test_files_streams_and_dask_give_the_bits_of_memory(data, tmp_path):
    dask = pytest.importorskip("dask.array")
    X, y = data
    model = falkon().fit(X, y)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    for rows, targets in (
        (tmp_path / "X.npy", tmp_path / "y.npy"),
        ([(X[:250], y[:250]), (X[250:], y[250:])], None),
        (dask.from_array(X, chunks=(600, 4)), dask.from_array(y, chunks=600)),
    ):
        np.testing.assert_array_equal(falkon().fit(rows, targets).dual_coef_, model.dual_coef_)
    assert falkon().fit(tmp_path / "X.npy", tmp_path / "y.npy").score(X, y) == model.score(X, y)


def test_automatic_choice_brings_few_rows_to_memory(data, tmp_path):
    X, y = data
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    model = KernelRidge(kernel="rbf").fit(tmp_path / "X.npy", tmp_path / "y.npy")
    assert model.solver_used_ == "cholesky"
    np.testing.assert_array_equal(model.dual_coef_, KernelRidge(kernel="rbf").fit(X, y).dual_coef_)


def test_tensors_give_the_answers_of_memory_and_stay_where_they_are(data):
    X, y = data
    found = falkon().fit(torch.asarray(X), torch.asarray(y))
    predicted = found.predict(torch.asarray(X))
    assert isinstance(predicted, torch.Tensor)
    np.testing.assert_allclose(predicted.numpy(), falkon().fit(X, y).predict(X), atol=1e-6)


def bound_rounding(model, X):
    """Return what float32 leaves of a prediction: kernel values, coefficients and sums err by 4 eps of each term."""
    values = model.kernel_(np.asarray(X, dtype=np.float64), np.asarray(model.X_fit_, dtype=np.float64))
    return 4 * 1.2e-7 * (values @ np.abs(np.asarray(model.dual_coef_, dtype=np.float64))).max()


def test_threads_change_nothing_and_float32_is_the_fit_of_its_diagonal(data):
    X, y = data
    one, many = falkon(n_jobs=1).fit(X, y), falkon(n_jobs=3).fit(X, y)
    np.testing.assert_array_equal(one.dual_coef_, many.dual_coef_)
    narrow = falkon(tol=1e-7).fit(X.astype(np.float32), y.astype(np.float32))
    found = narrow.predict(X.astype(np.float32))
    assert found.dtype == np.float32
    # What is added to the diagonal, so that float32 is enough, changes the coefficients.
    K, inner = one.kernel_(X, one.X_fit_), one.kernel_(one.X_fit_)
    inner += _falkon.compute_jitter(inner, np.float32) * np.eye(60)
    expected = K @ np.linalg.solve(K.T @ K + 0.1 * inner, K.T @ y)
    np.testing.assert_allclose(found, expected, atol=bound_rounding(narrow, X))


def test_native_products_are_the_definition(data):
    X, y = data
    block = open_source(X, y, np.arange(600.0)).block(0)
    for vectors in (None, np.random.default_rng(0).normal(size=(20, 2))):
        statistic = KernelProduct(kernels.Matern(2.0), X[:20], vectors)
        found, expected = statistic.native(block), statistic.of(block)
        np.testing.assert_allclose(found.product, expected.product, rtol=1e-9)
        np.testing.assert_allclose(found.right, expected.right, rtol=1e-9)
        np.testing.assert_allclose(found.squares, expected.squares, rtol=1e-9)


class Summed:
    """The sums of the CUDA program, from values."""

    program = object()

    def __init__(self, kernel, like, xp):
        self.kernel, self.xp = kernel, xp

    def lay(self, rows, first=0):
        return rows

    def of(self, rows, weights, others):
        return weights @ self.xp.astype(self.kernel.of(self.xp, rows, others), self.xp.float64)


@pytest.mark.parametrize("targets", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_without_a_table_give_the_same_fit(data, targets, weighted, monkeypatch):
    X = torch.asarray(data[0][:, :3], dtype=torch.float32)
    Y = torch.stack([torch.sin((k + 1.0) * X[:, 0]).double() for k in range(targets)], dim=1)
    Y = Y[:, 0] if targets == 1 else Y
    weight = torch.linspace(0.5, 2.0, len(X), dtype=torch.float64) if weighted else None
    settings = {"alpha": 0.1, "kernel": kernels.RBF(1.5), "solver": "falkon", "n_centres": 40, "random_state": 0}
    model = KernelRidge(**settings).fit(X, Y, sample_weight=weight)
    monkeypatch.setattr(_falkon, "CudaSums", Summed)
    found = KernelRidge(**settings).fit(X, Y, sample_weight=weight).predict(X)
    np.testing.assert_allclose(found, model.predict(X), atol=2 * bound_rounding(model, X))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA programs run on NVIDIA GPUs only")
def test_a_gpu_gives_the_answers_of_memory():
    random = np.random.default_rng(0)
    X = random.normal(size=(5000, 5)).astype(np.float32)
    y = np.sin(X[:, 0].astype(np.float64)) + 0.1 * random.normal(size=5000)
    settings = {"alpha": 0.1, "kernel": kernels.RBF(1.5), "solver": "falkon", "n_centres": 300, "random_state": 0}
    memory = KernelRidge(**settings).fit(X, y)
    model = KernelRidge(**settings).fit(torch.asarray(X, device="cuda"), torch.asarray(y, device="cuda"))
    found = model.predict(torch.asarray(X, device="cuda")).cpu()
    np.testing.assert_allclose(found, memory.predict(X), atol=2e-3)


def test_what_centres_cannot_do_is_refused(data):
    X, y = data
    with pytest.raises(UnsupportedError, match="solver='falkon' takes dense rows and leaves none out"):
        falkon(leave_one_out=True).fit(X, y)

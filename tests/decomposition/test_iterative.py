"""The iterative solvers: convergence, history, certificates, resumption."""

import numpy as np
import pytest

from mercer._solver import drive
from mercer._source import open_source
from mercer.decomposition import PCA
from mercer.decomposition._axes import Task
from mercer.decomposition._iterative import _factorise, power
from mercer.errors import MercerError


def rows_with_scatter(values):
    """Rows of mean zero whose scatter matrix is diagonal, with the given entries."""
    half = np.diag(np.sqrt(np.asarray(values, dtype=float) / 2))
    return np.r_[half, -half]


def power_of(rows, k, first=None, **settings):
    task = Task("PCA", k, min(rows.shape), rows.shape[1], rows.dtype, False, lambda: None, iterations=1000, **settings)
    return drive(power(task, None, first), open_source(rows))


@pytest.mark.catalogue("PM-04")
def test_the_error_shrinks_by_the_ratio_of_the_eigenvalues():
    rows = rows_with_scatter([3.0, 2.0, 1.0])
    states = []
    task = Task("PCA", 1, 3, 3, rows.dtype, False, lambda: None, iterations=1000, seed=0)

    class Seen:
        def step(self, number, step):
            states.append(step.state.axes[0])

        def choose_step(self, last):
            return last

    drive(power(task, None), open_source(rows), [Seen()])
    tangents = np.array([abs(axis[1] / axis[0]) for axis in states[10:25]])
    np.testing.assert_allclose(tangents[1:] / tangents[:-1], 2 / 3, rtol=1e-6)


@pytest.mark.catalogue("PM-04")
def test_deflation_finds_the_eigenvectors_one_by_one():
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    rows = rows_with_scatter([32, 16, 8, 4, 2, 1]) @ basis.T
    outcome = power_of(rows, 6, seed=0)
    assert outcome.converged
    np.testing.assert_allclose(outcome.state.sizes, [32, 16, 8, 4, 2, 1], rtol=1e-12)
    np.testing.assert_allclose(np.abs(outcome.state.axes @ basis), np.eye(6), atol=1e-8)


@pytest.mark.catalogue("PM-04")
def test_a_start_orthogonal_to_the_first_eigenvector_never_finds_it():
    outcome = power_of(rows_with_scatter([3.0, 2.0, 1.0]), 1, first=np.array([0.0, 1.0, 1.0]))
    assert outcome.state.sizes[0] == pytest.approx(2.0)
    np.testing.assert_allclose(outcome.state.axes[0], [0, 1, 0], atol=1e-9)


@pytest.mark.catalogue("PM-04")
def test_a_repeated_eigenvalue_gives_some_vector_of_its_space():
    outcome = power_of(rows_with_scatter([3.0, 3.0, 1.0]), 1, seed=0)
    assert outcome.converged
    assert abs(outcome.state.axes[0, 2]) < 1e-9
    assert outcome.state.sizes[0] == pytest.approx(3.0)


def test_components_found_out_of_order_are_put_in_order():
    rows = rows_with_scatter([3.0, 2.0, 1.0])
    state = power_of(rows, 2, first=np.array([0.0, 1.0, 1.0]), seed=0).state
    assert state.sizes[1] > state.sizes[0]
    attributes = PCA(2)._fitted(state)
    assert (np.diff(attributes["explained_variance_"]) < 0).all()
    np.testing.assert_allclose(np.abs(attributes["components_"]), np.eye(3)[:2], atol=1e-6)


@pytest.mark.parametrize("solver", ["randomized", "power"])
def test_the_captured_variance_rises_to_that_of_the_exact_solution(solver):
    X = np.random.default_rng(1).normal(size=(500, 30)) * np.linspace(3, 1, 30)
    exact = PCA(4, svd_solver="full").fit(X).explained_variance_.sum()
    model = PCA(4, svd_solver=solver, random_state=0, n_oversamples=4).fit(X)
    captured = model.history_["objective"]
    assert (np.diff(captured) >= -1e-10).all()
    assert exact * 0.99 < captured[-1] <= exact * (1 + 1e-12)
    assert captured[-1] == pytest.approx(model.explained_variance_.sum())


def test_randomized_reads_the_rows_through_products_where_the_scatter_matrix_would_cost_more():
    X = np.random.default_rng(1).normal(size=(120, 900)) * 0.9 ** np.arange(900)
    exact = PCA(3, svd_solver="full").fit(X)
    for normalizer in ("QR", "LU", "none"):
        streamed = PCA(
            3, svd_solver="randomized", iterated_power=8, power_iteration_normalizer=normalizer, random_state=0
        ).fit(X)
        np.testing.assert_allclose(streamed.explained_variance_, exact.explained_variance_, rtol=1e-8)
        assert streamed.n_iter_ == 10


def test_randomized_stops_at_its_tolerance():
    X = np.random.default_rng(1).normal(size=(500, 40)) * 0.5 ** np.arange(40)
    model = PCA(2, svd_solver="randomized", tol=1e-6, iterated_power=100, random_state=0).fit(X)
    assert model.certificate_.satisfied
    assert model.n_iter_ < 30


def test_power_that_runs_out_of_iterations_says_so():
    X = np.random.default_rng(1).normal(size=(500, 10))
    with pytest.warns(UserWarning, match="not converged; residual .* > 1e-10; raise iterated_power or tol"):
        model = PCA(1, svd_solver="power", iterated_power=3, random_state=0).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 3


def test_threads_do_not_change_a_bit():
    random = np.random.default_rng(1)
    X = random.normal(size=(9000, 60)) @ random.normal(size=(60, 60))
    for solver in ("full", "covariance_eigh", "arpack", "randomized", "power"):
        settings = {"n_components": 3, "svd_solver": solver, "random_state": 0, "tol": 1e-3}
        one, five = PCA(**settings, n_jobs=1).fit(X), PCA(**settings, n_jobs=5).fit(X)
        assert one.components_.tobytes() == five.components_.tobytes()
        assert one.explained_variance_.tobytes() == five.explained_variance_.tobytes()
        assert one.transform(X).tobytes() == five.transform(X).tobytes()


def test_what_does_not_fit_in_memory_is_refused_before_it_is_taken():
    import mercer

    X = np.random.default_rng(1).normal(size=(2000, 60))
    for solver, words in (("gram", "the 2000 x 2000 Gram matrix"), ("covariance_eigh", "a 60 x 60 covariance matrix")):
        with mercer.config_context(max_memory=10_000), pytest.raises(MercerError, match=words):
            PCA(2, svd_solver=solver).fit(X)


@pytest.mark.parametrize("digits", [0, 3, 8, 14])
@pytest.mark.parametrize("shape", [(60, 5), (2000, 20)])
def test_a_basis_is_factorised_to_rounding_however_close_its_columns_are(shape, digits):
    random = np.random.default_rng(2)
    left, right = np.linalg.qr(random.normal(size=shape))[0], np.linalg.qr(random.normal(size=(shape[1],) * 2))[0]
    basis = left * np.logspace(0, -digits, shape[1]) @ right * np.logspace(-9, 9, shape[1])
    Q, R = _factorise(basis)
    np.testing.assert_allclose(Q.T @ Q, np.eye(shape[1]), atol=1e-14)
    np.testing.assert_array_equal(R, np.triu(R))
    lengths = np.linalg.norm(basis, axis=0)
    np.testing.assert_allclose(Q @ R / lengths, basis / lengths, atol=1e-13)


@pytest.mark.parametrize("column", [0.0, 1.0])
def test_a_basis_without_full_rank_is_factorised(column):
    basis = np.random.default_rng(3).normal(size=(4000, 10))
    basis[:, 3] = column * basis[:, 1]
    Q, R = _factorise(basis)
    np.testing.assert_allclose(Q.T @ Q, np.eye(10), atol=1e-14)
    np.testing.assert_allclose(Q @ R, basis, atol=1e-12)

"""Kernel machines on rows of a device: the answers of memory, and what is refused there."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_classification

from mercer._solver.device_gram import DeviceGram
from mercer.errors import DataError, UnsupportedError
from mercer.kernels import RBF, Matern
from mercer.svm import SVC, SVR, OneClassSVM

SHIFT = 1e3


@pytest.fixture(scope="module")
def rows():
    """More rows than are solved at once, far from the origin in float32."""
    X, y = make_classification(2600, 6, n_informative=5, n_redundant=0, flip_y=0.05, random_state=0)
    return (X + SHIFT).astype(np.float32), y


# Sets of half as many: one within a set, sets within a set that is not whole, and within one that is.
@pytest.mark.parametrize("size", [2048, 4096, 8192])
@pytest.mark.parametrize(
    ("model", "targets"),
    [
        (SVC(gamma=0.2), lambda X, y: y),
        (SVR(gamma=0.2, C=0.3), lambda X, y: np.sin(X[:, 0] - SHIFT) + X[:, 1]),
        (OneClassSVM(gamma=0.2, nu=0.1), lambda X, y: None),
    ],
    ids=["SVC", "SVR", "OneClassSVM"],
)
def test_machines_in_blocks_have_the_optimum_of_memory(rows, model, targets, size, monkeypatch):
    monkeypatch.setattr(DeviceGram, "set_size", size)
    X, y = rows
    given = [one for one in (targets(X, y),) if one is not None]
    memory = type(model)(**model.get_params()).fit(X, *given)
    model.fit(torch.asarray(X), *(torch.asarray(one) for one in given))
    assert (len(model.history_["objective"]) > 1) == (size < 8192)
    assert model.certificate_.satisfied
    reached = memory.history_["objective"][-1]
    allowed = memory.certificate_.value + model.certificate_.value
    assert abs(model.history_["objective"][-1] - reached) <= allowed + 1e-6 * abs(reached)
    method = "predict" if isinstance(model, SVR) else "decision_function"
    found = getattr(model, method)(torch.asarray(X[:200]))
    assert isinstance(found, torch.Tensor)
    expected = getattr(memory, method)(X[:200])
    np.testing.assert_allclose(found.numpy(), expected, atol=5e-3 * np.abs(expected).max())


def test_float64_values_that_a_fine_tolerance_needs_are_made_there(rows):
    X, y = rows
    X = (X[:2200] - SHIFT).astype(np.float64)
    memory, model = (SVC(gamma=0.2, tol=1e-6) for _ in range(2))
    memory.fit(X, y[:2200])
    model.fit(torch.asarray(X), torch.asarray(y[:2200]))
    np.testing.assert_allclose(model.decision_function(torch.asarray(X)), memory.decision_function(X), atol=1e-5)


def test_several_classes_and_a_linear_machine_are_as_in_memory(rows):
    X, y = rows[0][:300] - np.float32(SHIFT), (rows[1] + (rows[0][:, 0] > SHIFT))[:300]
    T, labels = torch.asarray(X), torch.asarray(y)
    for settings in ({}, {"multi_class": "ovr"}, {"multi_class": "joint"}, {"decision_function_shape": "ovo"}):
        memory, model = SVC(**settings).fit(X, y), SVC(**settings).fit(T, labels)
        np.testing.assert_allclose(model.decision_function(T), memory.decision_function(X), atol=1e-4)
        np.testing.assert_array_equal(model.predict(T), memory.predict(X))
        assert model.score(T, labels) == memory.score(X, y)
    memory, model = SVC(kernel="linear").fit(X, y), SVC(kernel="linear").fit(T, labels)
    np.testing.assert_allclose(model.coef_, memory.coef_, atol=1e-4)
    assert isinstance(model.coef_, torch.Tensor)


def test_a_kernel_with_a_scale_for_each_column_goes_there_and_back(rows):
    X, y = rows[0][:200], rows[1][:200]
    kernel = RBF(np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0]))
    memory, model = SVC(kernel=kernel).fit(X, y), SVC(kernel=kernel).fit(torch.asarray(X), torch.asarray(y))
    np.testing.assert_allclose(model.decision_function(torch.asarray(X)), memory.decision_function(X), atol=2e-2)


def test_a_fit_goes_on_from_the_last_one(rows):
    X, y = torch.asarray(rows[0][:300]), torch.asarray(rows[1][:300])
    model = SVC(C=0.5, warm_start=True).fit(X, y)
    cold = SVC(C=0.6).fit(X, y)
    model.set_params(C=0.6).fit(X, y)
    assert model.n_iter_ < cold.n_iter_
    machine = SVR(warm_start=True).fit(X, X[:, 0])
    first = machine.n_iter_
    assert machine.fit(X, X[:, 0]).n_iter_ < first


@pytest.mark.parametrize(
    "settings",
    [{"kernel": "precomputed"}, {"kernel": lambda X, Y: X @ Y.T}, {"probability": True}],
    ids=["precomputed", "function", "probability"],
)
def test_what_needs_memory_says_so(settings):
    X, y = torch.eye(4), torch.asarray([0, 1, 0, 1])
    expected = (
        "SVC: rows must be in memory (NumPy arrays, SciPy sparse matrices, pandas, polars and Arrow tables, memory "
        "maps); got rows in device (torch and CuPy arrays, on a CPU or a GPU). Load them into memory first."
    )
    with pytest.raises(DataError) as caught:
        SVC(**settings).fit(X, y)
    assert str(caught.value) == expected


def test_a_kernel_without_a_definition_for_devices_says_so():
    expected = (
        "Matern: values must be asked for rows in memory; got rows on a device. Move them to memory, or use another "
        "kernel."
    )
    with pytest.raises(UnsupportedError) as caught:
        SVC(kernel=Matern(nu=0.7)).fit(torch.eye(4), torch.asarray([0, 1, 0, 1]))
    assert str(caught.value) == expected


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the fused descent runs on NVIDIA GPUs only")
@pytest.mark.parametrize(("kink", "ridge"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.01)])
def test_the_fused_descent_takes_the_steps_of_the_host(kink, ridge):
    from mercer._native import pair_descent
    from mercer._solver.dual_program import DualProgram
    from mercer._solver.fused_descent import described, take_steps

    random, n = np.random.default_rng(0), 1000
    X = random.normal(size=(n, 5))
    K = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(np.float32)
    y = np.sign(X[:, 0] + 0.5 * random.normal(size=n))
    box = (-np.ones(n), np.ones(n)) if kink else (np.minimum(y, 0.0), np.maximum(y, 0.0))
    linear, b = -np.sin(X[:, 0]) if kink else -y, np.zeros(n)
    program, diagonal = DualProgram(np.arange(n), linear, *box, b.copy(), kink), np.ones(n) + ridge
    slope, moves, none = linear.copy(), program.moves(b), np.empty((0, 0), dtype=np.float32)
    state = torch.asarray(described(program, diagonal, 1e-3, 10_000, b, slope, *moves), device="cuda")
    take_steps(torch.asarray(K, device="cuda"), state, n)
    found = state.cpu().numpy()
    ready, given = np.empty(0, dtype=np.uint8), (diagonal, *box, kink, n, 1e-3, 10_000, b, slope, *moves)
    steps = pair_descent.descend(K, none, none, ready, *given, np.empty(2))
    assert abs(found[-1] - steps) < 0.2 * steps
    assert abs(found[3 * n : 4 * n].sum()) < 1e-9
    ours, theirs = (program.objective(*one) for one in ((found[3 * n : 4 * n], found[4 * n : 5 * n]), (b, slope)))
    assert ours == pytest.approx(theirs, rel=1e-4)
    assert program.violation(found[3 * n : 4 * n], found[4 * n : 5 * n]) < 1.1e-3

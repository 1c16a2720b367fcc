"""Kernel machines on rows of a device: the answers of memory, and what is refused there."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.datasets import make_classification

import mercer
from mercer._solver.cuda_sums import CudaSums, RowSums
from mercer._source.device.source import DeviceSource
from mercer._source.namespace import namespace_of
from mercer.errors import DataError, UnsupportedError
from mercer.kernels import RBF, InverseMultiquadric, Matern, Periodic, Plummer, Prepared, RationalQuadratic
from mercer.svm import SVC, SVR, OneClassSVM, _kernel_machine
from mercer.svm._dual import device_gram
from mercer.svm._dual.device_gram import DeviceGram
from tests.kernel_ridge.test_falkon import Summed

SHIFT = 1e3


@pytest.fixture(scope="module")
def rows():
    """Make more rows than are solved at once, far from the origin in float32."""
    X, y = make_classification(2600, 6, n_informative=5, n_redundant=0, flip_y=0.05, random_state=0)
    return (X + SHIFT).astype(np.float32), y


# Sets of some rows, and one set of all.
@pytest.mark.parametrize("size", [1024, 2048, 8192])
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
    monkeypatch.setattr(DeviceGram, "count_set", lambda gram, dtype, groups: size)
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
    memory, model = (SVC(kernel="linear", tol=1e-5).fit(*given) for given in ((X, y), (T, labels)))
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


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA programs run on NVIDIA GPUs only")


@needs_gpu
@pytest.mark.parametrize("n", [1000, 5003, 8192])
@pytest.mark.parametrize(("kink", "ridge"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.01)])
def test_descent_on_a_gpu_ends_where_that_of_the_host_does(kink, ridge, n):
    from mercer._native.dual import pair_descent
    from mercer.svm._dual.device_gram import count_most_rows, describe_descent, take_steps
    from mercer.svm._dual.program import DualProgram

    random = np.random.default_rng(0)
    X = random.normal(size=(n, 5))
    K = RBF(gamma=0.1)(X).astype(np.float32)
    y = np.sign(X[:, 0] + 0.5 * random.normal(size=n))
    box = (-np.ones(n), np.ones(n)) if kink else (np.minimum(y, 0.0), np.maximum(y, 0.0))
    linear, b = -np.sin(X[:, 0]) if kink else -y, np.zeros(n)
    program, diagonal = DualProgram(np.arange(n), linear, *box, b.copy(), kink), np.ones(n) + ridge
    slope, moves, none = linear.copy(), program.moves(b), np.empty((0, 0), dtype=np.float32)
    state = torch.asarray(describe_descent(program, diagonal, 1e-3, 50_000, b, slope, *moves), device="cuda")
    if n > count_most_rows(state):
        pytest.skip(f"this GPU descends on {count_most_rows(state)} rows at most")
    take_steps(torch.asarray(K, device="cuda"), state)
    found = state.cpu().numpy()
    inner, rules = np.stack([b, slope, *moves, *box, diagonal]), np.array([kink, n, 1e-3, 50_000])
    steps = pair_descent.descend(K, none, none, np.empty(0, dtype=np.uint8), inner, rules, np.empty(2))
    b, slope = inner[:2]
    reached, slopes = found[3 * n : 4 * n], found[4 * n : 5 * n]
    # Four pairs at a time are chosen without knowing of each other: more steps, but fewer waits than steps of the host.
    assert steps / 8 < found[-1] / 4 < steps
    assert abs(reached.sum()) < 1e-9
    np.testing.assert_allclose(slopes, K @ reached + ridge * reached + linear, atol=2e-4)
    assert program.objective(reached, slopes) == pytest.approx(program.objective(b, slope), rel=1e-4)
    assert program.violation(reached, slopes) < 1.1e-3


RADIAL = [
    RBF(2.0),
    RBF(np.array([1.0, 2.0, 3.0])),
    RBF(gamma=0.3),
    Matern(3.0, nu=0.5),
    Matern(3.0, nu=1.5),
    Matern(3.0, nu=2.5),
    RationalQuadratic(2.0),
    InverseMultiquadric(0.7),
    Plummer(0.8, 3.0),
    Periodic(1.3, 2.1),
]


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_rows_laid_out_for_a_gpu_have_the_values_of_the_kernel(kernel):
    X = np.random.default_rng(0).normal(size=(131, 3))
    there = torch.asarray(X)
    laid = CudaSums(kernel, there, namespace_of(there)).lay(there)
    entries, squares = laid.entries.numpy(), laid.squares.numpy()
    assert entries.shape[0] % 2 == 0
    assert entries.shape[1] % 128 == 0
    assert not entries[:, 131:].any()
    distances = np.maximum(squares[:, None] + squares - 2.0 * entries.T @ entries, 0.0)[:131, :131]
    np.testing.assert_allclose(kernel.profile(Prepared(X)).of(np, distances), kernel(X, X), atol=1e-6)


def lay_out(kernel, X):
    """Return the points of rows that values depend on by their distances, (columns, rows), in float32."""
    there = torch.asarray(X.astype(np.float32))
    return CudaSums(kernel, there, namespace_of(there)).lay(there).entries.numpy()[:, : len(X)].astype(np.float32)


def bound_rounding(kernel, X):
    """Return what float32 may add to a value: rounding of the value, and what rounding of a squared distance does.

    |x|^2 + |y|^2 - 2 x . y has sums of m terms. Each addition is off by at most half of eps of |x|^2, with a deviation
    of 1 / sqrt(3) of that, and 6 m of them weigh one: six deviations of all are 3 eps sqrt(2 m) max |x|^2. Values fall
    most steeply with the squared distance at zero: the bound is their fall from there. For Matern 0.5 that is a root.
    """
    points = lay_out(kernel, X).astype(float)
    m, largest = np.count_nonzero(points.any(axis=1)), np.square(points).sum(axis=0).max()
    off = 3 * np.finfo(np.float32).eps * np.sqrt(2 * (m + 2)) * largest
    highest, fallen = kernel.profile(Prepared(X)).of(np, np.array([[0.0, off]]))[0]
    return 3e-6 * highest + (highest - fallen)


@pytest.mark.parametrize("d", [1, 2, 16, 17, 50, 131])
@pytest.mark.parametrize("kernel", [one for one in RADIAL if np.ndim(getattr(one, "length_scale", 1.0)) == 0], ids=str)
def test_values_of_distances_in_float32_are_within_their_rounding(kernel, d):
    X = np.random.default_rng(0).normal(size=(200, d)) / np.sqrt(d)
    squares, products = np.zeros(200, np.float32), np.zeros((200, 200), np.float32)
    for column in lay_out(kernel, X):  # one after another, as threads of a GPU add them
        squares += column * column
        products += column[:, None] * column
    distances = np.maximum(squares[:, None] + squares - 2 * products, 0)
    found = kernel.profile(Prepared(X)).of(np, distances)
    # Rows themselves are rounded to float32, which moves their distances.
    near = X.astype(np.float32).astype(float)
    assert np.abs(found - kernel(near, near)).max() <= bound_rounding(kernel, X)


@needs_gpu
@pytest.mark.parametrize("d", [1, 2, 16, 17, 50, 131])
@pytest.mark.parametrize("kernel", [one for one in RADIAL if np.ndim(getattr(one, "length_scale", 1.0)) == 0], ids=str)
def test_sums_on_a_gpu_are_those_of_the_values(kernel, d):
    random = np.random.default_rng(0)
    X = random.normal(size=(3001, d)) / np.sqrt(d)
    there = torch.asarray(X.astype(np.float32), device="cuda")
    sums = RowSums(kernel, there, namespace_of(there))
    for count, others in ((1, np.arange(3001)), (130, np.arange(5, 1005)), (3001, np.array([7]))):
        rows, weights = random.choice(3001, count, replace=False), random.normal(size=count)
        expected = weights @ kernel(X[rows], X[others])
        found = sums.of(rows, weights, others).cpu().numpy()
        np.testing.assert_allclose(found, expected, atol=bound_rounding(kernel, X) * np.abs(weights).sum())


@needs_gpu
def test_the_same_fit_on_a_gpu_has_the_same_bits_twice(rows):
    X, y = (torch.asarray(one, device="cuda") for one in rows)
    first, second = (SVC(gamma=0.2).fit(X, y).dual_coef_ for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_scores_by_sums_are_those_of_the_values(rows, classes, monkeypatch):
    X = rows[0][:300]
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, classes + 1)[1:-1]))
    model, there = SVC(gamma=0.2).fit(torch.asarray(X), torch.asarray(y)), torch.asarray(X)
    expected = model.decision_function(there)
    # Nothing that is kept between calls may know of the other way.
    model = pickle.loads(pickle.dumps(model))
    monkeypatch.setattr(_kernel_machine, "CudaSums", Summed)
    np.testing.assert_allclose(model.decision_function(there), expected, atol=1e-5)


@needs_gpu
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_scores_on_a_gpu_are_those_of_memory(rows, classes):
    X = rows[0][:700] - np.float32(SHIFT)
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, classes + 1)[1:-1]))
    model = SVC(gamma=0.2).fit(torch.asarray(X, device="cuda"), torch.asarray(y, device="cuda"))
    found = model.decision_function(torch.asarray(X, device="cuda")).cpu().numpy()
    expected = mercer.to_device(model, "cpu").decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@needs_gpu
@pytest.mark.parametrize("size", [2048, 8192])
def test_targets_far_from_zero_are_fitted_as_near_ones(rows, size, monkeypatch):
    monkeypatch.setattr(DeviceGram, "count_set", lambda gram, dtype, groups: size)
    X = rows[0] - np.float32(SHIFT)
    y, there = np.sin(X[:, 0].astype(np.float64)) + X[:, 1], torch.asarray(X, device="cuda")
    near, far = (SVR(gamma=0.2, C=0.3).fit(there, torch.asarray(y + shift, device="cuda")) for shift in (0.0, 1e5))
    assert far.certificate_.satisfied
    assert far.history_["objective"][-1] == pytest.approx(near.history_["objective"][-1], rel=1e-3)
    np.testing.assert_allclose((far.predict(there) - 1e5).cpu(), near.predict(there).cpu(), atol=2e-2)


@needs_gpu
def test_rows_of_cupy_are_as_those_of_torch(rows):
    cupy = pytest.importorskip("cupy", reason="CuPy is for machines with a GPU, and not in the test extra")
    X, y = rows
    first = SVC(gamma=0.2).fit(torch.asarray(X, device="cuda"), torch.asarray(y, device="cuda"))
    second = SVC(gamma=0.2).fit(cupy.asarray(X), cupy.asarray(y))
    assert isinstance(second.dual_coef_, cupy.ndarray)
    assert second.certificate_.satisfied
    expected = first.decision_function(torch.asarray(X[:100], device="cuda")).cpu().numpy()
    np.testing.assert_allclose(second.decision_function(cupy.asarray(X[:100])).get(), expected, atol=5e-3)


@pytest.mark.parametrize(("memory", "size"), [(None, 4096), (2**40, 4096), (2**30, 2896), (2**20, 1024)])
def test_sets_are_no_larger_than_the_memory_of_the_device_allows(memory, size, monkeypatch):
    monkeypatch.setattr(device_gram, "memory_of", lambda array: memory)
    monkeypatch.setattr(device_gram, "count_most_rows", lambda array: 4096)
    assert DeviceGram(RBF(), DeviceSource(torch.ones(5, 2)), 1).count_set(np.float32, 1) == size
